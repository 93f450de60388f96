"""Our reader, against a simulator in the test's own process."""

import time
from contextlib import AbstractAsyncContextManager

import pytest
from pydantic import SecretStr

from telegram_assistant.domain.account import Lease
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.telegram.reader import Reader, open_reader
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.tiny import CITY, TECH
from tests.simulator.conftest import PHONE, control, fresh_config, rsa_key, sim

__all__ = ["control", "fresh_config", "rsa_key", "sim"]


def reading(account: TelegramSettings, **changed: object) -> AbstractAsyncContextManager[Reader]:
    """A reader with a fresh lease."""
    settings = account.model_copy(update=changed)
    return open_reader(settings, settings.session_string.get_secret_value(), Lease(begun=time.monotonic()))


@pytest.fixture
def account(sim: Simulator, control: Control) -> TelegramSettings:
    """An account that has joined two channels."""
    assert sim.ports
    control.account(PHONE, joined=[CITY, TECH])
    return TelegramSettings(api_id=1, api_hash=SecretStr("any"), session_string=SecretStr(control.session_string(PHONE)))
