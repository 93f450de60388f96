from datetime import timedelta

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.files import MediaKind
from telegram_assistant.domain.posts.differences import PieceChange
from telegram_assistant.domain.posts.post import Origin, TextEntity
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.errors import Missing
from telegram_assistant.features.posts.changes import quiet_changes
from telegram_assistant.features.posts.posts import load_versions, post_in_full
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from testkit.cpu_time import cpu_limit
from testkit.factories import World, make_page, make_post
from tests.conftest import Admin

ID = 1000


async def land(
    system: SystemStores, channel_id: ChannelId, text: str, *, message_id: int = ID, **more: object
) -> PostId:
    post = make_post(channel_id=channel_id, message_id=message_id, text=text, **more)
    await system.landing.land(make_page(post), Claim(channel_id, 0))
    return post.id


async def test_a_post_comes_with_everything_that_is_known_of_it(
    system: SystemStores, world: World, admin: Admin
) -> None:
    channel_id, copier = world.only_a[0], world.shared[0]
    link = "https://news.example/a"
    entities = (TextEntity("text_url", 0, 1, link),)
    facts = {"counts": {"views": 7, "reactions": {"+": 2}}}
    post_id = await land(system, channel_id, "Мосты разводят", entities=entities, grouped_id=5, facts=facts)
    (stored,) = await system.posts.load([post_id])
    await system.posts.save_derived([Derived(stored.post, 1, "ru", (link,))])
    await system.albums.gather([stored])
    await system.counts.keep([stored.post], seen_at=stored.stored_at + timedelta(minutes=1))
    await system.pages.note(
        [(post_id, 1, {"pages": [{"url": link, "status": "read", "title": "Мосты", "excerpt": "Ночью"}]})]
    )
    tags = Enrichment(post_id, 1, Kind.TAGS, Tier.LOCAL, {"tags": ["мосты", "город"]})
    await system.enrichments.save(
        [tags, Enrichment(post_id, 1, Kind.TAGS, Tier.PROVIDER, {"tags": ["секрет"]}, "gigachat")]
    )
    await admin.execute(
        "INSERT INTO post_media (channel_id, message_id, media_id, kind, size_bytes) "
        "VALUES ($1, $2, 1, 'photo', 9)",
        channel_id,
        ID,
    )
    copy = await land(
        system, copier, "Мосты разводят", message_id=ID + 1, forwarded_from=Origin(channel_id, MessageId(ID))
    )
    (stored_copy,) = await system.posts.load([copy])
    await system.posts.save_derived([Derived(stored_copy.post, 1, "ru", ())])

    full = await post_in_full(post_id, stores=world.stores_a)
    assert full.link == f"https://t.me/c/{channel_id}/{ID}"
    assert full.detail.title == f"Channel {channel_id}"
    assert [(count.views, dict(count.reactions)) for count in full.detail.counts] == [(7, {"+": 2})]
    assert [(file.kind, file.size_bytes) for file in full.detail.media] == [(MediaKind.PHOTO, 9)]
    assert full.detail.links == (link,)
    assert [(page.url, page.title, page.excerpt) for page in full.pages] == [(link, "Мосты", "Ночью")]
    assert full.tags is not None
    assert full.tags.data == {"tags": ["мосты", "город"]}  # who pays for no provider sees no provider's
    assert full.detail.album == (ID,)
    assert [(forward.post_id, forward.title) for forward in full.detail.forwarded_by] == [
        (copy, f"Channel {copier}")
    ]
    assert (await post_in_full(copy, stores=world.stores_a)).detail.forwarded_title == f"Channel {channel_id}"


async def test_what_another_tenant_follows_is_neither_shown_nor_named(
    system: SystemStores, world: World
) -> None:
    post_id = await land(system, world.shared[0], "Общее")
    copy = await land(
        system,
        world.only_b[0],
        "Общее",
        message_id=ID + 1,
        forwarded_from=Origin(post_id.channel_id, post_id.message_id),
    )
    (stored,) = await system.posts.load([copy])
    await system.posts.save_derived([Derived(stored.post, 1, "ru", ())])
    assert (await post_in_full(post_id, stores=world.stores_a)).detail.forwarded_by == ()
    assert [
        forward.post_id
        for forward in (await post_in_full(post_id, stores=world.stores_b)).detail.forwarded_by
    ] == [copy]
    for question in (post_in_full, load_versions):
        with pytest.raises(Missing):
            await question(copy, stores=world.stores_a)
    back = await land(system, world.shared[1], "Оттуда", forwarded_from=Origin(world.only_b[0], MessageId(1)))
    assert (await post_in_full(back, stores=world.stores_a)).detail.forwarded_title is None


async def test_versions_are_told_in_order_with_what_changed(system: SystemStores, world: World) -> None:
    channel_id = world.only_a[0]
    post_id = await land(system, channel_id, "Мосты откроют ночью")
    await land(system, channel_id, "Мосты откроют днём")
    await land(system, channel_id, "Мосты откроют завтра днём")
    versions = await load_versions(post_id, stores=world.stores_a)
    assert [version.version.text for version in versions] == [
        "Мосты откроют ночью",
        "Мосты откроют днём",
        "Мосты откроют завтра днём",
    ]
    assert [version.version.replaced_at is None for version in versions] == [False, False, True]
    assert versions[0].pieces == ()
    assert [
        (piece.change, piece.text) for piece in versions[1].pieces if piece.change is not PieceChange.SAME
    ] == [
        (PieceChange.REMOVED, "ночью"),
        (PieceChange.ADDED, "днём"),
    ]
    assert (await post_in_full(post_id, stores=world.stores_a)).detail.earlier_versions == 2


async def test_an_edit_between_hostile_texts_costs_a_reader_nothing(
    system: SystemStores, world: World
) -> None:
    """Word by word, comparing these took minutes; whoever edited a post could stop every reader."""
    channel_id = world.only_a[0]
    post_id = await land(system, channel_id, "а " * 2000)
    for number in range(10):
        await land(system, channel_id, f"{number} " + "б а " * 1000)
    with cpu_limit(1):
        versions = await load_versions(post_id, stores=world.stores_a)
        page = await quiet_changes(versions[0].version.seen_at - timedelta(days=1), stores=world.stores_a)
    assert len(versions) == len(page.changes) + 1 == 11
