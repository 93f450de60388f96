"""The findings of the doctor about the settings for reading with an account."""

import pytest

from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.settings import TelegramSettings, read_group
from telegram_assistant.telegram.diagnostics import examine
from telegram_assistant.telegram.vault import make_key

APPLICATION = {"TELEGRAM_API_ID": "17349", "TELEGRAM_API_HASH": "344583e45741c457fe1862106095a5eb"}


@pytest.mark.parametrize(
    ("environ", "verdicts", "words"),
    [
        ({}, (Severity.OFF, Severity.OFF), "not in the environment"),
        (
            {"TELEGRAM_API_ID": "17349"},
            (Severity.BAD, Severity.WARNING),
            "TELEGRAM_API_ID is set, but TELEGRAM_API_HASH is not",
        ),
        (
            {"TELEGRAM_API_HASH": "any"},
            (Severity.BAD, Severity.OFF),
            "TELEGRAM_API_HASH is set, but TELEGRAM_API_ID is not",
        ),
        (
            {**APPLICATION, "TELEGRAM_API_HASH": "geheim"},
            (Severity.BAD, Severity.WARNING),
            "is not 32 digits and letters",
        ),
        (
            {**APPLICATION, "TELEGRAM_API_HASH": "any", "TELEGRAM_DC_ADDR": "127.0.0.1"},
            (Severity.OK, Severity.WARNING),
            "a simulator at 127.0.0.1:443",
        ),
        (APPLICATION, (Severity.OK, Severity.WARNING), "nobody can log in here"),
        ({**APPLICATION, "SESSION_ENCRYPTION_KEY": make_key()}, (Severity.OK, Severity.OK), "1 key"),
        (
            {**APPLICATION, "SESSION_ENCRYPTION_KEY": f"{make_key()},{make_key()}"},
            (Severity.OK, Severity.OK),
            "2 keys; the first one encrypts",
        ),
        (
            {"TELEGRAM_SESSION_STRING": "1Ap"},
            (Severity.OFF, Severity.BAD),
            "no key is set to encrypt it",
        ),
    ],
)
def test_what_is_missing_or_malformed_is_told(
    environ: dict[str, str], verdicts: tuple[Severity, Severity], words: str
) -> None:
    findings = examine(read_group(TelegramSettings, environ))
    assert tuple(finding.verdict for finding in findings) == verdicts
    assert any(words in str(finding.what) for finding in findings)
    assert all(finding.remedy for finding in findings if finding.verdict in {Severity.BAD, Severity.WARNING})
    assert not any(
        secret in f"{finding.what} {finding.remedy}"
        for finding in findings
        for secret in environ.values()
        if len(secret) > 10 and not secret.isdecimal()
    )
