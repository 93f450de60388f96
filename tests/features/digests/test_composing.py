"""No sentence of a digest repeats the headline above it."""

from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.digests.digest import Digest
from telegram_assistant.domain.ids import MessageId, PostId
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.features.digests.composing import compose
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from testkit.factories import follow_long_ago, make_channel, make_page, make_post, make_tenant
from testkit.stories import store_story
from tests.conftest import Admin


async def compose_stories(
    system: SystemStores, pool: Pool, admin: Admin, *stories: tuple[str, ...]
) -> Digest:
    tenant_id, now = await make_tenant(system), datetime.now(UTC)
    channels = [await make_channel(system, title=f"Канал {number}") for number in range(2)]
    for channel_id in channels:
        await follow_long_ago(system, admin, tenant_id, channel_id)
    for message, texts in enumerate(stories, start=1):
        post_ids = [PostId(channel_id, MessageId(message)) for channel_id in channels]
        for post_id, text in zip(post_ids, texts, strict=True):
            post = make_post(
                channel_id=post_id.channel_id,
                message_id=message,
                text=text,
                posted_at=now - timedelta(minutes=20 - message),
            )
            await system.landing.land(make_page(post), Claim(post_id.channel_id, 0))
        await store_story(admin, post_ids, [(post_ids[1], post_ids[0], LinkKind.REWRITE, 9.0, False)])
    return await compose(
        now - timedelta(hours=1),
        stores=tenant_stores(pool, tenant_id),
        now=now + timedelta(minutes=1),
        language="ru",
    )


async def test_no_sentence_behind_a_headline_tells_it_again(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    headline = "Мэр Туманска подписал закон о бесплатных парковках у школ"
    again = "Мэр Туманска подписал сегодня закон о парковках у школ: бесплатных мест будет 40."
    fact = "Деньги на разметку выделит область: 9 млн рублей."
    texts = tuple(f"{headline}\n\n{again} {fact}" for _ in range(2))
    digest = await compose_stories(system, pool, admin, texts)
    assert [sentence.text for story in digest.stories for sentence in story.sentences] == [fact]
