"""Sends mails through the SMTP server of the installation."""

import asyncio
import smtplib
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from uuid import UUID

from telegram_assistant.domain.watches.delivery import DELIVERED, AttemptResult
from telegram_assistant.features.watches.alerts import link_of_alert
from telegram_assistant.features.watches.headlines import headline_of
from telegram_assistant.features.watches.receiver_links import CONFIRM_LINK_LASTS
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import MailSecurity, MailSettings
from telegram_assistant.stores.postgres.watches.alerts import Alert
from telegram_assistant.translation import say

SECONDS = 10.0
"""How long the server may be silent. Whoever sends sets a deadline for the whole attempt."""
MAX_SUBJECT_LETTERS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A mail before it is addressed. `letter_id` is the same in every attempt."""

    letter_id: UUID
    subject: str
    text: str
    html: str = ""
    """The same for programs that show HTML; empty: there is none."""
    written_at: datetime
    unsubscribe_url: str = ""
    """Ends these mails without a login: shown by mail programs (RFC 8058). Empty: this is no mail that comes again."""


@dataclass(frozen=True, slots=True)
class Mailer:
    """Opens a connection for each mail: there are few, and a server closes idle ones."""

    settings: MailSettings
    base_url: str

    async def send(self, address: str, letter: Letter) -> AttemptResult:
        """Hands the mail over to the server. If it is cancelled, the connection is closed, so that no thread goes on waiting."""
        if not self.settings.host:
            return AttemptResult(trouble=Reason("mail_off", "no mail server is set (SMTP_HOST)"))
        opened: list[smtplib.SMTP] = []
        try:
            await asyncio.to_thread(self._hand_over, self._compose(address, letter), opened)
        except asyncio.CancelledError:
            for server in opened:
                _cut(server)
            raise
        except smtplib.SMTPResponseException as error:
            return AttemptResult(trouble=Reason("mail_refused", "the mail server answered with {status}", status=error.smtp_code))
        except smtplib.SMTPRecipientsRefused:
            return AttemptResult(trouble=Reason("mail_address_refused", "the mail server does not accept this address"))
        except (smtplib.SMTPException, ssl.SSLError, OSError) as error:
            trouble = Reason("mail_unreachable", "the mail server cannot be used ({error})", error=type(error).__name__)
            return AttemptResult(trouble=trouble)
        return DELIVERED

    def address_of(self, tenant: UUID) -> str:
        """Where the pages of a tenant begin."""
        return f"{self.base_url}/t/{tenant}"

    def _compose(self, address: str, letter: Letter) -> EmailMessage:
        mail = EmailMessage()
        mail["Subject"] = " ".join(letter.subject.split())[:MAX_SUBJECT_LETTERS]
        mail["From"] = self.settings.sender
        mail["To"] = address
        mail["Date"] = format_datetime(letter.written_at)
        mail["Message-ID"] = f"<{letter.letter_id}@{parseaddr(self.settings.sender)[1].rpartition('@')[2] or 'localhost'}>"
        mail["Auto-Submitted"] = "auto-generated"
        if letter.unsubscribe_url:
            mail["List-Unsubscribe"] = f"<{letter.unsubscribe_url}>"
            mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        mail.set_content(letter.text)
        if letter.html:
            mail.add_alternative(letter.html, subtype="html")
        return mail

    def _hand_over(self, mail: EmailMessage, opened: list[smtplib.SMTP]) -> None:
        settings = self.settings
        context = ssl.create_default_context()
        if settings.security is MailSecurity.TLS:
            server: smtplib.SMTP = smtplib.SMTP_SSL(settings.host, settings.port, timeout=SECONDS, context=context)
        else:
            server = smtplib.SMTP(settings.host, settings.port, timeout=SECONDS)
        opened.append(server)
        try:
            if settings.security is MailSecurity.STARTTLS:
                server.starttls(context=context)
            if settings.user:
                server.login(settings.user, settings.password.get_secret_value())
            server.send_message(mail)
        finally:
            with suppress(smtplib.SMTPException, OSError):  # the mail is accepted or not, however the server says goodbye
                server.quit()
            server.close()


def _cut(server: smtplib.SMTP) -> None:
    """Ends whatever the thread that uses this connection waits for."""
    with suppress(OSError):
        if server.sock is not None:
            server.sock.shutdown(socket.SHUT_RDWR)


def footers(here: str, unsubscribe_url: str) -> tuple[Reason, Reason]:
    """How to change or stop mails of the tenant whose pages begin here."""
    return (
        Reason("mail_footer", "To change these mails: {address}", address=f"{here}/receivers"),
        Reason("mail_unsubscribe", "To unsubscribe, without logging in: {link}", link=unsubscribe_url),
    )


def letter_of_alerts(alerts: Sequence[Alert], *, letter_id: UUID, here: str, language: str, unsubscribe_url: str) -> Letter:
    """One letter about all of these alerts."""
    parts = [_paragraph(alert, here, language) for alert in alerts]
    return Letter(
        letter_id=letter_id,
        subject=_subject(alerts, language),
        text="\n\n\n".join([*parts, "\n".join(say(footer, language) for footer in footers(here, unsubscribe_url))]) + "\n",
        written_at=max(alert.created_at for alert in alerts),
        unsubscribe_url=unsubscribe_url,
    )


def letter_of_code(code: str, *, letter_id: UUID, installation: str, confirm_url: str, language: str, written_at: datetime) -> Letter:
    """The letter that asks whoever reads an address whether they want mails. Nothing in it was written by a tenant."""
    text = Reason(
        "mail_confirmation",
        "Somebody wants to send alerts and digests of {installation} to this address.\n\nIf you want them, open this page "
        "within {days} days:\n{link}\n\nor tell them this code: {code}\n\nIf not, do nothing: no other mails will come.",
        installation=installation,
        days=CONFIRM_LINK_LASTS.days,
        link=confirm_url,
        code=code,
    )
    subject = Reason("mail_confirmation_subject", "Do you want mails of {installation}?", installation=installation)
    return Letter(letter_id=letter_id, subject=say(subject, language), text=say(text, language) + "\n", written_at=written_at)


def _subject(alerts: Sequence[Alert], language: str) -> str:
    first = f"{alerts[0].watch}: {say(headline_of(alerts[0]), language)}"
    more = Reason("mail_subject", "{first} and {count} more alert", "{first} and {count} more alerts", first=first, count=len(alerts) - 1)
    return first if len(alerts) == 1 else say(more, language)


def _paragraph(alert: Alert, here: str, language: str) -> str:
    post = alert.post_id
    address = f"{here}/post/{post.channel_id}/{post.message_id}" if post else f"{here}/channels/{alert.channel_id}"
    lines = [f"{alert.watch}: {say(headline_of(alert), language)}", alert.text, address, link_of_alert(alert)]
    return "\n".join(line for line in lines if line)
