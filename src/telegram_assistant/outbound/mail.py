"""Sends mails through the SMTP server of the installation."""

import asyncio
import smtplib
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from uuid import UUID

from telegram_assistant.domain.receivers.delivery import DELIVERED, AttemptResult
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import MailSecurity, MailSettings

TIMEOUT_SECONDS = 10.0
"""How long the server may be silent. The sender sets a deadline for the whole attempt."""
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
    """Ends these mails without a login: shown by mail programs (RFC 8058).

    Empty: this is no mail that comes again.
    """


@dataclass(frozen=True, slots=True)
class Mailer:
    """Opens a connection for each mail: there are few, and a server closes idle ones."""

    settings: MailSettings
    base_url: str

    async def send(self, address: str, letter: Letter) -> AttemptResult:
        """Hands the mail over to the server.

        If it is cancelled, the connection is closed, so that no thread goes on waiting.
        """
        if not self.settings.host:
            return AttemptResult(trouble=Reason("mail_off", "e-mail is switched off on this server"))
        smtp_clients: list[smtplib.SMTP] = []
        try:
            await asyncio.to_thread(self._hand_over, self._compose(address, letter), smtp_clients)
        except asyncio.CancelledError:
            for server in smtp_clients:
                _disconnect(server)
            raise
        except smtplib.SMTPResponseException as error:
            return AttemptResult(
                trouble=Reason(
                    "mail_refused", "the mail server answered with {status}", status=error.smtp_code
                )
            )
        except smtplib.SMTPRecipientsRefused:
            return AttemptResult(
                trouble=Reason("mail_address_refused", "the mail server does not accept this address")
            )
        except (smtplib.SMTPException, ssl.SSLError, OSError) as error:
            trouble = Reason(
                "mail_unreachable", "the mail server cannot be used ({error})", error=type(error).__name__
            )
            return AttemptResult(trouble=trouble)
        return DELIVERED

    def address_of(self, tenant_uuid: UUID) -> str:
        """The base address of a tenant's pages."""
        return f"{self.base_url}/t/{tenant_uuid}"

    def _compose(self, address: str, letter: Letter) -> EmailMessage:
        mail = EmailMessage()
        mail["Subject"] = " ".join(letter.subject.split())[:MAX_SUBJECT_LETTERS]
        mail["From"] = self.settings.sender
        mail["To"] = address
        mail["Date"] = format_datetime(letter.written_at)
        mail["Message-ID"] = (
            f"<{letter.letter_id}@{parseaddr(self.settings.sender)[1].rpartition('@')[2] or 'localhost'}>"
        )
        mail["Auto-Submitted"] = "auto-generated"
        if letter.unsubscribe_url:
            mail["List-Unsubscribe"] = f"<{letter.unsubscribe_url}>"
            mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        mail.set_content(letter.text)
        if letter.html:
            mail.add_alternative(letter.html, subtype="html")
        return mail

    def _hand_over(self, mail: EmailMessage, smtp_clients: list[smtplib.SMTP]) -> None:
        settings = self.settings
        context = ssl.create_default_context()
        if settings.security is MailSecurity.TLS:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                settings.host, settings.port, timeout=TIMEOUT_SECONDS, context=context
            )
        else:
            server = smtplib.SMTP(settings.host, settings.port, timeout=TIMEOUT_SECONDS)
        smtp_clients.append(server)
        try:
            if settings.security is MailSecurity.STARTTLS:
                server.starttls(context=context)
            if settings.user:
                server.login(settings.user, settings.password.get_secret_value())
            server.send_message(mail)
        finally:
            with suppress(
                smtplib.SMTPException, OSError
            ):  # the mail is accepted or not, however the server says goodbye
                server.quit()
            server.close()


def _disconnect(server: smtplib.SMTP) -> None:
    """Ends whatever the thread that uses this connection waits for."""
    with suppress(OSError):
        if server.sock is not None:
            server.sock.shutdown(socket.SHUT_RDWR)
