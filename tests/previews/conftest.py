"""Reading previews of a simulator, beside an account that reads the same world."""

from collections.abc import AsyncIterator

import pytest

from telegram_assistant.previews.reader import PreviewReader
from telegram_assistant.previews.site import open_site
from telegram_assistant.settings import PreviewSettings
from telegram_simulator.simulator import Simulator
from tests.previews.turns import EverybodysTurn
from tests.simulator.serving import web_side
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
def turns() -> EverybodysTurn:
    return EverybodysTurn()


@pytest.fixture
async def previews(sim: Simulator, turns: EverybodysTurn) -> AsyncIterator[PreviewReader]:
    async with web_side(sim) as url, open_site(PreviewSettings(enabled=True, url=url), turns) as site:
        yield PreviewReader(site)
