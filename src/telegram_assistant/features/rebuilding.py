"""Making an index anew from PostgreSQL, while searches go on with the one that is there."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.understanding import Urgency
from telegram_assistant.errors import AssistantError
from telegram_assistant.stores.postgres.post_states import PostStates
from telegram_assistant.stores.postgres.posts import Posts
from telegram_assistant.stores.postgres.rebuilds import Projection, Rebuilds
from telegram_assistant.stores.postgres.word_index import WordIndex
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.vectors.index import Index
from telegram_assistant.vectors.protocol import Space, generation_of, space_in

log = get_logger()

AT_ONCE = 200
WORDS_AT_ONCE = 500
LEASE = timedelta(seconds=120)
LOOK_EVERY_SECONDS = 5.0
PART = "vectors"
NEXT_TEXT = "post_search_next"


class Work(Protocol):
    """How one projection is made anew."""

    async def has(self, target: str) -> bool:
        """Whether what somebody began to fill is still there."""
        ...

    async def prepare(self) -> str:
        """Something new to fill; what was begun before and never used goes. Empty: what is in use."""
        ...

    async def write(self, posts: Sequence[PostId], target: str) -> None: ...

    async def switch(self, target: str) -> None:
        """Searches see it from one moment to the next."""
        ...


async def rebuild_vectors(
    *, index: Index, states: PostStates, rebuilds: Rebuilds, model: str, owner: str, stopping: asyncio.Event, batch: int = AT_ONCE
) -> bool:
    """Do what is wanted, or go on where another process died. False: nothing was wanted, or it is not finished yet.

    Whatever is stored meanwhile goes into both collections; what was read before and written after it is noticed and mended.
    """
    work = _Vectors(index, model)
    return await _rebuild(Projection.VECTORS, work, states=states, rebuilds=rebuilds, owner=owner, stopping=stopping, batch=batch)


async def rebuild_text(
    *,
    word_index: WordIndex,
    posts: Posts,
    states: PostStates,
    rebuilds: Rebuilds,
    owner: str,
    stopping: asyncio.Event,
    batch: int = WORDS_AT_ONCE,
) -> bool:
    """The same for the words in PostgreSQL: into a table beside the one that is searched."""
    work = _Text(word_index, posts)
    return await _rebuild(Projection.TEXT, work, states=states, rebuilds=rebuilds, owner=owner, stopping=stopping, batch=batch)


async def _rebuild(
    projection: Projection, work: Work, *, states: PostStates, rebuilds: Rebuilds, owner: str, stopping: asyncio.Event, batch: int
) -> bool:
    claimed = await rebuilds.claim(projection, owner=owner, lease=LEASE)
    if claimed is None:
        return False
    try:
        target, last = claimed.target, claimed.last
        if last is None or not await work.has(target):
            target, last = await work.prepare(), None
            await rebuilds.begin(projection, owner=owner, target=target, total=await states.about_how_many())
        is_done = await _fill(projection, work, target, last, states=states, rebuilds=rebuilds, owner=owner, stopping=stopping, batch=batch)
        if is_done:
            await work.switch(target)
            await rebuilds.finish(projection, owner=owner)
            log.info("rebuilt", projection=projection.value, target=target)
    except BaseException as error:
        await rebuilds.release(projection, owner=owner, error=str(error) if isinstance(error, AssistantError) else type(error).__name__)
        raise
    if not is_done:
        await rebuilds.release(projection, owner=owner)
    return is_done


async def _fill(  # noqa: PLR0913 -- all of it is one loop
    projection: Projection,
    work: Work,
    target: str,
    last: PostId | None,
    *,
    states: PostStates,
    rebuilds: Rebuilds,
    owner: str,
    stopping: asyncio.Event,
    batch: int,
) -> bool:
    while not stopping.is_set():
        posts = await states.after(last, limit=batch)
        if not posts:
            return True
        await work.write(posts, target)
        last = posts[-1]
        if not await rebuilds.note(projection, owner=owner, last=last, done=len(posts), lease=LEASE):
            return False
    return False


@dataclass(frozen=True, slots=True)
class _Vectors:
    """Into a new collection. Empty: there is none of this model yet, so posts make the first one, and it is seen at once."""

    index: Index
    model: str

    async def has(self, target: str) -> bool:
        return target in {"", *await self.index.vectors.collections()}

    async def prepare(self) -> str:
        collections = await self.index.vectors.collections()
        for left in (name for name, shown in collections.items() if shown is None):
            await self.index.vectors.drop(left)  # somebody began to fill it and gave up
        space = _space_in_force(collections, self.model)
        if space is None:
            return ""
        target = space.collection(1 + max(generation_of(name) for name in collections if space.holds(name)))
        await self.index.vectors.create(space, target)
        return target

    async def write(self, posts: Sequence[PostId], target: str) -> None:
        await self.index.write(posts, into=target or None, urgency=Urgency.BACKFILL)

    async def switch(self, target: str) -> None:
        """Then all others go, those of other models too."""
        collections = await self.index.vectors.collections()
        space = _space_in_force(collections, self.model)
        if space is None:
            return
        if target:
            await self.index.vectors.switch(space, target)
        for other in collections:
            if other != target and (target or not space.holds(other)):
                await self.index.vectors.drop(other)


def _space_in_force(collections: Mapping[str, str | None], model: str) -> Space | None:
    spaces = (space_in(name, model) for name, shown in collections.items() if shown is not None)
    return next((space for space in spaces if space is not None), None)


@dataclass(frozen=True, slots=True)
class _Text:
    """Into a table beside the one that is searched."""

    word_index: WordIndex
    posts: Posts

    async def has(self, target: str) -> bool:
        return target == NEXT_TEXT and await self.word_index.is_begun()

    async def prepare(self) -> str:
        await self.word_index.begin(datetime.now(UTC))
        return NEXT_TEXT

    async def write(self, posts: Sequence[PostId], target: str) -> None:
        del target  # there is one
        await self.word_index.fill(await self.posts.load(posts))

    async def switch(self, target: str) -> None:
        del target
        await self.word_index.switch()


async def keep_vectors(
    stopping: asyncio.Event, *, index: Index | None, states: PostStates, rebuilds: Rebuilds, model: str, owner: str, health: Health
) -> None:
    """Do what people ask to be made anew, and tell how the vectors are."""
    if index is None:
        health.report(PART, State.OK, used="off")
        await stopping.wait()
        return
    while not stopping.is_set():
        collections = await index.vectors.collections()
        shown = [name for name, space in collections.items() if space is not None]
        points = sum([await index.vectors.count(name) for name in shown])
        health.report(PART, State.OK, used=index.vectors.where, model=model, points=points, is_being_rebuilt=len(shown) < len(collections))
        await rebuild_vectors(index=index, states=states, rebuilds=rebuilds, model=model, owner=owner, stopping=stopping)
        await sleep_unless(stopping, LOOK_EVERY_SECONDS)
