"""Rebuilds stories on request."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.features.operations.rebuilding import rebuild
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection, Rebuilds
from telegram_assistant.stores.postgres.posts.post_states import PostStates
from telegram_assistant.understanding.stories import StoryBuilder

AT_ONCE = 200
IN_PLACE = "stories"


async def rebuild_stories(
    *, builder: StoryBuilder, states: PostStates, rebuilds: Rebuilds, owner: str, stopping: asyncio.Event
) -> bool:
    """Compares and groups all posts again, in place. A story keeps its id where most of it survives."""
    work = _Stories(builder, states)
    return await rebuild(
        Projection.STORIES, work, states=states, rebuilds=rebuilds, owner=owner, stopping=stopping
    )


@dataclass(frozen=True, slots=True)
class _Stories:
    builder: StoryBuilder
    states: PostStates

    async def has(self, target: str) -> bool:
        return target == IN_PLACE

    async def prepare(self) -> str:
        return IN_PLACE

    async def after(self, last_post_id: PostId | None) -> Sequence[PostId]:
        return await self.states.after(last_post_id, limit=AT_ONCE)

    async def write(self, post_ids: Sequence[PostId], target: str) -> None:
        del target  # they are grouped in place
        await self.builder.group(post_ids, now=datetime.now(UTC), compares_again=True)

    async def switch(self, target: str) -> None:
        """Every post is grouped already."""
