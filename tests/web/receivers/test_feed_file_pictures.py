"""Pictures of feeds open without a login, each at an address of its own,
as long as the feed covers their posts.
"""

from uuid import uuid4

import httpx
import pytest
from pydantic import SecretStr

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import MessageId, PostId, TenantId
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedKind
from testkit.web_clients import open_browser
from tests.conftest import Admin
from tests.web.feed_reading import BASE, load_address, load_pictures
from tests.web.reading_world import ReadingWorld

ALERT = """
INSERT INTO alerts (tenant_id, watch_id, kind, subject, channel_id, message, severity, happened_at)
    VALUES ($1, $2, $3, $4, $5, $6, 'normal', now())
"""
POSTED, DELETED = "Новый пост в канале «Harbour Lines»", "Удалён пост в канале «Городские новости»"


async def test_a_picture_opens_without_a_login_as_a_picture_made_anew(
    feed_reader: httpx.AsyncClient, folder_feed: str
) -> None:
    addresses = await load_pictures(feed_reader, folder_feed)
    assert len(set(addresses)) == 4
    answer = await feed_reader.get(addresses[0])
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/jpeg"
    assert answer.content.startswith(b"\xff\xd8\xff")
    assert answer.headers["cache-control"].startswith("private")
    assert (
        await feed_reader.get(addresses[0], headers={"If-None-Match": answer.headers["etag"]})
    ).status_code == 304
    head = await feed_reader.head(addresses[0])
    assert (head.status_code, head.content, head.headers["content-length"]) == (
        200,
        b"",
        str(len(answer.content)),
    )


CHANGES = {
    "the address is revoked": "DELETE FROM feed_addresses WHERE tenant_id = $1 AND $2::bigint > 0",
    "the tenant is suspended": (
        "UPDATE tenants SET suspended_at = now(), suspended_reason = 'test' WHERE tenant_id = $1 "
        "AND $2::bigint > 0"
    ),
    "the channel is not followed": (
        "UPDATE subscriptions SET active = false WHERE tenant_id = $1 AND channel_id = $2"
    ),
    "the channel is in another folder": (
        "UPDATE subscriptions SET folder = 'Else' WHERE tenant_id = $1 AND channel_id = $2"
    ),
    "the posts are deleted": "UPDATE posts SET deleted_at = now() WHERE channel_id = $2 AND $1::bigint > 0",
    "their author has covered the pictures": """
        UPDATE posts SET facts = '{"media": {"spoiler": true}}' WHERE channel_id = $2 AND $1::bigint > 0
        """,
    "the files are lost": (
        "UPDATE post_media SET state = 'given_up', sha256 = NULL WHERE channel_id = $2 AND $1::bigint > 0"
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_picture_ends_at_once_with_what_let_it_be_seen(
    change: str,
    admin: Admin,
    reader_tenant: TenantId,
    reading_world: ReadingWorld,
    feed_reader: httpx.AsyncClient,
    folder_feed: str,
) -> None:
    addresses = await load_pictures(feed_reader, folder_feed)
    assert [(await feed_reader.get(address)).status_code for address in addresses] == [200] * 4
    await admin.execute(change, reader_tenant, reading_world.ferries)
    assert [(await feed_reader.get(address)).status_code for address in addresses] == [404] * 4


async def test_a_picture_is_shown_after_newer_posts_have_taken_its_place(
    admin: Admin, reading_world: ReadingWorld, feed_reader: httpx.AsyncClient, folder_feed: str
) -> None:
    """Readers keep entries for weeks, and a busy folder lists only its last hours."""
    addresses = await load_pictures(feed_reader, folder_feed)
    await admin.execute(
        """
        WITH made AS (
            INSERT INTO posts (channel_id, message_id, posted_at, stored_at, content_hash, kind, text)
            SELECT $1, n, now(), now(), '', 'text', 'newer' FROM generate_series(100, 160) n
                RETURNING channel_id, message_id, posted_at)
        INSERT INTO post_search SELECT channel_id, message_id, posted_at, to_tsvector('russian', 'newer')
        FROM made
        """,
        reading_world.ferries,
    )
    assert await load_pictures(feed_reader, folder_feed) == []
    assert [(await feed_reader.get(address)).status_code for address in addresses] == [200] * 4


async def test_an_address_opens_its_picture_and_no_other(
    app_with_files: App,
    reader_tenant: TenantId,
    feed_reader: httpx.AsyncClient,
    reading_world: ReadingWorld,
    folder_feed: str,
) -> None:
    other = await load_address(app_with_files, reader_tenant, FeedKind.FOLDER, "Transport")
    address, another = (await load_pictures(feed_reader, folder_feed))[:2]
    _, _, _, feed, channel, message, ordinal, signature = address.split("/")
    other_feed = (await load_pictures(feed_reader, other))[0].split("/")[3]
    forged = [
        f"/feeds/pictures/{feed}/{channel}/{message}/{ordinal}/{another.rpartition('/')[2]}",
        f"/feeds/pictures/{feed}/{channel}/{message}/{int(ordinal) + 1}/{signature}",
        f"/feeds/pictures/{feed}/{channel}/{int(message) + 1}/{ordinal}/{signature}",
        f"/feeds/pictures/{feed}/{reading_world.city}/2/0/{signature}",
        f"/feeds/pictures/{other_feed}/{channel}/{message}/{ordinal}/{signature}",
        f"/feeds/pictures/{uuid4()}/{channel}/{message}/{ordinal}/{signature}",
        f"/feeds/pictures/{feed}/{channel}/{message}/{ordinal}/{signature[:-1]}",
        f"/feeds/pictures/{feed}/{channel}/{message}/{ordinal}/{signature}=",
        f"/feeds/pictures/{feed}/{channel}/{message}/{ordinal}/%D1%8F",
        f"/feeds/pictures/{feed}/{channel}/0{message}/{ordinal}/{signature}",
        f"/feeds/pictures/{feed}/{channel}/{2**80}/{ordinal}/{signature}",
        f"/feeds/pictures/no-id/{channel}/{message}/{ordinal}/{signature}",
        f"{folder_feed}/media/{channel}/{message}/{ordinal}",
    ]
    assert [(await feed_reader.get(path)).status_code for path in forged] == [404] * len(forged)
    assert (await feed_reader.get(address)).status_code == 200


@pytest.mark.turns("SECRET_KEY")
async def test_a_copy_of_the_database_does_not_open_pictures_where_there_is_a_secret_key(
    app_with_files: App, feed_reader: httpx.AsyncClient, folder_feed: str
) -> None:
    (address, *_) = await load_pictures(feed_reader, folder_feed)
    settings = app_with_files.settings
    changed = settings.model_copy(
        update={"web": settings.web.model_copy(update={"secret_key": SecretStr("k" * 40)})}
    )
    async with assemble(changed) as app, open_browser(app) as browser:
        assert (await browser.client.get(address)).status_code == 404
        (own, *_) = await load_pictures(browser.client, folder_feed)
        assert (await browser.client.get(own)).status_code == 200
    assert (await feed_reader.get(own)).status_code == 404


async def test_pictures_of_stories_and_of_one_story_open_too(
    app_with_files: App,
    admin: Admin,
    reader_tenant: TenantId,
    reading_world: ReadingWorld,
    feed_reader: httpx.AsyncClient,
) -> None:
    story = PostId(reading_world.city, MessageId(2))
    for subject in ("all", str(story)):
        feed = await load_address(app_with_files, reader_tenant, FeedKind.STORY, subject)
        addresses = await load_pictures(feed_reader, feed)
        assert len(addresses) == (0 if subject == "all" else 4), "the first post of the story has no picture"
        assert {(await feed_reader.get(address)).status_code for address in addresses} <= {200}
    await admin.execute(
        "UPDATE subscriptions SET active = false WHERE tenant_id = $1 AND channel_id = $2",
        reader_tenant,
        reading_world.city,
    )
    assert {(await feed_reader.get(address)).status_code for address in addresses} == {404}, (
        "the story of the feed is not seen any more"
    )


async def test_alerts_bring_text_and_pictures_of_their_posts_in_the_language_of_the_feed(
    app_with_files: App,
    admin: Admin,
    reader_tenant: TenantId,
    reading_world: ReadingWorld,
    feed_reader: httpx.AsyncClient,
) -> None:
    watch_id = await admin.fetchval(
        "SELECT watch_id FROM watches WHERE tenant_id = $1 AND kind = 'words'", reader_tenant
    )
    await admin.execute("DELETE FROM alerts WHERE tenant_id = $1", reader_tenant)
    await admin.execute(ALERT, reader_tenant, watch_id, "posted", "a", reading_world.ferries, 4)
    await admin.execute(ALERT, reader_tenant, watch_id, "deleted", "b", reading_world.city, 3)
    feed = await load_address(app_with_files, reader_tenant, FeedKind.WATCH, str(watch_id), language="ru")
    items = {item["title"]: item for item in (await feed_reader.get(f"{feed}.json")).json()["items"]}
    assert set(items) == {POSTED, DELETED}
    posted, deleted = items[POSTED], items[DELETED]
    assert "Four pictures from the pier" in posted["content_html"]
    assert len(posted["attachments"]) == 4
    assert "Пост, который исчезнет" in deleted["content_html"]
    address = posted["image"].removeprefix(BASE)
    assert (await feed_reader.get(address)).status_code == 200
    await admin.execute("DELETE FROM alerts WHERE tenant_id = $1 AND subject = 'a'", reader_tenant)
    assert (await feed_reader.get(address)).status_code == 404


async def test_a_saved_search_takes_its_pictures_with_it(
    app_with_files: App,
    admin: Admin,
    reader_tenant: TenantId,
    reading_world: ReadingWorld,
    feed_reader: httpx.AsyncClient,
) -> None:
    assert reading_world.ferries
    search_id = await admin.fetchval(
        "INSERT INTO saved_searches (tenant_id, name, query, created_by) "
        "VALUES ($1, 'pier', 'pier', 'anna') RETURNING search_id",
        reader_tenant,
    )
    feed = await load_address(app_with_files, reader_tenant, FeedKind.SEARCH, str(search_id))
    addresses = await load_pictures(feed_reader, feed)
    assert [(await feed_reader.get(address)).status_code for address in addresses] == [200] * 4
    await admin.execute("DELETE FROM saved_searches WHERE search_id = $1", search_id)
    assert [(await feed_reader.get(address)).status_code for address in addresses] == [404] * 4
