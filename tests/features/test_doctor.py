"""What `tga doctor` finds in the settings alone."""

import pytest

from telegram_assistant.domain.diagnosis import Finding, Severity
from telegram_assistant.domain.tenants.access import new_operator_key
from telegram_assistant.features.operations.doctor import examine_operator_key
from telegram_assistant.settings import read_settings

NEEDED = {"DATABASE_URL": "postgresql://localhost/tga", "REDIS_URL": "redis://localhost/0"}


def examined(key: str) -> Finding:
    return examine_operator_key(read_settings({**NEEDED, "OPERATOR_KEY": key}))


@pytest.mark.parametrize("key", ["1", "the-operators-own-key", "x" * 31, "x" * 200, "1234567890" * 5, "password" * 8])
def test_an_operator_key_that_can_be_guessed_is_red(key: str) -> None:
    found = examined(key)
    assert found.verdict is Severity.BAD
    assert "tga keys operator" in found.remedy
    assert key not in found.what.split()


def test_a_random_operator_key_is_green_and_none_is_fine() -> None:
    for key in (new_operator_key(), "9f86d081884c7d659a2feaa0c55ad015", "3xT-9kQ_7mV2bN8cY4hJ6sD1fG0aZ5wLrE-pUiOtKyXq"):
        assert examined(key).verdict is Severity.OK
    assert examined("").verdict is Severity.OFF
