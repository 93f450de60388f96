"""The entries that a stage reads, and how many at once."""

import time

from telegram_assistant.events import PostParsed, PostTagged
from telegram_assistant.streams.groups import ensure_groups, sources_of
from telegram_assistant.streams.reading import StreamReader, renew_leases
from telegram_assistant.streams.runner import Options
from telegram_assistant.streams.stage import stage
from tests.streams.conftest import FAST, KEY, Bench, none_pending, parsed_event, publish, until

SLOW_READS = Options(
    lease_seconds=FAST.lease_seconds, reclaim_every_seconds=FAST.reclaim_every_seconds, block_seconds=2.0
)


async def test_nobody_waits_at_an_empty_stream_while_another_has_entries(bench: Bench) -> None:
    seen: list[int] = []

    @stage(consumes=(PostParsed, PostTagged), concurrency=1)
    async def of_two(event: PostParsed | PostTagged) -> None:
        seen.append(event.post.message_id)

    await publish(bench.redis, [parsed_event(number) for number in range(1, 21)])
    async with bench.working(of_two, options=SLOW_READS):
        began = time.monotonic()
        await until(lambda: none_pending(bench, "of_two"))
        assert time.monotonic() - began < SLOW_READS.block_seconds
    assert seen == list(range(1, 21))


async def test_the_whole_room_is_for_the_stream_that_has_entries(bench: Bench) -> None:
    sizes: list[int] = []

    @stage(consumes=(PostParsed, PostTagged), batch=50, concurrency=1)
    async def in_batches(events: list[PostParsed | PostTagged]) -> None:
        sizes.append(len(events))

    await publish(bench.redis, [parsed_event(number) for number in range(1, 151)])
    async with bench.working(in_batches, options=SLOW_READS):
        await until(lambda: none_pending(bench, "in_batches"))
    assert sizes == [50, 50, 50]


async def test_several_streams_share_the_room_and_no_more_is_read(bench: Bench) -> None:
    @stage(consumes=(PostParsed, PostTagged), concurrency=4)
    async def sharing(_event: PostParsed | PostTagged) -> None: ...

    sources = [source for source in sources_of(sharing, 1) if source.lane.value == "live"]
    await ensure_groups(bench.redis, "sharing", sources)
    await publish(bench.redis, [parsed_event(number) for number in range(1, 4)])
    events = [
        PostTagged.about(
            parsed_event(number).post, 1, occurred_at=parsed_event(1).occurred_at, trigger="initial"
        )
        for number in range(1, 4)
    ]
    await publish(bench.redis, events)
    reader = StreamReader(bench.redis, sharing, "here#0001", block_seconds=0.1)
    assert [len(await reader.read(sources, room)) for room in (4, 4, 4)] == [4, 2, 0]


async def test_what_was_acknowledged_meanwhile_is_not_lost_to_others(bench: Bench) -> None:
    @stage(consumes=PostParsed, concurrency=4)
    async def holding(_event: PostParsed) -> None: ...

    sources = list(sources_of(holding, 1))
    await ensure_groups(bench.redis, "holding", sources)
    await publish(bench.redis, [parsed_event(number) for number in range(1, 4)])
    reader = StreamReader(bench.redis, holding, "here#0001", block_seconds=0.1)
    ids = [
        entry.entry_id for entry in await reader.read([source for source in sources if source.key == KEY], 3)
    ]
    await bench.redis.xack(KEY, "holding", ids[0])
    await bench.redis.xclaim(KEY, "holding", "there#0002", 0, [ids[1]])
    assert await renew_leases(bench.redis, "holding", "here#0001", [(KEY, entry_id) for entry_id in ids]) == 1
