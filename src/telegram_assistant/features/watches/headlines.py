"""What an alert says in one line, for mails, feeds and pages."""

from telegram_assistant.domain.watches.watch import AlertKind
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.watches.alerts import Alert

UNKNOWN_CHANNEL = "–"


def headline_of(alert: Alert) -> Reason:
    """One line: what has happened, and where."""
    return headline(alert.kind, alert.channel)


def headline(kind: AlertKind, channel: str) -> Reason:
    where = channel or UNKNOWN_CHANNEL
    match kind:
        case AlertKind.POSTED:
            return Reason("alert_posted", "A new post in {channel}", channel=where)
        case AlertKind.MENTIONED:
            return Reason("alert_mentioned", "The first mention in {channel}", channel=where)
        case AlertKind.EDITED:
            return Reason("alert_edited", "A post was edited in {channel}", channel=where)
        case AlertKind.DELETED:
            return Reason("alert_deleted", "A post was deleted in {channel}", channel=where)
        case AlertKind.SILENT:
            return Reason("alert_silent", "{channel} is silent", channel=where)
        case AlertKind.GROWN:
            return Reason("alert_grown", "A story that began in {channel} grows", channel=where)
