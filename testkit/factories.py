"""Objects for tests: set only what the test is about."""

import itertools
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import asyncpg

from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.channels.coverage import IdRange
from telegram_assistant.domain.ids import ChannelId, MessageId, TenantId
from telegram_assistant.domain.posts.post import Post, fingerprint
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.deletions import ObservedPage
from telegram_assistant.stores.postgres.posts.landing import Claim, PostPage
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, tenant_stores
from testkit.rows import Writer, make_writer, page_of, posts_of

_numbers = itertools.count(random.SystemRandom().randrange(1_000_000_000, 2_000_000_000))


def fresh_number() -> int:
    """A number that no other test uses."""
    return next(_numbers)


def make_post(*, channel_id: int = 1, message_id: int = 1, text: str = "Снег в городе", **more: Any) -> Post:
    values: dict[str, Any] = {
        "posted_at": datetime(2026, 11, 1, 12, tzinfo=UTC),
        "content_hash": fingerprint(text),
        **more,
    }
    return Post(channel_id=ChannelId(channel_id), message_id=MessageId(message_id), text=text, **values)


def make_page(*posts: Post, **more: Any) -> PostPage:
    return page_of(posts, **more)


async def make_tenant(system: SystemStores) -> TenantId:
    return (await system.tenants.ensure(f"tenant {fresh_number()}")).tenant_id


async def make_channel(system: SystemStores, **more: Any) -> ChannelId:
    channel_id = ChannelId(more.pop("channel_id", None) or fresh_number())
    await system.channels.register(
        Channel(channel_id=channel_id, **{"title": f"Channel {channel_id}", **more})
    )
    return channel_id


def make_subscription(channel_id: ChannelId, **more: Any) -> Subscription:
    """With everything that was ever posted: tests have days of their own."""
    return Subscription(channel_id=channel_id, **{"history_days": EVERYTHING_DAYS, **more})


async def follow_long_ago(
    system: SystemStores,
    admin: "asyncpg.Connection[asyncpg.Record]",
    tenant_id: TenantId,
    channel_id: ChannelId,
    **more: Any,
) -> None:
    """Follows the channel since 1 January 2026, for tests with dated edits and deletions.

    A tenant does not see changes from before it followed.
    """
    await system.channels.subscribe(tenant_id, make_subscription(channel_id, **more))
    query = (
        "UPDATE subscriptions SET created_at = '2026-01-01T00:00:00Z' WHERE tenant_id = $1 "
        "AND channel_id = $2"
    )
    await admin.execute(query, tenant_id, channel_id)


async def make_deleted(system: SystemStores, channel_id: ChannelId, *, at: datetime) -> None:
    """Marks every stored post of the channel as deleted at that moment, and stores ten other posts."""
    others = [make_post(channel_id=channel_id, message_id=900_000 + number) for number in range(10)]
    await system.landing.land(make_page(*others, read_at=at - timedelta(hours=1)), Claim(channel_id, 0))
    observed = ObservedPage(tuple(others), asked_at=at, is_newest=False)
    await system.landing.land(
        make_page(proven=IdRange(MessageId(1), MessageId(900_009)), read_at=at, observed=observed),
        Claim(channel_id, 0),
    )


@dataclass(frozen=True, slots=True)
class World:
    """Tenants A and B, who share half their channels; every channel has posts."""

    a: TenantId
    b: TenantId
    only_a: tuple[ChannelId, ...]
    shared: tuple[ChannelId, ...]
    only_b: tuple[ChannelId, ...]
    stores_a: TenantStores
    stores_b: TenantStores
    stores_nobody: TenantStores

    @property
    def of_a(self) -> set[ChannelId]:
        return {*self.only_a, *self.shared}

    @property
    def of_b(self) -> set[ChannelId]:
        return {*self.only_b, *self.shared}

    @property
    def channels(self) -> tuple[ChannelId, ...]:
        return (*self.only_a, *self.shared, *self.only_b)


@cache
def _shared_writer() -> Writer:
    """One for all worlds of a process: its phrases take longer to make than a world."""
    return make_writer(fresh_number())


async def make_world(system: SystemStores, pool: Pool, *, posts_per_channel: int = 7) -> World:
    a, b, nobody = [await make_tenant(system) for _ in range(3)]
    channels = [await make_channel(system) for _ in range(6)]
    for channel_id in channels[:4]:
        await system.channels.subscribe(a, make_subscription(channel_id))
    for channel_id in channels[2:]:
        await system.channels.subscribe(b, make_subscription(channel_id))
    writer = _shared_writer()
    for channel_id in channels:
        newest = datetime.now(UTC) - timedelta(seconds=writer.rng.randrange(3600))
        posts = posts_of(
            writer, channel_id, first_id=1, count=posts_per_channel, newest=newest, span=timedelta(days=2)
        )
        await system.landing.land(make_page(*posts), Claim(channel_id, 0))
    return World(
        a,
        b,
        tuple(channels[:2]),
        tuple(channels[2:4]),
        tuple(channels[4:]),
        tenant_stores(pool, a),
        tenant_stores(pool, b),
        tenant_stores(pool, nobody),
    )
