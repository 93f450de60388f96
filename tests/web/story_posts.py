"""Posts of several channels about one event, for pages that tell it."""

from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import follow_long_ago, make_channel, make_page, make_post
from testkit.stories import store_story
from tests.conftest import Admin

BRIDGE = "В Северограде закрыли Литейный мост. Осмотр опор нашёл 4 трещины."
BRIDGE_TOO = "Литейный мост в Северограде закрыт. Осмотр опор нашёл 4 трещины."
FIRE = "На складе в Самаре сгорели 40 машин. Огонь потушили к утру."
MORE = "Литейный мост в Северограде откроют через 12 недель, сообщила мэрия."


async def make_channels(
    tenant_id: TenantId, count: int, *, system: SystemStores, admin: Admin
) -> list[ChannelId]:
    made = [await make_channel(system, title=f"Канал {number}") for number in range(count)]
    for channel_id in made:
        await follow_long_ago(system, admin, tenant_id, channel_id)
    return made


async def tell(
    texts: dict[ChannelId, str],
    message_id: int,
    *,
    system: SystemStores,
    admin: Admin,
    minutes_ago: float,
    like: PostId | None = None,
) -> PostId:
    """Every channel posts its text, and all of them are one story. Returns its first post."""
    first, posts = like, []
    for place, (channel_id, text) in enumerate(texts.items()):
        at = datetime.now(UTC) - timedelta(minutes=minutes_ago - place / 10)
        await system.landing.land(
            make_page(make_post(channel_id=channel_id, message_id=message_id, text=text, posted_at=at)),
            Claim(channel_id, 0),
        )
        posts.append(PostId(channel_id, MessageId(message_id)))
        first = first or posts[0]
    assert first is not None
    story = await admin.fetchval(
        "SELECT story_id FROM story_posts WHERE channel_id = $1 AND message_id = $2",
        first.channel_id,
        first.message_id,
    )
    await store_story(
        admin,
        posts,
        [(post, first, LinkKind.REWRITE, 9.0, False) for post in posts if post != first],
        story_id=story,
    )
    return first
