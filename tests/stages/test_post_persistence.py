"""post_persistence: what follows from a landed post."""

from datetime import timedelta
from typing import Any

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.files import MediaRules
from telegram_assistant.domain.posts.differences import difference
from telegram_assistant.domain.posts.post import Origin, TextEntity
from telegram_assistant.events import PostParsed
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import make_channel, make_page, make_post
from tests.conftest import Admin
from tests.streams.conftest import parsed_event


def collaborators(system: SystemStores, **rules: Any) -> dict[str, Any]:
    chosen = {"has_place": True, "max_bytes": 1_000_000, "quota_bytes": 0, **rules}
    return {
        "posts": system.posts,
        "versions": system.versions,
        "media": system.media,
        "media_rules": MediaRules(**chosen),
        "albums": system.albums,
    }


async def persist(system: SystemStores, channel_id: ChannelId, **post: Any) -> PostParsed:
    landed = make_post(channel_id=channel_id, **post)
    await system.landing.land(make_page(landed), Claim(channel_id, 0))
    event = parsed_event(landed.message_id, channel_id=channel_id)
    await post_persistence([event], **collaborators(system))
    return event


async def test_language_links_forwards_and_words_are_stored(system: SystemStores, admin: Admin) -> None:
    channel_id = await make_channel(system)
    text = "Мост закрыт: example.org/most и подробности"
    await persist(
        system,
        channel_id,
        text=text,
        entities=(TextEntity("url", 13, 16), TextEntity("text_url", 32, 11, "https://News.Example/a#top")),
        forwarded_from=Origin(ChannelId(77), MessageId(5)),
    )
    urls = {
        row["url"]
        for row in await admin.fetch("SELECT url FROM post_links WHERE channel_id = $1", channel_id)
    }
    assert urls == {"http://example.org/most", "https://news.example/a"}
    assert await admin.fetchval("SELECT lang FROM posts WHERE channel_id = $1", channel_id) == "ru"
    assert tuple(
        await admin.fetchrow(
            "SELECT from_channel_id, from_message_id FROM forwards WHERE channel_id = $1", channel_id
        )
        or ()
    ) == (77, 5)
    assert await admin.fetchval(
        "SELECT words @@ to_tsquery('russian', 'мосты') FROM post_search WHERE channel_id = $1", channel_id
    )


async def test_the_same_event_twice_changes_nothing(system: SystemStores, admin: Admin) -> None:
    channel_id = await make_channel(system)
    event = await persist(
        system, channel_id, text="Снег https://a.example/", entities=(TextEntity("url", 5, 18),)
    )
    everything = (
        "SELECT p.xmin, s.xmin FROM posts p JOIN post_search s USING (channel_id, message_id) "
        "WHERE channel_id = $1"
    )
    before = await admin.fetch(everything, channel_id)
    await post_persistence([event, event], **collaborators(system))
    assert await admin.fetch(everything, channel_id) == before
    assert await admin.fetchval("SELECT count(*) FROM post_links WHERE channel_id = $1", channel_id) == 1


async def test_an_old_event_about_an_edited_post_stores_what_the_post_says_now(
    system: SystemStores, admin: Admin
) -> None:
    channel_id = await make_channel(system)
    event = await persist(system, channel_id, text="Снег")
    later = make_post(channel_id=channel_id, text="Дождь", edited_at=make_post().posted_at)
    await system.landing.land(make_page(later), Claim(channel_id, 0))
    await post_persistence([event], **collaborators(system))
    assert await admin.fetchval(
        "SELECT words @@ to_tsquery('russian', 'дождь') FROM post_search WHERE channel_id = $1", channel_id
    )


async def test_a_thought_about_an_older_revision_never_overwrites_a_newer_one(
    system: SystemStores, admin: Admin
) -> None:
    channel_id = await make_channel(system)
    event = await persist(system, channel_id, text="Снег")
    (old,) = await system.posts.load([event.post])
    await system.landing.land(
        make_page(make_post(channel_id=channel_id, text="Дождь", edited_at=make_post().posted_at)),
        Claim(channel_id, 0),
    )
    await post_persistence([event], **collaborators(system))
    await system.posts.save_derived([Derived(old.post, old.revision, "en", ("http://old.example/",))])
    assert await admin.fetchval(
        "SELECT words @@ to_tsquery('russian', 'дождь') FROM post_search WHERE channel_id = $1", channel_id
    )
    assert await admin.fetchval("SELECT lang FROM posts WHERE channel_id = $1", channel_id) == "ru"
    assert await admin.fetchval("SELECT count(*) FROM post_links WHERE channel_id = $1", channel_id) == 0


async def test_what_an_edit_changed_is_stored_beside_the_earlier_version(
    system: SystemStores, admin: Admin
) -> None:
    channel_id = await make_channel(system)
    event = await persist(system, channel_id, text="Мост открыт ночью, погибли 12 человек.")
    texts = ("Мост закрыт ночью, погибли 15 человек.", "Мост закрыт.")
    for minute, text in enumerate(texts, start=1):
        edited_at = make_post().posted_at + timedelta(minutes=minute)
        await system.landing.land(
            make_page(make_post(channel_id=channel_id, text=text, edited_at=edited_at)), Claim(channel_id, 0)
        )
    await post_persistence([event], **collaborators(system))
    stored = await admin.fetch(
        "SELECT text, difference FROM post_versions WHERE channel_id = $1 ORDER BY revision", channel_id
    )
    assert [tuple(row["difference"]) for row in stored] == [
        difference(row["text"], after) for row, after in zip(stored, texts, strict=True)
    ]
    assert await system.versions.list_uncompared([event.post]) == ()


@pytest.mark.parametrize("count", [0, 3])
async def test_posts_that_are_gone_are_passed_over(system: SystemStores, count: int) -> None:
    await post_persistence(
        [parsed_event(number, channel_id=987654321) for number in range(1, count + 1)],
        **collaborators(system),
    )
    assert await system.posts.load([PostId(ChannelId(987654321), MessageId(1))]) == ()
