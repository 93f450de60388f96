"""An alert in one line, for mails, feeds and pages."""

from telegram_assistant.domain.watches.watch import AlertKind
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.watches.alerts import Alert

UNKNOWN_CHANNEL = "–"


def headline_of(alert: Alert) -> Reason:
    """One line: what has happened, and where."""
    return headline(alert.kind, alert.channel)


def headline(kind: AlertKind, channel: str) -> Reason:  # noqa: PLR0911 -- a sentence for each kind
    channel_name = channel or UNKNOWN_CHANNEL
    match kind:
        case AlertKind.POSTED:
            return Reason("alert_posted", "New post in {channel}", channel=channel_name)
        case AlertKind.MENTIONED:
            return Reason("alert_mentioned", "First mention in {channel}", channel=channel_name)
        case AlertKind.EDITED:
            return Reason("alert_edited", "Post edited in {channel}", channel=channel_name)
        case AlertKind.DELETED:
            return Reason("alert_deleted", "Post deleted in {channel}", channel=channel_name)
        case AlertKind.SILENT:
            return Reason("alert_silent", "{channel} is silent", channel=channel_name)
        case AlertKind.GROWN:
            return Reason("alert_grown", "Growing story from {channel}", channel=channel_name)
        case AlertKind.FOLLOWED:
            return Reason("alert_followed", "New in a story you follow, from {channel}", channel=channel_name)
