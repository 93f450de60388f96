"""Asking the site: what it answers, what it refuses, and what it is never asked."""

import time
from datetime import UTC, datetime

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.history import Readable
from telegram_assistant.errors import AccessLost, Busy, Flooded, Rejected, UnknownMarkup
from telegram_assistant.previews.reader import PreviewReader
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.tiny import CITY, CLUB
from tests.ingest.office import say, simulate_channel
from tests.previews.turns import EverybodysTurn

CHANNEL = Readable(ChannelId(CITY), username="gorod_news")


async def test_a_channel_is_found_by_its_name(previews: PreviewReader) -> None:
    channel = await previews.find("Gorod_News")
    assert (channel.channel_id, channel.title, channel.is_private) == (CITY, "Городские новости", False)


async def test_pages_prove_what_lies_between_and_the_last_one_everything_below(
    previews: PreviewReader,
) -> None:
    newest = await previews.newest(CHANNEL)
    assert (str(newest.proven), newest.posts[0].message_id) == ("20-40", 40)
    below = await previews.below(CHANNEL, MessageId(20))
    assert str(below.proven) == "1-19"
    above = await previews.above(CHANNEL, MessageId(5))
    assert str(above.proven) == "6-25"
    assert str((await previews.above(CHANNEL, MessageId(30))).proven) == "31-40"
    assert (await previews.above(CHANNEL, MessageId(40))).proven is None


async def test_a_date_is_searched_for_in_few_steps(
    previews: PreviewReader, control: Control, turns: EverybodysTurn
) -> None:
    channel = simulate_channel(control, posts=900, every=60)
    readable = Readable(ChannelId(channel.channel_id), username=channel.username)
    for age_minutes in (3, 15, 100, 400, 880):
        moment = datetime.fromtimestamp(time.time() - age_minutes * 60, UTC)
        wanted = max(number for number in range(1, 901) if channel.date_of(number) < moment.timestamp())
        turns.turns = 0
        assert await previews.last_before(readable, moment) == wanted
        assert turns.turns <= 12
    assert await previews.last_before(readable, datetime(2020, 1, 1, tzinfo=UTC)) == 0
    assert await previews.last_before(readable, datetime.now(UTC)) in {899, 900}


async def test_a_date_is_found_although_everything_before_it_was_deleted(
    previews: PreviewReader, control: Control
) -> None:
    channel = simulate_channel(control, posts=200, every=60)
    control.delete(channel.channel_id, range(1, 101))
    readable = Readable(ChannelId(channel.channel_id), username=channel.username)
    moment = datetime.fromtimestamp(channel.date_of(120), UTC)
    assert await previews.last_before(readable, moment) == 119
    assert await previews.last_before(readable, datetime.fromtimestamp(channel.date_of(60), UTC)) <= 100


async def test_who_shows_no_preview_is_not_followed_elsewhere(
    previews: PreviewReader, control: Control, sim: Simulator
) -> None:
    with pytest.raises(AccessLost, match="@nobody_has_this shows no public preview"):
        await previews.find("nobody_has_this")
    control.change_channel(CITY, preview=False)
    with pytest.raises(AccessLost, match="its owner turned the preview off"):
        await previews.newest(CHANNEL)
    assert sim.counters.web_requests == 2


async def test_a_name_that_another_channel_has_now_is_not_read(previews: PreviewReader) -> None:
    with pytest.raises(AccessLost, match="@gorod_news is another channel now"):
        await previews.newest(Readable(ChannelId(CLUB), username="gorod_news"))


@pytest.mark.parametrize("name", ["../etc", "a", "имя_канала", "name?before=1", ""])
async def test_only_names_are_asked_for(previews: PreviewReader, sim: Simulator, name: str) -> None:
    with pytest.raises(Rejected):
        await previews.find(name)
    assert sim.counters.web_requests == 0


async def test_a_channel_without_posts_does_not_say_which_it_is(
    previews: PreviewReader, control: Control
) -> None:
    control.add_channel("Пусто", "empty_one")
    with pytest.raises(Rejected, match="has no post"):
        await previews.find("empty_one")


@pytest.mark.parametrize(("retry_after", "waits"), [(30, 30.0), (0, 300.0)])
async def test_too_many_requests_are_heeded(
    previews: PreviewReader, sim: Simulator, turns: EverybodysTurn, retry_after: int, waits: float
) -> None:
    sim.faults.web_status, sim.faults.web_retry_after_seconds = 429, retry_after
    with pytest.raises(Flooded) as flooded:
        await previews.newest(CHANNEL)
    assert (flooded.value.retry_after_seconds, turns.rests) == (waits, [waits])


async def test_a_site_in_trouble_is_asked_again_later(previews: PreviewReader, sim: Simulator) -> None:
    sim.faults.web_status = 500
    with pytest.raises(Busy, match="answers 500"):
        await previews.newest(CHANNEL)


async def test_pages_that_are_written_differently_are_told(previews: PreviewReader, sim: Simulator) -> None:
    sim.faults.web_unknown_markup = True
    with pytest.raises(UnknownMarkup):
        await previews.newest(CHANNEL)


async def test_a_post_that_comes_while_pages_are_turned_is_proven_by_the_next_one_only(
    previews: PreviewReader, control: Control
) -> None:
    channel = simulate_channel(control, posts=30)
    readable = Readable(ChannelId(channel.channel_id), username=channel.username)
    newest = await previews.newest(readable)
    say(channel, "новое")
    assert newest.proven is not None
    assert newest.proven.high == 30
    assert str((await previews.above(readable, MessageId(30))).proven) == "31"
