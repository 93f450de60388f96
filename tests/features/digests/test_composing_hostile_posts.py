"""Posts that aim at digests change nothing but their own summary."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from telegram_assistant.documents.writing import write_html
from telegram_assistant.domain.digests.plan import DigestLength
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.features.digests.composing import compose
from telegram_assistant.features.digests.document import digest_document
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from telegram_assistant.summaries.summary import summarise
from telegram_assistant.summaries.values import StoryPost
from testkit.factories import follow_long_ago, make_channel, make_page, make_post, make_tenant
from testkit.stories import store_story
from tests.conftest import Admin

HOSTILE = (Path(__file__).parent.parent / "hostile_answers.txt").read_text(encoding="utf-8").splitlines()
HONEST = (
    "Каменный мост в Солнцеборе закрыли на 16 дней из-за трещины. Автобусы идут в объезд.",
    "В Солнцеборе на 16 дней закрыли Каменный мост: нашли трещину. Автобусы идут в объезд.",
    "Каменный мост в Солнцеборе закрыт на 16 дней из-за трещины.",
)
MUSEUM = "В Красноярске открыли новый музей. В нём 30 залов и 4 лестницы."
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def make_story_post(number: int, text: str) -> StoryPost:
    post_id = PostId(ChannelId(number), MessageId(1))
    return StoryPost(
        post_id=post_id, channel=f"Channel {number}", text=text, posted_at=NOW + timedelta(minutes=number)
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_post_in_a_story_speaks_only_for_itself(text: str) -> None:
    posts = [make_story_post(number, words) for number, words in enumerate((*HONEST, text), start=1)]
    before, after = summarise(posts[:3], language="ru"), summarise(posts, language="ru")
    assert before is not None
    assert after is not None
    assert "16 дней" in " ".join(statement.text for statement in (after.headline, *after.in_own_words))
    disputed = [dispute.sentence for dispute in after.disputed]
    for sentence in (after.headline, *after.in_own_words, *disputed):
        own = posts[sentence.posts[0].channel_id - 1]
        assert sentence.text.removesuffix(".") in own.text
        assert own.post_id.channel_id != 4
    assert all(
        addition.sentence.posts[0].channel_id == 4 for addition in after.added if addition not in before.added
    )


async def test_hostile_stories_leave_the_other_stories_of_a_digest_as_they_are(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    tenant_id, now = await make_tenant(system), datetime.now(UTC)
    channels = [await make_channel(system, title=f"Канал {number}") for number in range(3)]
    for channel_id in channels:
        await follow_long_ago(system, admin, tenant_id, channel_id)

    async def tell(message: int, *texts: str) -> None:
        posts = [
            PostId(channel_id, MessageId(message)) for channel_id, _ in zip(channels, texts, strict=False)
        ]
        for post_id, text in zip(posts, texts, strict=False):
            post = make_post(
                channel_id=post_id.channel_id,
                message_id=message,
                text=text,
                posted_at=now - timedelta(minutes=5),
            )
            await system.landing.land(make_page(post), Claim(post_id.channel_id, 0))
        await store_story(
            admin, posts, [(post, posts[0], LinkKind.REWRITE, 9.0, False) for post in posts[1:]]
        )

    stores = tenant_stores(pool, tenant_id)
    await tell(1, *HONEST)
    await tell(2, MUSEUM, MUSEUM, MUSEUM)
    later = now + timedelta(minutes=1)
    before = await compose(
        now - timedelta(hours=1), stores=stores, now=later, length=DigestLength.LONG, language="ru"
    )
    for number, text in enumerate(HOSTILE[:20], start=3):
        await tell(number, text, text)
    after = await compose(
        now - timedelta(hours=1), stores=stores, now=later, length=DigestLength.LONG, language="ru"
    )
    honest = {story.story_id: story for story in before.stories}
    assert len(honest) == 2
    assert {story.story_id: story for story in after.stories if story.story_id in honest} == honest
    for story in after.stories:
        for sentence in story.sentences:
            assert all(post in story.posts for post in sentence.posts)
    page = write_html(
        digest_document(after, language="ru", zone=UTC, story_link=str, post_link=str), language="ru"
    )
    assert "<script" not in page
    assert "evil" not in "".join(part.partition('"')[0] for part in page.split('href="')[1:])
