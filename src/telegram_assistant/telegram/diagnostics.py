"""Findings of `tga doctor` about the settings that an account needs."""

import re

from telegram_assistant.domain.operations.diagnosis import Finding, bad, off, ok, warning
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import TelegramSettings, session_keys

APPLICATION, SESSIONS = "telegram application", "telegram sessions"
FROM_TELEGRAM = Reason(
    "application_from_telegram", "set TELEGRAM_API_ID and TELEGRAM_API_HASH, both from my.telegram.org"
)
SET_KEY = Reason(
    "session_key_of_ingest",
    "set SESSION_ENCRYPTION_KEY of the ingest role to the output of `tga accounts key`, and keep a copy",
)
HASH = re.compile("[0-9a-f]{32}")


def examine(settings: TelegramSettings) -> list[Finding]:
    """Return one finding for the application and one for the session key. Sends nothing to Telegram."""
    return [_application(settings), _sessions(settings)]


def _application(settings: TelegramSettings) -> Finding:
    api_hash = settings.api_hash.get_secret_value()
    if not settings.api_id and not api_hash:
        reason = Reason(
            "application_not_set",
            "not in the environment; enter it on the page “Getting started”, or {remedy}",
            remedy=FROM_TELEGRAM,
        )
        return off(APPLICATION, reason)
    if not settings.api_id or not api_hash:
        missing_variable, present_variable = ("TELEGRAM_API_ID", "TELEGRAM_API_HASH")[
            :: 1 if api_hash else -1
        ]
        reason = Reason(
            "one_set_without_other",
            "{present} is set, but {missing} is not",
            present=present_variable,
            missing=missing_variable,
        )
        return bad(APPLICATION, reason, remedy=FROM_TELEGRAM)
    if settings.dc_addr:
        address = f"{settings.dc_addr}:{settings.dc_port}"
        return ok(
            APPLICATION,
            Reason(
                "application_of_simulator",
                "a simulator at {where}, which accepts any application",
                where=address,
            ),
        )
    if not HASH.fullmatch(api_hash):
        reason = Reason("api_hash_malformed", "TELEGRAM_API_HASH is not 32 digits and letters a to f")
        return bad(APPLICATION, reason, remedy=Reason("copy_api_hash", "copy it again from my.telegram.org"))
    return ok(
        APPLICATION, Reason("application_set", "application {api_id}, with its hash", api_id=settings.api_id)
    )


def _sessions(settings: TelegramSettings) -> Finding:
    keys = session_keys(settings.encryption_key.get_secret_value())
    if not keys and settings.session_string.get_secret_value():
        return bad(
            SESSIONS,
            Reason("session_without_key", "TELEGRAM_SESSION_STRING is set, but no key is set to encrypt it"),
            remedy=SET_KEY,
        )
    if not keys and settings.api_id:
        reason = Reason(
            "no_login_without_key", "no key is set to encrypt sessions, so nobody can log in here"
        )
        return warning(SESSIONS, reason, remedy=SET_KEY)
    if not keys:
        return off(SESSIONS, Reason("no_session_key", "no key: no sessions are stored here"))
    return ok(
        SESSIONS,
        Reason(
            "session_keys",
            "{count} key",
            "{count} keys; the first one encrypts, all of them decrypt",
            count=len(keys),
        ),
    )
