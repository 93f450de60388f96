"""The letters that receivers get: the code that confirms an address, and alerts."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from telegram_assistant.features.receivers.receiver_links import CONFIRM_LINK_LASTS
from telegram_assistant.features.watches.alerts import link_of_alert
from telegram_assistant.features.watches.headlines import headline_of
from telegram_assistant.outbound.mail import Letter
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.watches.alerts import Alert
from telegram_assistant.translation import translate


def footers(tenant_url: str, unsubscribe_url: str) -> tuple[Reason, Reason]:
    """How to change or stop the mails of a tenant."""
    return (
        Reason("mail_footer", "Change these e-mails: {address}", address=f"{tenant_url}/receivers"),
        Reason("mail_unsubscribe", "Unsubscribe without logging in: {link}", link=unsubscribe_url),
    )


def letter_of_alerts(
    alerts: Sequence[Alert], *, letter_id: UUID, tenant_url: str, language: str, unsubscribe_url: str
) -> Letter:
    """One letter about all of these alerts."""
    parts = [_paragraph(alert, tenant_url, language) for alert in alerts]
    return Letter(
        letter_id=letter_id,
        subject=_subject(alerts, language),
        text="\n\n\n".join(
            [
                *parts,
                "\n".join(translate(footer, language) for footer in footers(tenant_url, unsubscribe_url)),
            ]
        )
        + "\n",
        written_at=max(alert.created_at for alert in alerts),
        unsubscribe_url=unsubscribe_url,
    )


def letter_of_code(
    code: str, *, letter_id: UUID, installation: str, confirm_url: str, language: str, written_at: datetime
) -> Letter:
    """The letter that asks whoever reads an address whether they want mails.

    Nothing in it was written by a tenant.
    """
    text = Reason(
        "mail_confirmation",
        "Somebody wants to send alerts and digests from {installation} to this address.\n\nIf you want "
        "them, open this page within {days} days:\n{link}\n\nor give this person the code: {code}\n\nIf "
        "not, do nothing: you will get no other e-mails.",
        installation=installation,
        days=CONFIRM_LINK_LASTS.days,
        link=confirm_url,
        code=code,
    )
    subject = Reason(
        "mail_confirmation_subject", "Do you want e-mails from {installation}?", installation=installation
    )
    return Letter(
        letter_id=letter_id,
        subject=translate(subject, language),
        text=translate(text, language) + "\n",
        written_at=written_at,
    )


def _subject(alerts: Sequence[Alert], language: str) -> str:
    first_line = _line(alerts[0], language)
    more_alerts = Reason(
        "mail_subject",
        "{first} and {count} more alert",
        "{first} and {count} more alerts",
        first=first_line,
        count=len(alerts) - 1,
    )
    return first_line if len(alerts) == 1 else translate(more_alerts, language)


def _line(alert: Alert, language: str) -> str:
    """A story that a person follows has no watch."""
    headline = translate(headline_of(alert), language)
    return f"{alert.watch}: {headline}" if alert.watch else headline


def _paragraph(alert: Alert, tenant_url: str, language: str) -> str:
    post_id = alert.post_id
    address = (
        f"{tenant_url}/post/{post_id.channel_id}/{post_id.message_id}"
        if post_id
        else f"{tenant_url}/channels/{alert.channel_id}"
    )
    lines = [
        _line(alert, language),
        alert.text,
        address,
        link_of_alert(alert),
    ]
    return "\n".join(line for line in lines if line)
