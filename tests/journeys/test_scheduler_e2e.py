"""The scheduler end to end: a tick plans, the account reads what is due,
PostgreSQL and Redis say what happened.
"""

import time
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.telemetry.metrics import MODE_FORCED, PARSER_RUNS
from telegram_simulator.control.operations import Control
from tests.conftest import Admin
from tests.ingest.office import Office, say, simulate_channel, truth

pytestmark = pytest.mark.e2e


def runs(mode: str, status: str) -> float:
    return float(PARSER_RUNS.labels(mode, status)._value.get())  # noqa: SLF001 -- no public way to read one


async def test_first_tick_historical_and_incremental(office: Office, control: Control) -> None:
    known, new = simulate_channel(control, posts=10), simulate_channel(control, posts=20)
    known_id = await office.follow(known)
    await office.poll(known_id)
    new_id = await office.follow(new)
    say(known, "ещё один")
    historical, incremental = runs("historical", "ok"), runs("incremental", "ok")
    await office.tick()
    await office.admin.execute(
        "UPDATE poll_schedule SET next_poll_at = now() WHERE channel_id = ANY($1)", [known_id, new_id]
    )
    await office.reading.turn()
    assert runs("historical", "ok") - historical == 1
    assert runs("incremental", "ok") - incremental == 1
    assert await office.load_texts(new_id) == truth(new)
    assert await office.load_texts(known_id) == truth(known)


async def test_second_tick_no_new_posts(office: Office, control: Control) -> None:
    channel = simulate_channel(control, posts=10)
    channel_id = await office.follow(channel)
    await office.tick()
    await office.poll(channel_id)
    first = await office.load_schedule(channel_id)
    empty, stored = runs("incremental", "empty"), await office.load_texts(channel_id)
    await office.tick()
    await office.poll(channel_id)
    second = await office.load_schedule(channel_id)
    assert runs("incremental", "empty") - empty == 1
    assert await office.load_texts(channel_id) == stored
    assert second["last_parsed_at"] == first["last_parsed_at"]
    assert second["last_polled_at"] > first["last_polled_at"]


async def test_hwm_recovery_after_crash(office: Office, control: Control, admin: Admin) -> None:
    """A run dies after it has landed the newest page and a part of the hole; the next one closes it,
    from the mark.
    """
    channel = simulate_channel(control, posts=20, every=1, newest_age=7200)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    for number in range(400):
        say(channel, f"потом {number}", at=time.time() - 4000 + 10 * number)
    await office.poll(channel_id)
    await admin.execute(
        "DELETE FROM posts WHERE channel_id = $1 AND message_id BETWEEN 150 AND 320", channel_id
    )
    await admin.execute(
        "UPDATE coverage SET verified = verified - int8multirange(int8range(150, 321)) WHERE channel_id = $1",
        channel_id,
    )
    mark = await admin.fetchval(
        "SELECT posted_at FROM posts WHERE channel_id = $1 AND message_id = 149", channel_id
    )
    marks = Marks(office.app.redis)
    await marks.raise_high_water(channel_id, mark, now=datetime.now(UTC))
    assert await marks.high_water([channel_id]) == {channel_id: mark}
    await office.poll(channel_id)
    assert await office.load_texts(channel_id) == truth(channel)
    assert await office.gaps(channel_id) == []
    assert await marks.high_water([channel_id]) == {}


async def test_lpa_safeguard_forces_historical(office: Office, control: Control, admin: Admin) -> None:
    channel = simulate_channel(control, posts=10)
    channel_id = await office.follow(channel)
    await office.poll(channel_id)
    long_ago = datetime.now(UTC) - timedelta(hours=49)
    await admin.execute(
        "UPDATE poll_schedule SET last_polled_at = $2 WHERE channel_id = $1", channel_id, long_ago
    )
    await admin.execute("UPDATE channels SET last_parsed_at = $2 WHERE channel_id = $1", channel_id, long_ago)
    forced = MODE_FORCED.labels("stale_lpa")._value.get()  # noqa: SLF001 -- as above
    historical = runs("historical", "empty")
    say(channel, "после долгого молчания")
    await office.poll(channel_id)
    assert MODE_FORCED.labels("stale_lpa")._value.get() - forced == 1  # noqa: SLF001 -- as above
    assert await office.load_texts(channel_id) == truth(channel)
    await office.poll(channel_id)
    assert MODE_FORCED.labels("stale_lpa")._value.get() - forced == 1  # noqa: SLF001 -- as above
    assert runs("historical", "empty") == historical
