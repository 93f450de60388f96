"""The fate of an entry, by the result of its handler."""

import asyncio
import itertools
import time
from dataclasses import replace
from functools import partial
from typing import Any

from telegram_assistant.domain.lane import Lane
from telegram_assistant.errors import Busy, Rejected
from telegram_assistant.events import PostParsed, PostTagged
from telegram_assistant.reasons import quote
from telegram_assistant.streams.acknowledging import RESTING
from telegram_assistant.streams.entries import PAYLOAD
from telegram_assistant.streams.keys import stream_key
from telegram_assistant.streams.monitoring import trim
from telegram_assistant.streams.stage import stage
from telegram_assistant.telemetry.health import State
from testkit.engines import Engine
from tests.streams.conftest import (
    FAST,
    KEY,
    Bench,
    has,
    is_state,
    is_stopped,
    length_is,
    letters_are,
    none_pending,
    parsed_event,
    pending_are,
    publish,
    says,
    until,
)


async def test_what_a_stage_tells_goes_out_with_its_acknowledgement_and_continues_the_trace(
    bench: Bench,
) -> None:
    @stage(consumes=PostParsed, emits=PostTagged)
    async def telling(event: PostParsed) -> PostTagged:
        return PostTagged.about(
            event.post, event.revision, occurred_at=event.occurred_at, trigger="initial", tags=("снег",)
        )

    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await publish(bench.redis, [parsed_event(1, trace_id=trace)])
    await publish(bench.redis, [parsed_event(2, trace_id=trace)], Lane.BULK)
    async with bench.working(telling):
        await until(lambda: none_pending(bench, "telling"))
        for lane, number in ((Lane.LIVE, 1), (Lane.BULK, 2)):
            await until(partial(length_is, bench, stream_key(PostTagged, lane), 1))
            entries: Any = await bench.redis.xrange(stream_key(PostTagged, lane))
            announced = PostTagged.model_validate_json(entries[0][1][PAYLOAD])
            assert (announced.post.message_id, announced.tags, announced.trace_id) == (
                number,
                ("снег",),
                trace,
            )


async def test_in_a_batch_every_post_continues_its_own_trace(bench: Bench) -> None:
    @stage(consumes=PostParsed, emits=PostTagged, batch=10, concurrency=1)
    async def together(events: list[PostParsed]) -> list[PostTagged]:
        return [
            PostTagged.about(event.post, event.revision, occurred_at=event.occurred_at, trigger="initial")
            for event in events
        ]

    traces = {number: f"00-{number:032x}-{number:016x}-01" for number in range(1, 6)}
    await publish(bench.redis, [parsed_event(number, trace_id=trace) for number, trace in traces.items()])
    async with bench.working(together):
        await until(lambda: length_is(bench, stream_key(PostTagged, Lane.LIVE), 5))
    entries: Any = await bench.redis.xrange(stream_key(PostTagged, Lane.LIVE))
    announced = [PostTagged.model_validate_json(fields[PAYLOAD]) for _, fields in entries]
    assert {event.post.message_id: event.trace_id for event in announced} == traces


async def test_busy_holds_the_entry_and_uses_no_attempt(bench: Bench) -> None:
    calls: list[float] = []

    @stage(consumes=PostParsed, attempts=1, concurrency=1)
    async def waiting(_event: PostParsed) -> None:
        calls.append(time.monotonic())
        if len(calls) <= 3:
            raise Busy(quote("the provider is full"), retry_after_seconds=0.2)

    await publish(bench.redis, [parsed_event(1)])
    async with bench.working(waiting):
        await until(lambda: has(calls, 4))
        await until(lambda: none_pending(bench, "waiting"))
    assert all(later - earlier >= 0.19 for earlier, later in itertools.pairwise(calls))
    assert await bench.letters("waiting") == []


async def test_a_stage_that_waits_for_a_short_while_is_well_and_says_what_it_waits_for(bench: Bench) -> None:
    @stage(consumes=PostParsed)
    async def patient(_event: PostParsed) -> None:
        raise Busy(quote("the provider is full"), retry_after_seconds=0.05)

    await publish(bench.redis, [parsed_event(1)])
    async with bench.working(patient):
        await until(lambda: says(bench, "patient", "waits: the provider is full"))
        assert bench.health.parts()["stage patient"]["status"] == "ok"
        assert bench.health.state is State.OK


async def test_a_stage_that_waits_for_long_fails_until_it_gets_on(bench: Bench) -> None:
    is_full = True

    @stage(consumes=PostParsed)
    async def starving(_event: PostParsed) -> None:
        if is_full:
            raise Busy(quote("the provider is full"), retry_after_seconds=0.05)

    await publish(bench.redis, [parsed_event(1)])
    async with bench.working(starving, options=replace(FAST, max_waiting_seconds=0.3)):
        began = time.monotonic()
        await until(lambda: is_state(bench, "starving", State.FAILING))
        assert time.monotonic() - began >= 0.3
        assert bench.health.parts()["stage starving"]["detail"] == "waits: the provider is full"
        is_full = False
        await until(lambda: is_state(bench, "starving", State.OK))
        assert "detail" not in bench.health.parts()["stage starving"]
        is_full = True
        await publish(bench.redis, [parsed_event(2)])
        await until(lambda: says(bench, "starving", "waits: the provider is full"))
        assert bench.health.state is State.OK  # it counts from anew


async def test_an_entry_that_takes_too_long_is_tried_again_and_never_a_dead_letter(bench: Bench) -> None:
    calls: list[float] = []

    @stage(consumes=PostParsed, attempts=1, timeout_seconds=0.1, backoff_seconds=0.3)
    async def sleepy(_event: PostParsed) -> None:
        calls.append(time.monotonic())
        if len(calls) <= 3:
            await asyncio.sleep(30)

    await publish(bench.redis, [parsed_event(1)])
    async with bench.working(sleepy):
        await until(lambda: has(calls, 4))
        await until(lambda: none_pending(bench, "sleepy"))
    assert all(later - earlier >= 0.3 for earlier, later in itertools.pairwise(calls))
    assert await bench.letters("sleepy") == []


async def test_a_timeout_of_the_handlers_own_is_a_failure(bench: Bench) -> None:
    @stage(consumes=PostParsed, attempts=1)
    async def unanswered(_event: PostParsed) -> None:
        raise TimeoutError("the other side did not answer")

    await publish(bench.redis, [parsed_event(1)])
    async with bench.working(unanswered):
        await until(lambda: letters_are(bench, "unanswered", 1))


async def test_a_batch_that_takes_too_long_is_halved_and_grows_again_once_it_is_fast(bench: Bench) -> None:
    sizes: list[int] = []
    is_slow = True

    @stage(consumes=PostParsed, batch=16, concurrency=1, attempts=1, timeout_seconds=0.4)
    async def slow(events: list[PostParsed]) -> None:
        sizes.append(len(events))
        if is_slow:
            await asyncio.sleep(0.07 * len(events))

    await publish(bench.redis, [parsed_event(number) for number in range(1, 17)])
    async with bench.working(slow):
        await until(lambda: none_pending(bench, "slow"))
        assert sizes == [16, 8, 4, 4, 4, 4]
        is_slow = False
        await publish(bench.redis, [parsed_event(number) for number in range(17, 97)])
        await until(lambda: none_pending(bench, "slow"))
    later_sizes = [size for size in sizes[6:] if size > 1]
    assert later_sizes[:2] == [4, 8]
    assert max(later_sizes) > 8
    assert await bench.letters("slow") == []


async def test_many_dead_letters_in_a_row_stop_the_stage_until_a_person_resumes_it(bench: Bench) -> None:
    broken = True
    done: list[int] = []

    @stage(consumes=PostParsed, concurrency=1)
    async def fragile(event: PostParsed) -> None:
        if broken:
            raise Rejected(quote("a bad release"))
        done.append(event.post.message_id)

    await publish(bench.redis, [parsed_event(number) for number in range(1, 101)])
    async with bench.working(fragile):
        await until(lambda: is_stopped(bench, "fragile"))
        part = bench.health.parts()["stage fragile"]
        assert part["status"] == "failing"
        assert "tga streams resume fragile" in str(part["detail"])
        buried = len(await bench.system.dead_letters.newest("fragile", limit=1000))
        assert 10 <= buried <= 12
        broken = False
        await bench.redis.delete("stage:stopped:fragile")
        await until(lambda: has(done, 100 - buried))
    assert bench.health.parts()["stage fragile"]["status"] == "stopped"


async def test_cancellation_acknowledges_nothing(bench: Bench) -> None:
    begun = asyncio.Event()

    @stage(consumes=PostParsed)
    async def cut(_event: PostParsed) -> None:
        begun.set()
        await asyncio.sleep(30)

    await publish(bench.redis, [parsed_event(1)])
    task = asyncio.create_task(bench.runner(cut).run(asyncio.Event()))
    await asyncio.wait_for(begun.wait(), 30)
    task.cancel()
    await asyncio.wait([task])
    assert await bench.pending("cut") == 1


async def test_while_redis_is_away_the_work_in_hand_goes_on_and_is_settled_afterwards(
    bench: Bench, engine: Engine
) -> None:
    runs: list[int] = []

    @stage(consumes=PostParsed, emits=PostTagged)
    async def steady(event: PostParsed) -> PostTagged:
        runs.append(event.post.message_id)
        await asyncio.sleep(1.0)
        return PostTagged.about(event.post, event.revision, occurred_at=event.occurred_at, trigger="initial")

    await publish(bench.redis, [parsed_event(1), parsed_event(2)])
    async with bench.working(steady):
        await until(lambda: has(runs, 2))
        await asyncio.to_thread(engine.kill)
        await asyncio.sleep(1.2)
        assert bench.health.parts()["stage steady"]["status"] == "failing"
        await asyncio.to_thread(engine.start)
        await until(lambda: none_pending(bench, "steady"))
        await until(lambda: length_is(bench, stream_key(PostTagged, Lane.LIVE), 2))
    assert sorted(runs) == [1, 2]


async def test_history_never_keeps_news_waiting(bench: Bench) -> None:
    order: list[str] = []

    @stage(consumes=PostParsed, concurrency=2)
    async def patient(event: PostParsed) -> None:
        order.append("news" if event.channel_id == 2 else "history")
        await asyncio.sleep(0.05)

    await publish(bench.redis, [parsed_event(number) for number in range(1, 201)], Lane.BULK)
    async with bench.working(patient):
        await until(lambda: has(order, 10, at_least=True))
        await publish(bench.redis, [parsed_event(number, channel_id=2) for number in range(1, 11)])
        await until(lambda: has([kind for kind in order if kind == "news"], 10))
    between = order[order.index("news") :]
    assert between.count("history") <= 12  # one of two workers at most is at history while news are there


async def test_what_rests_is_tried_again_although_new_entries_never_end(bench: Bench) -> None:
    tries: list[int] = []
    over = asyncio.Event()

    @stage(consumes=PostParsed, concurrency=2, attempts=3, backoff_seconds=0.1)
    async def struggle(event: PostParsed) -> None:
        if event.post.message_id == 1:
            tries.append(1)
            raise RuntimeError("not yet")
        await asyncio.sleep(0.005)

    async def besiege() -> None:
        number = 2
        while not over.is_set():
            await publish(bench.redis, [parsed_event(number + place) for place in range(50)])
            number += 50
            await asyncio.sleep(0.05)

    await publish(bench.redis, [parsed_event(1)])
    sieging = asyncio.create_task(besiege())
    async with bench.working(struggle):
        await until(lambda: has(tries, 3))
        over.set()
        await sieging
        assert await bench.redis.xlen(KEY) > 50


async def test_a_group_lost_while_a_failure_waits_to_be_settled_is_made_again_and_nothing_is_told_twice(
    bench: Bench,
) -> None:
    both = asyncio.Event()

    @stage(consumes=PostParsed, emits=PostTagged, concurrency=2)
    async def unlucky(event: PostParsed) -> PostTagged:
        await both.wait()
        if event.post.message_id == 1:
            raise RuntimeError("bad luck")
        return PostTagged.about(event.post, event.revision, occurred_at=event.occurred_at, trigger="initial")

    await publish(bench.redis, [parsed_event(1), parsed_event(2)])
    async with bench.working(unlucky):
        await until(lambda: pending_are(bench, "unlucky", 2))
        await bench.redis.flushall()
        both.set()
        await until(lambda: length_is(bench, stream_key(PostTagged, Lane.LIVE), 1))
        await asyncio.sleep(1.5)
        assert await bench.redis.xlen(stream_key(PostTagged, Lane.LIVE)) == 1
        await publish(bench.redis, [parsed_event(3)])
        await until(lambda: length_is(bench, stream_key(PostTagged, Lane.LIVE), 2))


async def test_an_event_that_is_not_declared_is_not_told(bench: Bench) -> None:
    @stage(consumes=PostParsed, attempts=1)
    async def chatty(event: PostParsed) -> PostTagged:
        return PostTagged.about(event.post, event.revision, occurred_at=event.occurred_at, trigger="initial")

    await publish(bench.redis, [parsed_event(1)])
    async with bench.working(chatty):
        await until(lambda: letters_are(bench, "chatty", 1))
    assert "does not declare" in (await bench.letters("chatty"))[0]
    assert await bench.redis.exists(stream_key(PostTagged, Lane.LIVE)) == 0


async def test_a_stream_that_nobody_reads_does_not_grow_for_ever(bench: Bench) -> None:
    @stage(consumes=PostParsed, emits=PostTagged)
    async def telling(_event: PostParsed) -> None: ...

    pipeline: Any = bench.redis.pipeline(transaction=False)
    for number in range(10_500):
        pipeline.xadd(stream_key(PostTagged, Lane.LIVE), {PAYLOAD: str(number)})
    await pipeline.execute()
    await trim(bench.redis, [telling], 1)
    assert 10_000 <= await bench.redis.xlen(stream_key(PostTagged, Lane.LIVE)) < 10_200


async def test_a_reason_that_postgresql_cannot_keep_is_kept_readable(bench: Bench) -> None:
    @stage(consumes=PostParsed)
    async def odd(_event: PostParsed) -> None:
        raise Rejected(quote("a \0 and a \ud800"))

    await publish(bench.redis, [parsed_event(1)])
    async with bench.working(odd):
        await until(lambda: letters_are(bench, "odd", 1))
    assert await bench.letters("odd") == ["a \\0 and a \\ud800"]


async def test_what_was_left_behind_is_found_behind_thousands_that_rest(bench: Bench) -> None:
    done: list[int] = []

    @stage(consumes=PostParsed, concurrency=8)
    async def patient(event: PostParsed) -> None:
        done.append(event.post.message_id)

    await publish(bench.redis, [parsed_event(number) for number in range(1, 1302)])
    await bench.redis.xgroup_create(KEY, "patient", id="0")
    streams: Any = {KEY: ">"}
    await bench.redis.xreadgroup("patient", RESTING, streams, count=1300)
    entries: Any = await bench.redis.xrange(KEY)
    for place in range(0, 1300, 100):  # they have failed often, and rest for minutes
        ids = [entry_id for entry_id, _ in entries[place : min(place + 100, 1300)]]
        await bench.redis.xclaim(KEY, "patient", RESTING, 0, ids, idle=2000, retrycount=10, justid=True)
    await bench.redis.xreadgroup("patient", "dead#0001", streams, count=1)
    await bench.redis.xclaim(
        KEY, "patient", "dead#0001", 0, [entries[1300][0]], idle=60_000, retrycount=1, justid=True
    )
    async with bench.working(patient):
        await until(lambda: has(done, 1))
    assert done == [1301]
