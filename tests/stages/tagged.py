"""Posts on their way through the stages that tag: landed in followed channels,
read back by those who follow them.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.events import Event, PostParsed, PostTagged
from telegram_assistant.stages.tagging import tagging
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from telegram_assistant.streams.stage import bind
from testkit.factories import make_channel, make_page, make_post, make_tenant
from tests.ai.conftest import PLENTY


async def follow(
    app: App, *policies: AiPolicy, consents: bool = True, money: int = PLENTY, **channel: Any
) -> tuple[ChannelId, list[TenantId]]:
    """A channel with a follower for each policy."""
    channel_id = await make_channel(app.system, **channel)
    tenants = []
    for policy in policies:
        tenant_id = await make_tenant(app.system)
        if policy is AiPolicy.PROVIDER and consents:
            await app.system.ai_policies.consent(tenant_id, given_by="owner")
            await app.system.spending.set_budget(tenant_id, micro=money, tokens=None)
        await app.system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id, ai_policy=policy))
        tenants.append(tenant_id)
    return channel_id, tenants


async def land(app: App, channel_id: ChannelId, *texts: str, first: int = 1, **more: Any) -> list[PostId]:
    now = datetime.now(UTC)
    posts = [
        make_post(channel_id=channel_id, message_id=number, text=text, **{"posted_at": now, **more})
        for number, text in enumerate(texts, first)
    ]
    await app.system.landing.land(make_page(*posts), Claim(channel_id, 0))
    return [post.id for post in posts]


def about[E: Event](event: type[E], posts: Sequence[PostId], revision: int = 1, **facts: Any) -> list[E]:
    return [
        event.about(post, revision, occurred_at=datetime(2026, 11, 1, tzinfo=UTC), **facts) for post in posts
    ]


async def tag(app: App, posts: Sequence[PostId], revision: int = 1) -> list[PostTagged]:
    events: Any = await tagging(list(about(PostParsed, posts, revision)), **bind(tagging, app.collaborators))
    return list(events)


async def rows(app: App, posts: Sequence[PostId]) -> list[Enrichment]:
    return sorted(
        await app.system.enrichments.load(posts, Kind.TAGS),
        key=lambda enrichment: (enrichment.post_id, enrichment.tier),
    )


async def load_visible(app: App, tenant_id: TenantId, posts: Sequence[PostId]) -> dict[PostId, str]:
    """By post, the tier of what the tenant sees."""
    return {
        post: enrichment.tier.value
        for post, enrichment in (await app.tenant(tenant_id).enrichments.load_best(posts, Kind.TAGS)).items()
    }
