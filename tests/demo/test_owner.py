"""The owner of the demo: what they read is no reason to end it."""

import pytest

from telegram_assistant.demo.owner import go_on_after
from telegram_assistant.demo.stopping import DemoStopped


async def fails(error: Exception) -> None:
    raise error


async def test_a_demo_goes_on_when_its_owner_cannot_read_the_first_stories() -> None:
    await go_on_after(fails(ValueError("a story without words")))


async def test_a_demo_that_is_stopped_while_its_owner_reads_ends() -> None:
    with pytest.raises(DemoStopped):
        await go_on_after(fails(DemoStopped()))
