"""Channels that a tenant follows, and posts that land in them:
the world of bench.pipeline and bench.rebuild.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.links import urls_of
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.understanding.pages import LinkedPage, PageStatus
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.settings import DatabaseSettings
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import open_wakeup
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, system_stores
from testkit.rows import make_writer, page_of, posts_of

CHANNELS = 200
EVERY_CHANNEL = range(1, CHANNELS + 1)
POSTS_PER_PAGE = 100
AT_ONCE = 16
TEXT = "Подробности на странице, которую уже кто-то прочёл. " * 30


class World:
    """Channels that one tenant follows, and posts that land in them; pages that they link to are known."""

    def __init__(self, system: SystemStores, policy: AiPolicy, *, next_id: int = 1) -> None:
        self._system = system
        self.policy = policy
        self._writer = make_writer(7)
        self.next_id = next_id
        self._read: set[str] = set()

    async def open(self) -> None:
        system = self._system
        tenant_id = (await system.tenants.ensure("bench")).tenant_id
        await system.ai_policies.consent(tenant_id, given_by="bench")
        await system.spending.set_budget(tenant_id, micro=10**15, tokens=None)
        for number in EVERY_CHANNEL:
            await system.channels.register(Channel(channel_id=ChannelId(number), title=f"bench {number}"))
            wanted = Subscription(
                channel_id=ChannelId(number), ai_policy=self.policy, history_days=EVERYTHING_DAYS
            )
            await system.channels.subscribe(tenant_id, wanted)

    async def land(self, posts: int) -> int:
        """So many more, in all channels alike."""
        each, landed = max(1, posts // CHANNELS), 0
        for channel_id in EVERY_CHANNEL:
            for start in range(self.next_id, self.next_id + each, POSTS_PER_PAGE):
                count = min(POSTS_PER_PAGE, self.next_id + each - start)
                await self._land(channel_id, start, count)
                landed += count
        self.next_id += each
        return landed

    async def land_evenly(
        self, per_second: float, seconds: float, *, channels: Sequence[int] = EVERY_CHANNEL
    ) -> None:
        """One in each channel in turn, at this rate; it may be cancelled before."""
        began, landed, first_id = time.perf_counter(), 0, self.next_id
        while (passed := time.perf_counter() - began) < seconds:
            due = range(landed, min(int(passed * per_second), landed + AT_ONCE))
            self.next_id = first_id + due.stop // len(channels) + 1
            await asyncio.gather(
                asyncio.sleep(0.005),
                *(
                    self._land(channels[number % len(channels)], first_id + number // len(channels), 1)
                    for number in due
                ),
            )
            landed += len(due)

    async def _land(self, channel_id: int, first_id: int, count: int) -> None:
        made = tuple(
            posts_of(
                self._writer,
                channel_id,
                first_id=first_id,
                count=count,
                newest=datetime.now(UTC),
                span=timedelta(hours=1),
            )
        )
        await self._know_pages(made)
        await self._system.landing.land(page_of(made), Claim(ChannelId(channel_id), 0))

    async def _know_pages(self, posts: Sequence[Post]) -> None:
        pages, urls = (
            self._system.pages,
            {url for post in posts for url in urls_of(post.text, post.entities)} - self._read,
        )
        if urls:
            await pages.claim(list(urls), owner="bench", lease=timedelta(minutes=5))
        for url in urls:
            await pages.finish(
                url,
                LinkedPage(url=url, status=PageStatus.READ, title="Статья", text=TEXT),
                owner="bench",
                attempt_count=0,
            )
        self._read |= urls


def land_elsewhere(
    database: DatabaseSettings, policy: AiPolicy, next_id: int, per_second: float, seconds: float
) -> None:
    """In a process of its own, as the ingest role is one."""

    async def land() -> None:
        async with open_pool(database) as pool, open_wakeup(database) as wakeup:
            await World(system_stores(pool, wakeup), policy, next_id=next_id).land_evenly(per_second, seconds)

    asyncio.run(land())
