"""Findings of `tga doctor` about the settings that an account needs."""

import re

from telegram_assistant.domain.diagnosis import Finding, bad, off, ok, warning
from telegram_assistant.settings import TelegramSettings, session_keys

APPLICATION, SESSIONS = "telegram application", "telegram sessions"
FROM_TELEGRAM = "set TELEGRAM_API_ID and TELEGRAM_API_HASH, both from my.telegram.org"
HASH = re.compile("[0-9a-f]{32}")


def examine(settings: TelegramSettings) -> list[Finding]:
    """Return one finding for the application and one for the session key. Sends nothing to Telegram."""
    return [_application(settings), _sessions(settings)]


def _application(settings: TelegramSettings) -> Finding:
    api_hash = settings.api_hash.get_secret_value()
    if not settings.api_id and not api_hash:
        return off(APPLICATION, f"not in the environment; enter it on the page Getting started, or {FROM_TELEGRAM}")
    if not settings.api_id or not api_hash:
        missing, present = ("TELEGRAM_API_ID", "TELEGRAM_API_HASH")[:: 1 if api_hash else -1]
        return bad(APPLICATION, f"{present} is set and {missing} is not", remedy=FROM_TELEGRAM)
    if settings.dc_addr:
        return ok(APPLICATION, f"a simulator at {settings.dc_addr}:{settings.dc_port}, which takes any application")
    if not HASH.fullmatch(api_hash):
        return bad(APPLICATION, "TELEGRAM_API_HASH is not 32 digits and letters a to f", remedy="copy it once more from my.telegram.org")
    return ok(APPLICATION, f"application {settings.api_id}, with its hash")


def _sessions(settings: TelegramSettings) -> Finding:
    keys = session_keys(settings.encryption_key.get_secret_value())
    remedy = "set SESSION_ENCRYPTION_KEY for the ingest role to what `tga accounts key` prints, and keep a copy of it"
    if not keys and settings.session_string.get_secret_value():
        return bad(SESSIONS, "TELEGRAM_SESSION_STRING is set, and there is no key to keep it under", remedy=remedy)
    if not keys and settings.api_id:
        return warning(SESSIONS, "there is no key to keep sessions under, so nobody can log in here", remedy=remedy)
    if not keys:
        return off(SESSIONS, "no key: no session is kept here")
    return ok(SESSIONS, "one key" if len(keys) == 1 else f"{len(keys)} keys; the first one seals, all of them open")
