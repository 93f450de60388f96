"""The failure experiments: what must not be lost, doubled or stranded, on Redis and on Valkey."""

import asyncio
import io
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import Any

from redis.asyncio import Redis

from telegram_assistant.domain.lane import Lane
from telegram_assistant.errors import Rejected
from telegram_assistant.events import PostParsed, PostTagged
from telegram_assistant.features.operations.dead_letters import discard, replay
from telegram_assistant.reasons import quote
from telegram_assistant.settings import TelemetrySettings
from telegram_assistant.streams.entries import PAYLOAD
from telegram_assistant.streams.groups import UnknownGroup
from telegram_assistant.streams.keys import dead_key, stream_key
from telegram_assistant.streams.monitoring import trim
from telegram_assistant.streams.runner import Options
from telegram_assistant.streams.stage import stage
from telegram_assistant.telemetry.logging import configure_logging
from testkit.engines import Engine
from tests.streams.conftest import (
    FAST,
    KEY,
    Bench,
    counts,
    has,
    has_begun,
    has_done,
    letters_are,
    none_pending,
    parsed_event,
    pending_are,
    publish,
    until,
)


@asynccontextmanager
async def process(
    engine: Engine,
    database: dict[str, str],
    *,
    seconds: float = 0.0,
    grace: float = 10.0,
    options: Options = FAST,
    **how: Any,
) -> AsyncIterator[asyncio.subprocess.Process]:
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.streams.program",
        engine.url,
        str(seconds),
        json.dumps(how),
        json.dumps(asdict(options)),
        env={**os.environ, **database, "GRACE": str(grace)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert program.stdout is not None
        assert await asyncio.wait_for(program.stdout.readline(), 60) == b"working\n"
        yield program
    finally:
        if program.returncode is None:
            program.kill()
        await program.communicate()


async def work_until_buried(
    engine: Engine, bench: Bench, database: dict[str, str], *, others: int, **how: Any
) -> None:
    """A supervisor: whoever is killed by the deadly entry is started again,
    until it is buried and the others are done.
    """
    for _ in range(8):
        async with process(engine, database, **how) as worker:
            ended = asyncio.create_task(worker.wait())
            buried = asyncio.create_task(until(lambda: letters_are(bench, "counting", 1), 8))
            await asyncio.wait([ended, buried], return_when=asyncio.FIRST_COMPLETED)
            buried.cancel()
            await asyncio.wait([buried])
            if await bench.letters("counting"):
                await until(lambda: has_done(bench.redis, others))
                return


async def test_what_was_published_before_the_first_start_is_processed(bench: Bench) -> None:
    seen: list[int] = []

    @stage(consumes=PostParsed)
    async def early(event: PostParsed) -> None:
        seen.append(event.post.message_id)

    await publish(bench.redis, [parsed_event(number) for number in range(1, 11)])
    async with bench.working(early):
        await until(lambda: has(seen, 10))
        await until(lambda: none_pending(bench, "early"))
    assert sorted(seen) == list(range(1, 11))


async def test_a_poison_entry_comes_back_with_growing_pauses_and_is_buried_after_its_attempts(
    bench: Bench,
) -> None:
    moments: list[float] = []

    @stage(consumes=PostParsed, attempts=4, backoff_seconds=0.2)
    async def reject_third(event: PostParsed) -> None:
        if event.post.message_id == 3:
            moments.append(time.monotonic())
            raise RuntimeError("this one is bad")

    await publish(bench.redis, [parsed_event(number) for number in range(1, 6)])
    async with bench.working(reject_third):
        await until(lambda: letters_are(bench, "reject_third", 1))
        await until(lambda: none_pending(bench, "reject_third"))
    pauses = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert len(moments) == 4
    assert 0.15 <= pauses[0] < pauses[1] < pauses[2]
    letter = (await bench.system.dead_letters.newest("reject_third"))[0]
    assert (letter.reason, letter.attempts, letter.message_id) == ("RuntimeError: this one is bad", 4, 3)
    assert "this one is bad" in (letter.traceback or "")
    assert await bench.redis.xlen(dead_key("reject_third")) == 1


async def test_a_dead_letter_is_replayed_to_its_own_stage_only(bench: Bench) -> None:
    seen: dict[str, list[int]] = {"one": [], "two": []}
    broken = True

    @stage(consumes=PostParsed)
    async def one(event: PostParsed) -> None:
        if broken:
            raise Rejected(quote("not yet"))
        seen["one"].append(event.post.message_id)

    @stage(consumes=PostParsed)
    async def two(event: PostParsed) -> None:
        seen["two"].append(event.post.message_id)

    await publish(bench.redis, [parsed_event(1), parsed_event(2)])
    async with bench.working(one), bench.working(two, instance="there#0002"):
        await until(lambda: letters_are(bench, "one", 2))
        await until(lambda: has(seen["two"], 2))
        broken = False
        newest, older = await bench.system.dead_letters.newest("one")
        await replay(
            newest.dead_letter_id, letters=bench.system.dead_letters, redis=bench.redis, partition_count=1
        )
        await discard(older.dead_letter_id, letters=bench.system.dead_letters, redis=bench.redis)
        await until(lambda: has(seen["one"], 1))
        await until(lambda: none_pending(bench, "two"))
    assert seen == {"one": [2], "two": [1, 2]}
    assert await bench.letters("one") == []
    assert await bench.redis.xlen(dead_key("one")) == 0


async def test_a_killed_process_leaves_nothing_behind_although_nothing_new_arrives(
    engine: Engine, redis: Redis, bench: Bench, database: dict[str, str]
) -> None:
    await publish(redis, [parsed_event(number) for number in range(1, 51)])
    async with process(engine, database, seconds=0.3, concurrency=8) as first:
        await until(lambda: has_begun(redis, 8))
        first.kill()
        await first.wait()
    async with process(engine, database, seconds=0.0, concurrency=8):
        await until(lambda: has_done(redis, 50))
        await until(lambda: none_pending(bench, "counting"))


async def test_an_entry_that_kills_its_process_is_buried_and_the_others_are_done(
    engine: Engine, redis: Redis, bench: Bench, database: dict[str, str]
) -> None:
    await publish(redis, [parsed_event(number) for number in (1, 2, 1000, 3, 4)])
    await work_until_buried(engine, bench, database, others=4, attempts=2, concurrency=1)
    letter = (await bench.system.dead_letters.newest("counting"))[0]
    assert letter.message_id == 1000
    assert "did not survive 2 attempts" in letter.reason
    assert await counts(redis, "done") == {1: 1, 2: 1, 3: 1, 4: 1}


async def test_sigterm_finishes_what_is_in_hand_and_leaves_no_trace(
    engine: Engine, redis: Redis, bench: Bench, database: dict[str, str]
) -> None:
    await publish(redis, [parsed_event(number) for number in range(1, 21)])
    async with process(engine, database, seconds=0.5, concurrency=4) as worker:
        await until(lambda: has_begun(redis, 4))
        worker.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(worker.wait(), 60) == 0
    done = await counts(redis, "done")
    assert len(done) == len(await counts(redis, "begun"))
    assert set(done.values()) == {1}
    assert await bench.pending("counting") == 0
    assert await redis.xinfo_consumers(KEY, "counting") == []


async def test_work_longer_than_the_grace_is_handed_back_at_once(
    engine: Engine, redis: Redis, bench: Bench, database: dict[str, str]
) -> None:
    await publish(redis, [parsed_event(1)])
    patient = replace(FAST, lease_seconds=600.0)
    async with process(engine, database, seconds=30, grace=0.2, options=patient, concurrency=1) as worker:
        await until(lambda: has_begun(redis, 1))
        worker.send_signal(signal.SIGTERM)
        await asyncio.wait_for(worker.wait(), 60)
    async with process(engine, database, seconds=0, options=patient, concurrency=1):
        await until(lambda: has_done(redis, 1), seconds=60)
    assert await bench.letters("counting") == []


async def test_one_bad_entry_and_one_that_does_not_parse_do_not_fail_their_batch(bench: Bench) -> None:
    done: list[int] = []
    sizes: list[int] = []

    @stage(consumes=PostParsed, batch=20, concurrency=1, attempts=2, backoff_seconds=0.05)
    async def reject_seventh(events: list[PostParsed]) -> None:
        sizes.append(len(events))
        if any(event.post.message_id == 7 for event in events):
            raise RuntimeError("seven")
        done.extend(event.post.message_id for event in events)

    await publish(bench.redis, [parsed_event(number) for number in range(1, 20)])
    await bench.redis.xadd(KEY, {PAYLOAD: b'{"post_id": 5}'})
    async with bench.working(reject_seventh):
        await until(lambda: letters_are(bench, "reject_seventh", 2))
        await until(lambda: none_pending(bench, "reject_seventh"))
    assert sorted(done) == [number for number in range(1, 20) if number != 7]
    assert sizes[0] == 19
    assert sorted(reason.partition(":")[0] for reason in await bench.letters("reject_seventh")) == [
        "RuntimeError",
        "it is not a valid posts.parsed",
    ]


async def test_work_longer_than_the_lease_is_done_once_because_it_is_renewed(bench: Bench) -> None:
    runs: list[int] = []

    @stage(consumes=PostParsed, concurrency=6)
    async def long(event: PostParsed) -> None:
        runs.append(event.post.message_id)
        await asyncio.sleep(3)

    await publish(bench.redis, [parsed_event(number) for number in range(1, 13)])
    async with bench.working(long), bench.working(long, instance="there#0002"):
        await until(lambda: has(runs, 12))
        await asyncio.sleep(3.2)
        await until(lambda: none_pending(bench, "long"))
    assert sorted(runs) == list(range(1, 13))


async def test_a_group_of_another_program_is_logged_once(bench: Bench) -> None:
    @stage(consumes=PostParsed)
    async def quick(_event: PostParsed) -> None: ...

    for group in ("quick", "theirs"):
        await bench.redis.xgroup_create(KEY, group, id="0", mkstream=True)
        await bench.redis.xgroup_create(stream_key(PostParsed, Lane.BULK), group, id="0", mkstream=True)
    warned: set[UnknownGroup] = set()
    written = io.StringIO()
    configure_logging(TelemetrySettings(), stream=written)
    for _ in range(3):
        await trim(bench.redis, [quick], 1, warned=warned)
    lines = [line for line in written.getvalue().splitlines() if "unknown_group" in line]
    assert len(lines) == 2
    assert all("theirs" in line for line in lines)


async def test_trimming_stops_at_the_oldest_that_is_needed_and_waits_for_missing_groups(bench: Bench) -> None:
    holding = asyncio.Event()

    @stage(consumes=PostParsed, concurrency=4)
    async def quick(event: PostParsed) -> None:
        if event.post.message_id == 300:
            await holding.wait()

    @stage(consumes=PostParsed)
    async def absent(_event: PostParsed) -> None: ...

    await publish(bench.redis, [parsed_event(number) for number in range(1, 501)])
    async with bench.working(quick):
        await until(lambda: pending_are(bench, "quick", 1))
        assert (await trim(bench.redis, [quick, absent], 1)).get(KEY) is None
        assert await bench.redis.xlen(KEY) == 500
        await trim(bench.redis, [quick], 1)
        left: Any = await bench.redis.xrange(KEY)
        assert 201 <= len(left) <= 300  # trimming is by whole nodes: never more than it may
        assert b'"1/300"' in left[len(left) - 201][1][PAYLOAD]
        holding.set()
        await until(lambda: none_pending(bench, "quick"))


async def test_the_group_of_a_stage_that_now_reads_elsewhere_is_removed_when_no_process_reads_with_it(
    bench: Bench,
) -> None:
    """In an earlier release `read_elsewhere` read this stream.

    While a process of that release runs, trimming waits for it.
    """

    @stage(consumes=PostParsed)
    async def staying(_event: PostParsed) -> None: ...

    @stage(consumes=PostTagged)
    async def read_elsewhere(_event: PostTagged) -> None: ...

    await publish(bench.redis, [parsed_event(number) for number in range(1, 301)])
    for group in ("read_elsewhere", "of somebody else"):
        await bench.redis.xgroup_create(KEY, group, id="0")
    async with bench.working(staying), bench.working(read_elsewhere):
        await until(lambda: none_pending(bench, "staying"))
        await bench.redis.xgroup_createconsumer(KEY, "read_elsewhere", "an earlier release")
        await trim(bench.redis, [staying, read_elsewhere], 1)
        assert await bench.redis.xlen(KEY) == 300
        await bench.redis.xgroup_delconsumer(KEY, "read_elsewhere", "an earlier release")
        await trim(bench.redis, [staying, read_elsewhere], 1)
        groups = {group["name"].decode() for group in await bench.redis.xinfo_groups(KEY)}
        assert groups == {"staying", "of somebody else"}
        assert await bench.redis.xlen(KEY) < 300


async def test_a_deleted_stream_or_group_heals_itself(bench: Bench) -> None:
    seen: list[int] = []

    @stage(consumes=PostParsed)
    async def healing(event: PostParsed) -> None:
        seen.append(event.post.message_id)

    async with bench.working(healing):
        await publish(bench.redis, [parsed_event(1)])
        await until(lambda: has(seen, 1))
        await bench.redis.flushall()
        await publish(bench.redis, [parsed_event(2)])
        await until(lambda: has(seen, 2))
        await bench.redis.xgroup_destroy(KEY, "healing")
        await publish(bench.redis, [parsed_event(3)])
        await until(lambda: has(seen, 3, at_least=True))
    assert set(seen) == {1, 2, 3}


async def test_the_neighbours_of_an_entry_that_kills_its_process_survive_it(
    engine: Engine, redis: Redis, bench: Bench, database: dict[str, str]
) -> None:
    await publish(redis, [parsed_event(number) for number in (*range(1, 11), 1000, *range(11, 21))])
    await work_until_buried(engine, bench, database, others=20, seconds=0.3, attempts=3, concurrency=32)
    assert [letter.message_id for letter in await bench.system.dead_letters.newest("counting")] == [1000]
    assert set(await counts(redis, "done")) == set(range(1, 21))
