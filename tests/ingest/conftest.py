"""Following channels of a simulator into a real database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from telegram_assistant.settings import Settings
from telegram_simulator.control.seeing import state
from telegram_simulator.simulator import Simulator
from tests.conftest import Admin
from tests.ingest.library import Library, in_folder, open_library
from tests.ingest.office import Office, open_office
from tests.telegram.conftest import (
    account,
    account_id,
    control,
    fresh_config,
    lines,
    readers,
    rsa_key,
    sim,
    skipping,
    telethons_config,
)

__all__ = [
    "account",
    "account_id",
    "control",
    "fresh_config",
    "lines",
    "readers",
    "rsa_key",
    "sim",
    "skipping",
    "telethons_config",
]


@pytest.fixture
async def office(installation: Settings, sim: Simulator, admin: Admin) -> AsyncIterator[Office]:
    async with open_office(installation, sim, admin) as opened:
        yield opened


@pytest.fixture
async def library(
    installation: Settings, sim: Simulator, admin: Admin, tmp_path: Path
) -> AsyncIterator[Library]:
    async with open_library(installation, sim, admin, in_folder(tmp_path)) as opened:
        yield opened
        assert state(sim)["double_use"] == 0
