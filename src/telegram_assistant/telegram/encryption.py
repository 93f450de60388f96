"""Checks whether Telethon uses the fast encryption library."""

from importlib.metadata import PackageNotFoundError, version

from telethon.crypto import aes

from telegram_assistant.domain.diagnosis import Finding, bad, ok

SUBJECT = "cryptg"


def examine() -> list[Finding]:
    """Check for cryptg. Without it, Telethon silently falls back to code that needs 2 to 12 times the CPU."""
    try:
        number = version("cryptg")
    except PackageNotFoundError:
        number = ""
    if not number or getattr(aes, "cryptg", None) is None:
        what = "Telethon does not use cryptg, so reading costs 2 to 12 times the CPU"
        return [bad(SUBJECT, what, remedy="install it: pip install cryptg==0.6.0")]
    return [ok(SUBJECT, f"cryptg {number}, used by Telethon {version('telethon')}")]
