"""The quiet changes of a week with the most readers."""

import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from html import unescape
from typing import Any

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.differences import difference
from telegram_assistant.features.posts.caught import caught_changes
from telegram_assistant.features.sharing.caught import caught_content
from telegram_assistant.features.sharing.formats import ShareFormat, write_content
from telegram_assistant.language.meaning_changes import meaning_changes
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, tenant_stores
from telegram_assistant.web.pages.posts.caught_picture import draw_caught
from testkit.factories import follow_long_ago, make_channel, make_page, make_post, make_tenant
from tests.conftest import Admin
from tests.web.stories.test_stories import ADVERTISING

MONDAY = datetime(2026, 11, 9, tzinfo=UTC)
SUNDAY = (MONDAY + timedelta(days=6)).date()


async def follow_channel(system: SystemStores, admin: Admin, pool: Pool) -> tuple[TenantStores, ChannelId]:
    tenant_id, channel_id = await make_tenant(system), await make_channel(system, title="City <news>")
    await follow_long_ago(system, admin, tenant_id, channel_id)
    return tenant_stores(pool, tenant_id), channel_id


async def publish(
    system: SystemStores,
    channel_id: ChannelId,
    message_id: int,
    *texts: str,
    views: int,
    hours: float = 24,
) -> PostId:
    """A post and its edits, each compared with the one before; changed so many hours after Monday began."""
    post_id = PostId(channel_id, MessageId(message_id))
    facts: dict[str, Any] = {"counts": {"views": views}}
    for place, text in enumerate(texts):
        at = MONDAY + timedelta(hours=hours + place - 1)
        post = make_post(
            channel_id=channel_id,
            message_id=message_id,
            text=text,
            posted_at=MONDAY - timedelta(days=1),
            edited_at=at,
            facts=facts,
        )
        await system.landing.land(make_page(post, read_at=at), Claim(channel_id, 0))
    await system.versions.keep(
        [
            (change, difference(change.before, change.after), meaning_changes(change.before, change.after))
            for change in await system.versions.list_uncompared([post_id])
        ]
    )
    return post_id


async def delete(admin: Admin, post_id: PostId, *, hours: float) -> None:
    await admin.execute(
        "UPDATE posts SET deleted_at = $3 WHERE channel_id = $1 AND message_id = $2",
        *post_id,
        MONDAY + timedelta(hours=hours),
    )


async def test_the_most_viewed_changes_of_the_meaning_and_deletions_of_the_week_are_caught(
    system: SystemStores, admin: Admin, pool: Pool
) -> None:
    stores, channel_id = await follow_channel(system, admin, pool)
    await publish(system, channel_id, 1, "Пострадали 12", "Пострадали 17", views=500)
    await publish(system, channel_id, 2, "Завод закроют", "Завод не закроют", views=900, hours=-1)
    await publish(system, channel_id, 3, "Снег щёл всю ночь", "Снег шёл всю ночь", views=9000)
    await publish(system, channel_id, 4, "Смотрите t.me/one/1", "Смотрите t.me/two/2", views=8000)
    await publish(system, channel_id, 5, "Скидка 10 %", "Скидка 20 %", views=7000)
    await admin.execute(ADVERTISING, channel_id, 5)
    await delete(admin, await publish(system, channel_id, 6, "Мэр ушёл в отставку", views=800), hours=50)
    await delete(admin, await publish(system, channel_id, 7, "", views=6000), hours=50)
    await delete(admin, await publish(system, channel_id, 8, "Позже недели", views=5000), hours=7 * 24)
    caught = await caught_changes(SUNDAY, stores=stores)
    assert [change.change.message_id for change in caught.changes] == [6, 1]
    assert (caught.since, caught.last_day) == (MONDAY, SUNDAY)


async def test_at_most_five_are_caught_and_a_post_once_with_its_newest_change(
    system: SystemStores, admin: Admin, pool: Pool
) -> None:
    stores, channel_id = await follow_channel(system, admin, pool)
    for number in range(1, 8):
        texts = (f"Пострадали {number}2", f"Пострадали {number}3", f"Пострадали {number}4")
        await publish(system, channel_id, number, *texts, views=100 * number)
    caught = await caught_changes(SUNDAY, stores=stores)
    assert [change.change.message_id for change in caught.changes] == [7, 6, 5, 4, 3]
    assert caught.changes[0].change.after == "Пострадали 74"


async def test_a_copy_cites_the_text_before_and_the_text_after_with_their_hashes(
    system: SystemStores, admin: Admin, pool: Pool
) -> None:
    stores, channel_id = await follow_channel(system, admin, pool)
    await publish(system, channel_id, 1, "Пострадали 12", "Пострадали 17", views=500)
    await delete(admin, await publish(system, channel_id, 2, "Мэр ушёл", views=800), hours=50)
    content = caught_content(await caught_changes(SUNDAY, stores=stores))
    markdown = write_content(content, ShareFormat.MARKDOWN, language="en")
    assert markdown.startswith("# Caught changing: 9 November to 15 November\n\n## City \\<news\\>: deleted")
    assert "- Deleted text: Мэр ушёл [\\[1\\]]" in markdown
    assert "- Before: Пострадали 12 [\\[2\\]]" in markdown
    assert "- After: Пострадали 17 [\\[3\\]]" in markdown
    for text in ("Пострадали 12", "Пострадали 17", "Мэр ушёл"):
        assert sha256(text.encode()).hexdigest() in markdown
    russian = write_content(content, ShareFormat.TEXT, language="ru")
    assert russian.startswith("Пойманы на правке: 9 ноября – 15 ноября")


async def test_the_picture_shows_hostile_texts_as_text(
    system: SystemStores, admin: Admin, pool: Pool
) -> None:
    stores, channel_id = await follow_channel(system, admin, pool)
    texts = ("Пострадали 12 <script>\x01", "Пострадали 17 <script>" + " слово" * 200)
    await publish(system, channel_id, 1, *texts, views=500)
    content = caught_content(await caught_changes(SUNDAY, stores=stores))
    picture = draw_caught(content, language="ru")
    assert "<script" not in picture
    assert "\x01" not in picture
    words = re.findall(r"<text [^>]+>([^<]*)</text>", picture)
    assert words[:2] == ["Пойманы на правке", "9 ноября – 15 ноября"]
    assert any(row.startswith("Пострадали 12 &lt;script&gt;") for row in words)
    assert max(len(unescape(row)) for row in words) <= 60
