"""The flow has branches; a post is done when all of them have ended."""

import asyncio

import pytest
from redis.asyncio import Redis

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.errors import CannotStart
from telegram_assistant.events import PostGrouped
from telegram_assistant.pipeline import ENDS, PIPELINE
from telegram_assistant.stages.alerts import alerts
from telegram_assistant.stages.graph_indexing import graph_indexing
from telegram_assistant.stages.indexing import indexing
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stages.stories import stories
from telegram_assistant.stages.tag_persistence import tag_persistence
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.streams.keys import EPOCH_KEY
from telegram_assistant.streams.stage import AnyStage
from telegram_assistant.worker_role import branches_of
from tests.conftest import Admin
from tests.streams.conftest import KEY
from tests.streams.relaying import land, relay_of

BRANCHES = branches_of(PIPELINE, ENDS)
pytestmark = pytest.mark.usefixtures("empty_outbox")


async def test_a_post_stays_in_the_outbox_until_every_branch_has_ended(
    redis: Redis, system: SystemStores
) -> None:
    """Indexed, while its words were lost with Redis: it is announced once more."""
    post_id = PostId(await land(system, 1), MessageId(1))
    relay = relay_of(redis, system)
    await relay.check()
    assert await relay.step() == 1
    await system.outbox.mark_finished([(post_id, 1)], branch=BRANCHES[indexing.name])
    assert await system.outbox.waiting() == 1
    await redis.delete(EPOCH_KEY, KEY)
    await relay.check()
    assert await relay.step() == 1
    for stage in (indexing, stories, alerts, post_persistence):
        assert await system.outbox.waiting() == 1
        await system.outbox.mark_finished([(post_id, 1)], branch=BRANCHES[stage.name])
    assert await system.outbox.waiting() == 0


async def test_branches_that_end_at_the_same_moment_leave_nothing_behind(system: SystemStores) -> None:
    for _ in range(20):
        channel_id = await land(system, 20)
        finished = [(PostId(channel_id, MessageId(number)), 1) for number in range(1, 21)]
        await asyncio.gather(
            *(system.outbox.mark_finished(finished, branch=BRANCHES[stage.name]) for stage in ENDS)
        )
        assert await system.outbox.waiting() == 0


async def release_held(system: SystemStores, *, held_seconds: float = 0.0) -> int:
    ended, held_by, waiting = (BRANCHES[stage.name] for stage in (indexing, stories, alerts))
    return await system.outbox.release_held(
        ended_branch=ended, held_by=held_by, waiting=waiting, held_seconds=held_seconds, limit=100
    )


async def load_notices(admin: Admin, channel_id: ChannelId) -> list[tuple[int, str]]:
    rows = await admin.fetch(
        "SELECT lane, payload FROM notices WHERE event = 'posts.grouped' AND channel_id = $1", channel_id
    )
    return [(PostGrouped.model_validate_json(row["payload"]).post.message_id, row["lane"]) for row in rows]


@pytest.mark.parametrize("lane", Lane)
async def test_a_post_that_stories_hold_is_announced_as_grouped_once(
    redis: Redis, system: SystemStores, admin: Admin, lane: Lane
) -> None:
    channel_id = await land(system, 1, lane=lane, requested_by=1 if lane is Lane.BULK else None)
    relay, finished = relay_of(redis, system), [(PostId(channel_id, MessageId(1)), 1)]
    await relay.check()
    assert await release_held(system) == 0, "it is not announced yet"
    assert await (relay.step() if lane is Lane.LIVE else relay.step_bulk()) == 1
    await system.outbox.mark_finished(finished, branch=BRANCHES[post_persistence.name])
    assert await release_held(system) == 0, "it is not indexed yet"
    await system.outbox.mark_finished(finished, branch=BRANCHES[indexing.name])
    assert await release_held(system, held_seconds=60) == 0, "it is not held for long"
    assert [await release_held(system), await release_held(system)] == [1, 0]
    assert await load_notices(admin, channel_id) == [(1, lane.value)]


async def test_a_post_that_is_grouped_or_matched_is_not_released(redis: Redis, system: SystemStores) -> None:
    """Stories announce what they have grouped; alerts may be behind for as long as they like."""
    channel_id = await land(system, 2)
    grouped, matched = [(PostId(channel_id, MessageId(1)), 1)], [(PostId(channel_id, MessageId(2)), 1)]
    relay = relay_of(redis, system)
    await relay.check()
    assert await relay.step() == 2
    await system.outbox.mark_finished([*grouped, *matched], branch=BRANCHES[indexing.name])
    await system.outbox.mark_finished(grouped, branch=BRANCHES[stories.name])
    await system.outbox.mark_finished(matched, branch=BRANCHES[alerts.name])
    assert await release_held(system) == 0


async def test_a_post_that_the_release_before_has_grouped_and_not_matched_is_released(
    redis: Redis, system: SystemStores, admin: Admin
) -> None:
    """There the stage alerts read posts.indexed, and stories announced nothing to it."""
    channel_id = await land(system, 1)
    relay, finished = relay_of(redis, system), [(PostId(channel_id, MessageId(1)), 1)]
    await relay.check()
    assert await relay.step() == 1
    for stage in (indexing, stories):
        await system.outbox.mark_finished(finished, branch=BRANCHES[stage.name])
    await admin.execute("UPDATE outbox SET progressed_at = NULL")
    assert await release_held(system, held_seconds=60) == 0
    assert await release_held(system) == 1


async def test_a_post_that_was_announced_again_is_held_from_then_on(
    redis: Redis, system: SystemStores, admin: Admin
) -> None:
    """Redis has lost it, and it goes through the stages once more."""
    channel_id = await land(system, 1)
    relay = relay_of(redis, system)
    await relay.check()
    assert await relay.step() == 1
    await system.outbox.mark_finished([(PostId(channel_id, MessageId(1)), 1)], branch=BRANCHES[indexing.name])
    await admin.execute("UPDATE outbox SET progressed_at = now() - interval '1 hour'")
    await system.outbox.reannounce_all()
    assert await release_held(system) == 0
    assert await relay.step() == 1
    assert [await release_held(system, held_seconds=60), await release_held(system)] == [0, 1]


async def test_a_pipeline_may_have_any_number_of_ends(system: SystemStores) -> None:
    ends = (post_persistence, indexing, tag_persistence)
    branches = branches_of(PIPELINE, ends)
    post_id = PostId(await land(system, 1), MessageId(1))
    for end in reversed(ends):
        assert await system.outbox.waiting() == 1
        await system.outbox.mark_finished([(post_id, 1)], branch=branches[end.name])
    assert await system.outbox.waiting() == 0


@pytest.mark.parametrize(
    "ends",
    [(), (indexing, indexing), (indexing, graph_indexing)],
    ids=["none", "one twice", "one that does not run"],
)
def test_a_pipeline_that_no_post_can_pass_refuses_to_start(ends: tuple[AnyStage, ...]) -> None:
    with pytest.raises(CannotStart, match="ENDS"):
        branches_of(PIPELINE, ends)
