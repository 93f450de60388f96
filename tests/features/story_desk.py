"""A tenant with a story that grows."""

from datetime import UTC, datetime, timedelta
from secrets import token_hex

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId, UserId
from telegram_assistant.features.stories.marks import raise_followed
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, tenant_stores
from telegram_assistant.understanding.stories import StoryBuilder
from testkit.factories import follow_long_ago, make_channel, make_page, make_post, make_tenant
from tests.conftest import Admin

FLOOD = "В Сосновке река Тихая затопила 37 домов на Речной улице, людей вывозят на лодках, сообщил Лебедев."
AGAIN = "Лебедев: на Речной улице в Сосновке 37 домов затопила река Тихая; вывезли на лодках 64 человека."


class StoryDesk:
    """A tenant with channels, posts of which are grouped as they come."""

    def __init__(self, system: SystemStores, pool: Pool, admin: Admin) -> None:
        self.system, self.pool, self.admin = system, pool, admin
        self.builder = StoryBuilder(system.story_sources, system.post_terms, system.story_groups)

    async def open(self) -> TenantId:
        return await make_tenant(self.system)

    async def invite(self, tenant_id: TenantId) -> UserId:
        return (await self.system.users.join(tenant_id, f"person {token_hex(6)}")).user_id

    async def post(self, text: str, *tenant_ids: TenantId, minutes_ago: float = 5) -> PostId:
        channel_id = await make_channel(self.system)
        for tenant_id in tenant_ids:
            await follow_long_ago(self.system, self.admin, tenant_id, channel_id)
        return await self.post_in(channel_id, text, minutes_ago=minutes_ago)

    async def post_in(
        self, channel_id: ChannelId, text: str, *, message_id: int = 1, minutes_ago: float = 5
    ) -> PostId:
        posted_at = datetime.now(UTC) - timedelta(minutes=minutes_ago)
        post = make_post(channel_id=channel_id, message_id=message_id, text=text, posted_at=posted_at)
        await self.system.landing.land(make_page(post), Claim(channel_id, 0))
        await self.builder.group([post.id], now=datetime.now(UTC))
        return PostId(channel_id, MessageId(message_id))

    async def raise_followed(self) -> int:
        return await raise_followed(
            followers=self.system.story_followers,
            tenant=lambda tenant_id: tenant_stores(self.pool, tenant_id),
        )

    def stores(self, tenant_id: TenantId, actor: UserId | None = None) -> TenantStores:
        return tenant_stores(self.pool, tenant_id, actor)
