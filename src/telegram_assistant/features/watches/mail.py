"""Sends mails through the SMTP server of the installation."""

import asyncio
import smtplib
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from uuid import UUID

from telegram_assistant.features.watches.alerts import link_of_alert
from telegram_assistant.features.watches.headlines import headline_of
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import MailSecurity, MailSettings
from telegram_assistant.stores.postgres.watches.alerts import Alert
from telegram_assistant.translation import say

SECONDS = 20.0
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


@dataclass(frozen=True, slots=True)
class Mailer:
    """Opens a connection for each mail: there are few, and a server closes idle ones."""

    settings: MailSettings
    base_url: str

    async def send(self, address: str, letter: Letter) -> Reason | None:
        """Returns why the mail was not accepted; None: the server has taken it."""
        if not self.settings.host:
            return Reason("mail_off", "no mail server is set (SMTP_HOST)")
        try:
            await asyncio.to_thread(self._hand_over, self._compose(address, letter))
        except smtplib.SMTPResponseException as error:
            return Reason("mail_refused", "the mail server answered with {status}", status=error.smtp_code)
        except smtplib.SMTPRecipientsRefused:
            return Reason("mail_address_refused", "the mail server does not accept this address")
        except (smtplib.SMTPException, ssl.SSLError, OSError) as error:
            return Reason("mail_unreachable", "the mail server cannot be used ({error})", error=type(error).__name__)
        return None

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
        mail.set_content(letter.text)
        if letter.html:
            mail.add_alternative(letter.html, subtype="html")
        return mail

    def _hand_over(self, mail: EmailMessage) -> None:
        settings = self.settings
        context = ssl.create_default_context()
        if settings.security is MailSecurity.TLS:
            server: smtplib.SMTP = smtplib.SMTP_SSL(settings.host, settings.port, timeout=SECONDS, context=context)
        else:
            server = smtplib.SMTP(settings.host, settings.port, timeout=SECONDS)
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


def footer_of(here: str) -> Reason:
    """How to change or stop mails of the tenant whose pages begin here."""
    return Reason("mail_footer", "To change or stop these mails: {address}", address=f"{here}/receivers")


def letter_of_alerts(alerts: Sequence[Alert], *, letter_id: UUID, here: str, language: str) -> Letter:
    """One letter about all of these alerts."""
    parts = [_paragraph(one, here, language) for one in alerts]
    return Letter(
        letter_id=letter_id,
        subject=_subject(alerts, language),
        text="\n\n\n".join([*parts, say(footer_of(here), language)]) + "\n",
        written_at=max(one.created_at for one in alerts),
    )


def _subject(alerts: Sequence[Alert], language: str) -> str:
    first = f"{alerts[0].watch}: {say(headline_of(alerts[0]), language)}"
    more = Reason("mail_subject", "{first} and {count} more alert", "{first} and {count} more alerts", first=first, count=len(alerts) - 1)
    return first if len(alerts) == 1 else say(more, language)


def _paragraph(alert: Alert, here: str, language: str) -> str:
    post = alert.post_id
    address = f"{here}/post/{post.channel_id}/{post.message_id}" if post else f"{here}/channels/{alert.channel_id}"
    lines = [f"{alert.watch}: {say(headline_of(alert), language)}", alert.text, address, link_of_alert(alert)]
    return "\n".join(line for line in lines if line)
