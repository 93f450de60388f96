"""Checks whether Telethon uses the fast encryption library."""

from importlib.metadata import PackageNotFoundError, version

from telethon.crypto import aes

from telegram_assistant.domain.operations.diagnosis import Finding, bad, ok
from telegram_assistant.reasons import Reason

SUBJECT = "cryptg"


def examine() -> list[Finding]:
    """Check for cryptg. Without it, Telethon silently falls back to code that needs 2 to 12 times the CPU."""
    try:
        number = version("cryptg")
    except PackageNotFoundError:
        number = ""
    if not number or getattr(aes, "cryptg", None) is None:
        reason = Reason(
            "cryptg_unused", "Telethon does not use cryptg, so reading needs 2 to 12 times the CPU"
        )
        return [
            bad(
                SUBJECT,
                reason,
                remedy=Reason(
                    "install_library", "install it: {command}", command="pip install cryptg==0.6.0"
                ),
            )
        ]
    return [
        ok(
            SUBJECT,
            Reason(
                "cryptg_used",
                "cryptg {number}, used by Telethon {telethon}",
                number=number,
                telethon=version("telethon"),
            ),
        )
    ]
