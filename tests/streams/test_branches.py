"""The flow has branches; a post is done when all of them have ended."""

import asyncio

import pytest
from redis.asyncio import Redis

from telegram_assistant.domain.ids import MessageId, PostId
from telegram_assistant.pipeline import ENDS
from telegram_assistant.stages.indexing import indexing
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stores.postgres.delivery.outbox import ALL_BRANCHES
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.streams.keys import EPOCH_KEY
from telegram_assistant.worker_role import branch_of
from tests.streams.conftest import KEY
from tests.streams.relaying import land, relay_of

pytestmark = pytest.mark.usefixtures("empty_outbox")


async def test_a_post_stays_in_the_outbox_until_every_branch_has_ended(redis: Redis, system: SystemStores) -> None:
    """Indexed, while its words were lost with Redis: it is announced once more."""
    post_id = PostId(await land(system, 1), MessageId(1))
    relay = relay_of(redis, system)
    await relay.check()
    assert await relay.step() == 1
    await system.outbox.done([(post_id, 1)], branches=branch_of(indexing, ENDS))
    assert await system.outbox.waiting() == 1
    await redis.delete(EPOCH_KEY, KEY)
    await relay.check()
    assert await relay.step() == 1
    await system.outbox.done([(post_id, 1)], branches=branch_of(indexing, ENDS))
    await system.outbox.done([(post_id, 1)], branches=branch_of(post_persistence, ENDS))
    assert await system.outbox.waiting() == 0


async def test_branches_that_end_at_the_same_moment_leave_nothing_behind(system: SystemStores) -> None:
    for _ in range(20):
        channel_id = await land(system, 20)
        finished = [(PostId(channel_id, MessageId(number)), 1) for number in range(1, 21)]
        await asyncio.gather(*(system.outbox.done(finished, branches=branch_of(stage, ENDS)) for stage in ENDS))
        assert await system.outbox.waiting() == 0


def test_every_end_of_the_pipeline_has_its_branch() -> None:
    bits = [branch_of(stage, ENDS) for stage in ENDS]
    assert sum(bits) == ALL_BRANCHES
    assert branch_of(indexing, (indexing,)) == ALL_BRANCHES
