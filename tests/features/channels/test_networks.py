"""Channels of one owner are learnt by a daily job, from the posts that a tenant sees."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.features.channels.channel import channel_with_activity
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.posts.landing import Claim
from testkit.due_work import run_periodic
from testkit.factories import make_channel, make_page, make_post, make_subscription, make_tenant
from tests.conftest import Admin

NOW = datetime(2026, 10, 20, 14, 0, tzinfo=UTC)
STREETS = (
    "Садовой", "Литейной", "Заречной", "Портовой", "Вокзальной", "Кузнечной", "Лесной", "Озёрной", "Полевой",
    "Мельничной",
)  # fmt: skip
INVITATION = "https://t.me/+OurCommonInvite"


async def post_texts(app: App, *posts: tuple[ChannelId, int, str, str]) -> list[PostId]:
    """Each with its channel, its minute, its text and the address behind it."""
    made = [
        make_post(
            channel_id=channel_id,
            message_id=minute + 1,
            text=text,
            posted_at=NOW - timedelta(days=2) + timedelta(minutes=minute),
            entities=(TextEntity("text_url", 0, 1, url),) if url else (),
        )
        for channel_id, minute, text, url in posts
    ]
    for post in made:
        await app.system.landing.land(make_page(post), Claim(post.channel_id, 0))
    return [post.id for post in made]


async def learn_networks_of(app: App, admin: Admin, tenant_id: TenantId) -> dict[ChannelId, ChannelId | None]:
    await run_periodic(app, "channel_networks", NOW)
    rows = await admin.fetch(
        "SELECT channel_id, network FROM subscriptions WHERE tenant_id = $1 ORDER BY channel_id", tenant_id
    )
    return {ChannelId(row["channel_id"]): row["network"] for row in rows}


async def follow_three(app: App) -> tuple[TenantId, list[ChannelId]]:
    tenant_id = await make_tenant(app.system)
    channels = sorted([await make_channel(app.system) for _ in range(3)])
    for channel_id in channels:
        await app.system.channels.subscribe(tenant_id, make_subscription(channel_id))
    return tenant_id, channels


async def test_channels_that_copy_each_other_are_one_network_and_a_copyist_is_not(
    database: dict[str, str], admin: Admin
) -> None:
    async with assemble(read_settings(database)) as app:
        tenant_id, (first, second, copyist) = await follow_three(app)
        posts = []
        for number, street in enumerate(STREETS):
            text = (
                f"На {street} улице открыли новый мост для пешеходов, его длина {number + 20} метров ровно."
            )
            sisters = (first, second) if number % 2 else (second, first)
            minute = number * 60
            posts += [
                (sisters[0], minute, text, ""),
                (sisters[1], minute + 5, text, ""),
                (copyist, minute + 9, text, ""),
            ]
        await app.story_builder.group(await post_texts(app, *posts), now=NOW)
        expected = {first: first, second: first, copyist: None}
        assert await learn_networks_of(app, admin, tenant_id) == expected
        assert await learn_networks_of(app, admin, tenant_id) == expected


async def test_channels_with_one_invitation_in_their_signatures_are_one_network(
    database: dict[str, str], admin: Admin
) -> None:
    async with assemble(read_settings(database)) as app:
        tenant_id, (first, second, other) = await follow_three(app)
        await post_texts(
            app,
            *((first, number, f"Утро номер {number}", INVITATION) for number in range(4)),
            *((second, number, f"Вечер номер {number}", INVITATION) for number in range(4)),
            *((other, number, f"Ночь номер {number}", "https://t.me/+AnotherInvite") for number in range(4)),
        )
        networks = await learn_networks_of(app, admin, tenant_id)
        assert networks == {first: first, second: first, other: None}
        stores = app.tenant(tenant_id)
        pages = [
            await channel_with_activity(channel_id, stores=stores, zone=ZoneInfo("UTC"), now=NOW)
            for channel_id in (first, other)
        ]
        assert [[sister.channel_id for sister in page.sisters] for page in pages] == [[second], []]
