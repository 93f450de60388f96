"""Ways in which posts were lost, or could have been: each stays shut."""

from telegram_assistant.settings import Settings
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from tests.conftest import Admin
from tests.ingest.office import open_office, say, simulated, truth


async def test_a_page_that_reaches_below_the_last_one_lands_what_nobody_has_read(
    installation: Settings, sim: Simulator, control: Control, admin: Admin
) -> None:
    """A run dies after its newest page; then posts of that page are deleted, so the next newest page reaches into the hole."""
    async with open_office(installation, sim, admin, attempts=1) as office:
        channel = simulated(control, posts=20, every=1, newest_age=3000)
        channel_id = await office.follow(channel)
        await office.poll(channel_id)
        for number in range(305):
            say(channel, f"потом {number}")
        control.fail("messages.getHistory", times=1, code=500, message="RPC_CALL_FAIL", after=1)
        await office.poll(channel_id)
        assert await office.gaps(channel_id) == ["21-225"]
        control.delete(channel_id, [300, 301, 302, 303, 304])
        await office.poll(channel_id)
        assert await office.gaps(channel_id) == []
        assert truth(channel).items() <= (await office.stored(channel_id)).items()
