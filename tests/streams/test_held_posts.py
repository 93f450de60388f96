"""Alerts come although the stage stories does not group: it is stopped, broken, or its servers were away."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from redis.asyncio import Redis

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.watches.watch import WatchKind, WatchOptions, WatchTarget
from telegram_assistant.errors import Rejected
from telegram_assistant.events import PostGrouped, PostIndexed, PostParsed
from telegram_assistant.features.watches.watches import create_watch
from telegram_assistant.reasons import quote
from telegram_assistant.settings import read_settings
from telegram_assistant.stages.alerts import alerts
from telegram_assistant.stages.stories import stories as grouping
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.streams.keys import stopped_key
from telegram_assistant.streams.monitoring import resume
from telegram_assistant.streams.stage import AnyStage, stage
from telegram_assistant.supervision import keep_running
from telegram_assistant.telemetry.health import Health
from telegram_assistant.worker_role import build_loops, held_posts_loop
from testkit.engines import Engine
from testkit.factories import fresh_number, make_channel, make_page, make_post, make_subscription, make_tenant
from tests.streams.conftest import FAST, until

pytestmark = pytest.mark.usefixtures("empty_outbox")

HELD_SECONDS = 0.3
TEXTS = (
    "В Северограде закрыли Литейный мост: осмотр опор нашёл 4 трещины, автобусы идут в объезд",
    "Литейный мост в Северограде закрыт. Осмотр опор нашёл 4 трещины, автобусы пустили в объезд",
)


@stage(consumes=PostParsed, emits=PostIndexed, batch=50)
async def indexing(events: list[PostParsed]) -> list[PostIndexed]:
    """In place of all that happens to a post before it is grouped."""
    return [PostIndexed.about(event.post, event.revision, occurred_at=event.occurred_at) for event in events]


@stage(consumes=PostIndexed, emits=PostGrouped)
async def stories(_event: PostIndexed) -> PostGrouped:
    """Groups nothing at all."""
    raise Rejected(quote("it cannot be grouped"))


@dataclass
class Newsroom:
    """A tenant who watches bridges, and the stages that raise its alerts."""

    app: App
    redis: Redis
    tenant_id: TenantId

    async def publish(self, *texts: str) -> list[PostId]:
        """Each text in a channel of its own."""
        posts = []
        for text in texts:
            channel_id = await make_channel(self.app.system, username=f"news_{fresh_number()}")
            await self.app.system.channels.subscribe(self.tenant_id, make_subscription(channel_id))
            post = make_post(
                channel_id=channel_id,
                message_id=1,
                text=text,
                posted_at=datetime.now(UTC) + timedelta(seconds=1),
            )
            await self.app.system.landing.land(make_page(post), Claim(channel_id, 0))
            posts.append(post.id)
        return posts

    async def alerts(self) -> set[PostId | None]:
        return {alert.post_id for alert in await self.app.tenant(self.tenant_id).alerts.newest(limit=100)}

    @asynccontextmanager
    async def working(
        self, *stages: AnyStage, held_seconds: float = HELD_SECONDS, health: Health | None = None
    ) -> AsyncIterator[None]:
        watched, stopping = health or Health(probes={}), asyncio.Event()
        held_posts = held_posts_loop(
            self.app, watched, stages, stages, held_seconds=held_seconds, look_seconds=0.05
        )
        loops = (*build_loops(stages, stages, self.app, watched, FAST), held_posts)
        tasks = [
            asyncio.create_task(
                keep_running(loop, stopping=stopping, health=watched, first_pause_seconds=0.05)
            )
            for loop in loops
        ]
        try:
            yield
        finally:
            stopping.set()
            await asyncio.wait_for(asyncio.gather(*tasks), 60)


@pytest.fixture
async def newsroom(database: dict[str, str], engine: Engine, redis: Redis) -> AsyncIterator[Newsroom]:
    async with assemble(read_settings({**database, "REDIS_URL": engine.url})) as app:
        room = Newsroom(app, redis, await make_tenant(app.system))
        target, now = WatchTarget(kind=WatchKind.WORDS, query="мост"), datetime.now(UTC)
        await create_watch(
            "Bridges",
            target,
            WatchOptions(),
            stores=app.tenant(room.tenant_id),
            created_by="anna",
            now=now,
            zone=UTC,
        )
        yield room


async def are_raised(room: Newsroom, posts: Sequence[PostId]) -> bool:
    return await room.alerts() == set(posts)


async def is_done(room: Newsroom) -> bool:
    return await room.app.system.outbox.waiting() == 0


async def test_where_stories_work_alerts_follow_them_and_nothing_is_held(newsroom: Newsroom) -> None:
    posts = await newsroom.publish(*TEXTS)
    async with newsroom.working(indexing, grouping, alerts, held_seconds=60):
        await until(lambda: is_done(newsroom))
    (raised,) = await newsroom.alerts()
    assert raised in posts  # one alert: both tell the same


async def test_when_stories_are_stopped_alerts_still_come_and_later_none_comes_twice(
    newsroom: Newsroom,
) -> None:
    await newsroom.redis.set(stopped_key("stories"), "10 dead letters in a row")
    posts = await newsroom.publish(*TEXTS)
    async with newsroom.working(indexing, grouping, alerts):
        await until(lambda: are_raised(newsroom, posts))  # each, because nobody knows that they tell the same
        assert not await is_done(newsroom)
        await resume(newsroom.redis, "stories")
        await until(lambda: is_done(newsroom))
        later = await newsroom.publish(
            "Мост через Ладогу: движение открыли в обе стороны, пробок уже нет совсем"
        )
        await until(lambda: are_raised(newsroom, [*posts, *later]))
    assert len(set((await newsroom.app.system.stories.of_posts(posts)).values())) == 1


async def test_a_post_that_stories_made_a_dead_letter_is_matched_without_a_story(newsroom: Newsroom) -> None:
    posts = await newsroom.publish("Мост закрыт")
    async with newsroom.working(indexing, stories, alerts):
        await until(lambda: are_raised(newsroom, posts))
    assert [letter.reason for letter in await newsroom.app.system.dead_letters.newest("stories")] == [
        "it cannot be grouped"
    ]


async def test_the_time_that_a_server_was_away_does_not_count(newsroom: Newsroom) -> None:
    """Stories could not work either; they go on with the server, and no story is told twice."""
    is_away, asked_at = True, list[float]()

    async def answers() -> None:
        asked_at.append(time.monotonic())
        if is_away:
            raise OSError("it does not answer")

    async def is_away_for_long() -> bool:
        return len(asked_at) > 2 and asked_at[-1] - asked_at[0] > 2 * HELD_SECONDS

    await newsroom.redis.set(stopped_key("stories"), "10 dead letters in a row")
    posts = await newsroom.publish("Мост закрыт")
    async with newsroom.working(indexing, grouping, alerts, health=Health(probes={"redis": answers})):
        await until(is_away_for_long)
        assert await newsroom.alerts() == set()
        is_away = False
        await until(lambda: are_raised(newsroom, posts))
