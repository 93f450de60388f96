"""The flow has branches; a post is done when all of them have ended."""

import asyncio

import pytest
from redis.asyncio import Redis

from telegram_assistant.domain.ids import MessageId, PostId
from telegram_assistant.errors import CannotStart
from telegram_assistant.pipeline import ENDS, PIPELINE
from telegram_assistant.stages.graph_indexing import graph_indexing
from telegram_assistant.stages.indexing import indexing
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stages.stories import stories
from telegram_assistant.stages.tag_persistence import tag_persistence
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.streams.keys import EPOCH_KEY
from telegram_assistant.streams.stage import AnyStage
from telegram_assistant.worker_role import branches_of
from tests.streams.conftest import KEY
from tests.streams.relaying import land, relay_of

BRANCHES = branches_of(PIPELINE, ENDS)
pytestmark = pytest.mark.usefixtures("empty_outbox")


async def test_a_post_stays_in_the_outbox_until_every_branch_has_ended(redis: Redis, system: SystemStores) -> None:
    """Indexed, while its words were lost with Redis: it is announced once more."""
    post_id = PostId(await land(system, 1), MessageId(1))
    relay = relay_of(redis, system)
    await relay.check()
    assert await relay.step() == 1
    await system.outbox.done([(post_id, 1)], branch=BRANCHES[indexing.name])
    assert await system.outbox.waiting() == 1
    await redis.delete(EPOCH_KEY, KEY)
    await relay.check()
    assert await relay.step() == 1
    for stage in (indexing, stories, post_persistence):
        assert await system.outbox.waiting() == 1
        await system.outbox.done([(post_id, 1)], branch=BRANCHES[stage.name])
    assert await system.outbox.waiting() == 0


async def test_branches_that_end_at_the_same_moment_leave_nothing_behind(system: SystemStores) -> None:
    for _ in range(20):
        channel_id = await land(system, 20)
        finished = [(PostId(channel_id, MessageId(number)), 1) for number in range(1, 21)]
        await asyncio.gather(*(system.outbox.done(finished, branch=BRANCHES[stage.name]) for stage in ENDS))
        assert await system.outbox.waiting() == 0


async def test_a_pipeline_may_have_any_number_of_ends(system: SystemStores) -> None:
    ends = (post_persistence, indexing, tag_persistence)
    branches = branches_of(PIPELINE, ends)
    post_id = PostId(await land(system, 1), MessageId(1))
    for end in reversed(ends):
        assert await system.outbox.waiting() == 1
        await system.outbox.done([(post_id, 1)], branch=branches[end.name])
    assert await system.outbox.waiting() == 0


@pytest.mark.parametrize("ends", [(), (indexing, indexing), (indexing, graph_indexing)], ids=["none", "one twice", "one that does not run"])
def test_a_pipeline_that_no_post_can_pass_refuses_to_start(ends: tuple[AnyStage, ...]) -> None:
    with pytest.raises(CannotStart, match="ENDS"):
        branches_of(PIPELINE, ends)
