"""Rebuilds the word index on request."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.features.operations.rebuilding import rebuild
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection, Rebuilds
from telegram_assistant.stores.postgres.posts.post_states import PostStates
from telegram_assistant.stores.postgres.posts.posts import Posts
from telegram_assistant.stores.postgres.search.word_index import WordIndex

AT_ONCE = 500
NEXT_TEXT = "post_search_next"


async def rebuild_text(
    *,
    word_index: WordIndex,
    posts: Posts,
    states: PostStates,
    rebuilds: Rebuilds,
    owner: str,
    stopping: asyncio.Event,
    batch_size: int = AT_ONCE,
) -> bool:
    """Rebuilds the word index of all posts."""
    work = _Text(word_index, posts, states, batch_size)
    return await rebuild(
        Projection.TEXT, work, states=states, rebuilds=rebuilds, owner=owner, stopping=stopping
    )


@dataclass(frozen=True, slots=True)
class _Text:
    """Writes into a table beside the one that is searched."""

    word_index: WordIndex
    posts: Posts
    states: PostStates
    batch: int

    async def has(self, target: str) -> bool:
        return target == NEXT_TEXT and await self.word_index.is_begun()

    async def prepare(self) -> str:
        await self.word_index.begin(datetime.now(UTC))
        return NEXT_TEXT

    async def after(self, last_post_id: PostId | None) -> Sequence[PostId]:
        return await self.states.after(last_post_id, limit=self.batch)

    async def write(self, post_ids: Sequence[PostId], target: str) -> None:
        del target  # there is only one table
        await self.word_index.fill(await self.posts.load(post_ids))

    async def switch(self, target: str) -> None:
        del target
        await self.word_index.switch()
