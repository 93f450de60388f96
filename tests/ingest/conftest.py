"""Following channels of a simulator into a real database."""

from collections.abc import AsyncIterator

import pytest

from telegram_assistant.settings import Settings
from telegram_simulator.simulator import Simulator
from tests.conftest import Admin
from tests.ingest.office import Office, open_office
from tests.telegram.conftest import account, account_id, control, fresh_config, lines, readers, rsa_key, sim, skipping, telethons_config

__all__ = ["account", "account_id", "control", "fresh_config", "lines", "readers", "rsa_key", "sim", "skipping", "telethons_config"]


@pytest.fixture
async def office(installation: Settings, sim: Simulator, admin: Admin) -> AsyncIterator[Office]:
    async with open_office(installation, sim, admin) as opened:
        yield opened
