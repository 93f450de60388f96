"""indexing: posts are found by meaning as they are now, and every post goes on."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.post import Json, TextEntity
from telegram_assistant.domain.search.query import Has
from telegram_assistant.domain.understanding.policy import AiPolicy, Tier
from telegram_assistant.events import AlbumAssembled, PostEnriched, PostIndexed
from telegram_assistant.stages.indexing import indexing
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from telegram_assistant.vectors.index import VectorIndex
from testkit.factories import make_deleted, make_page, make_post
from tests.conftest import Admin
from tests.vectors.indexed import SPACE, index_of, land, make_followed_channel, open_with_vectors, search_ids

NOW = datetime(2026, 11, 2, tzinfo=UTC)
CATS, RATES = "The cat sleeps on the warm roof", "The central bank has raised its interest rate again"


@pytest.fixture
async def app(database: dict[str, str], minilm: Path, tmp_path: Path) -> AsyncIterator[App]:
    async with open_with_vectors(database, models=minilm, folder=tmp_path) as built:
        yield built


def enriched_event(post: PostId, revision: int = 1) -> PostEnriched:
    return PostEnriched.about(post, revision, occurred_at=NOW)


async def index_events(
    events: Sequence[PostEnriched | AlbumAssembled], system: SystemStores, index: VectorIndex | None
) -> list[PostIndexed]:
    indexed = await indexing(list(events), post_states=system.post_states, index=index)
    assert isinstance(indexed, list)
    return indexed


async def index(app: App, *posts: PostId) -> list[PostIndexed]:
    return await index_events([enriched_event(post) for post in posts], app.system, app.index)


async def test_posts_are_found_by_meaning_and_told(app: App) -> None:
    channel_id, tenant_id = await make_followed_channel(app.system)
    posts = await land(app.system, channel_id, CATS, RATES)
    events = await index(app, *posts)
    assert [(event.post, event.revision, event.state_version) for event in events] == [
        (post, 1, 1) for post in posts
    ]
    assert await search_ids(app, "a sleeping kitten", channel_id, tenant_id) == [1, 2]
    assert await search_ids(app, "monetary policy", channel_id, tenant_id) == [2, 1]
    [collection] = await index_of(app).vectors.collections()
    assert collection == SPACE.collection(1)


async def test_an_edit_moves_the_post_and_a_deletion_removes_it(app: App, system: SystemStores) -> None:
    channel_id, tenant_id = await make_followed_channel(system)
    [post, other] = await land(system, channel_id, CATS, "Snow")
    await index(app, post, other)
    edited = make_post(channel_id=channel_id, message_id=1, text=RATES, edited_at=NOW)
    await system.landing.land(make_page(edited, read_at=NOW), Claim(channel_id, 0))
    [event] = await index(app, post)
    assert event.state_version == 2
    assert await search_ids(app, "monetary policy", channel_id, tenant_id) == [1, 2]
    await make_deleted(system, channel_id, at=datetime.now(UTC) + timedelta(hours=1))
    await index(app, post, other)
    assert await search_ids(app, "monetary policy", channel_id, tenant_id) == []


async def test_what_was_understood_can_be_asked_for(app: App, system: SystemStores) -> None:
    channel_id, tenant_id = await make_followed_channel(system)
    linked = make_post(
        channel_id=channel_id,
        message_id=2,
        text=RATES,
        entities=(TextEntity("text_url", 0, 3, "https://bank.example/rate"),),
    )
    await system.landing.land(make_page(linked), Claim(channel_id, 0))
    [cats] = await land(system, channel_id, CATS)
    rates = linked.id
    data: Mapping[str, Json] = {"tags": ["economy"], "topic": "money", "kind": "news", "is_ad": False}
    await system.enrichments.save(
        [
            Enrichment(rates, 1, Kind.TAGS, Tier.LOCAL, data),
            Enrichment(cats, 1, Kind.TAGS, Tier.LOCAL, {"is_ad": True}),
        ]
    )
    await index(app, cats, rates)
    assert await search_ids(app, "cat", channel_id, tenant_id, tags=("economy",)) == [2]
    assert await search_ids(
        app, "cat", channel_id, tenant_id, topics=("money",), kinds=("news",), has=(Has.LINK,)
    ) == [2]
    assert await search_ids(app, "rate", channel_id, tenant_id, without_ads=True) == [2]
    assert await search_ids(app, "cat", channel_id, tenant_id, has=(Has.IMAGE,)) == []
    edited = make_post(channel_id=channel_id, message_id=2, text=CATS, edited_at=NOW)
    await system.landing.land(make_page(edited, read_at=NOW), Claim(channel_id, 0))
    await index(app, rates)
    assert (
        await search_ids(app, "cat", channel_id, tenant_id, tags=("economy",)) == []
    )  # that was about an earlier text


async def test_a_post_is_found_by_what_its_picture_and_its_page_say(app: App, system: SystemStores) -> None:
    channel_id, tenant_id = await make_followed_channel(system)
    [picture, page, plain] = await land(system, channel_id, "", "Look", "Look")
    await system.enrichments.save(
        [Enrichment(picture, 1, Kind.VISION, Tier.LOCAL, {"description": "", "text": CATS, "files": []})]
    )
    await system.pages.note([(page, 1, {"pages": [{"title": RATES, "excerpt": "x"}, {"url": "no title"}]})])
    await index(app, picture, page, plain)
    assert (await search_ids(app, "a sleeping kitten", channel_id, tenant_id))[0] == 1
    assert (await search_ids(app, "monetary policy", channel_id, tenant_id))[0] == 2


async def test_what_a_provider_saw_does_not_reach_those_who_may_not_see_it(
    app: App, system: SystemStores
) -> None:
    channel_id, tenant_id = await make_followed_channel(system)
    [post] = await land(system, channel_id, "Look")
    before = (await index(app, post), await search_ids(app, "a sleeping kitten", channel_id, tenant_id))
    await system.enrichments.save(
        [Enrichment(post, 1, Kind.VISION, Tier.PROVIDER, {"description": CATS, "text": ""})]
    )
    assert (
        await index(app, post),
        await search_ids(app, "a sleeping kitten", channel_id, tenant_id),
    ) == before


async def test_an_album_is_found_by_what_all_of_its_pictures_say(
    app: App, system: SystemStores, admin: Admin
) -> None:
    channel_id, tenant_id = await make_followed_channel(system)
    [first, other] = await land(system, channel_id, "Today", "Today")
    await index(app, first, other)
    await admin.execute(
        """INSERT INTO post_enrichment (channel_id, message_id, kind, tier, content_hash, revision, data)
        VALUES ($1, 1, 'album', 'local', '', 7, '{"text": "The cat sleeps on the warm roof"}')""",
        channel_id,
    )
    event = AlbumAssembled.about(first, 7, occurred_at=NOW, grouped_id=5, message_ids=(1, 2))
    [indexed] = await index_events([event], system, app.index)
    assert indexed.post == first
    assert (await search_ids(app, "a sleeping kitten", channel_id, tenant_id))[0] == 1


@pytest.mark.parametrize("text", ["", "Snow"])
async def test_a_post_that_may_not_be_understood_or_says_nothing_has_no_point(
    app: App, system: SystemStores, text: str
) -> None:
    channel_id, tenant_id = await make_followed_channel(
        system, ai_policy=AiPolicy.OFF if text else AiPolicy.LOCAL
    )
    posts = await land(system, channel_id, text)
    assert len(await index(app, *posts)) == 1
    assert await search_ids(app, "snow", channel_id, tenant_id) == []


async def test_a_channel_that_is_turned_off_loses_its_points_when_they_are_indexed_next(
    app: App, system: SystemStores, admin: Admin
) -> None:
    channel_id, tenant_id = await make_followed_channel(system)
    posts = await land(system, channel_id, CATS)
    await index(app, *posts)
    await admin.execute("UPDATE channels SET ai_blocked = true WHERE channel_id = $1", channel_id)
    await index(app, *posts)
    assert await search_ids(app, "cat", channel_id, tenant_id) == []


async def test_without_vectors_or_without_a_model_posts_pass(
    system: SystemStores, database: dict[str, str], tmp_path: Path
) -> None:
    channel_id, _ = await make_followed_channel(system)
    posts = await land(system, channel_id, CATS)
    gone = PostId(ChannelId(987654321), MessageId(1))
    events = await index_events([enriched_event(posts[0]), enriched_event(gone)], system, None)
    assert [event.post for event in events] == [posts[0], gone]
    async with open_with_vectors(database, models=tmp_path / "none", folder=tmp_path / "vectors") as app:
        assert [event.post for event in await index(app, *posts)] == posts
        assert await index_of(app).vectors.collections() == {}


async def test_who_writes_last_leaves_the_newest_state(app: App, system: SystemStores) -> None:
    """Two that index the same posts, while they are edited and understood:
    whoever ends last has seen everything.
    """
    channel_id, tenant_id = await make_followed_channel(system)
    posts = await land(system, channel_id, *["Snow"] * 8)

    async def change() -> None:
        for number in range(12):
            texts = [
                make_post(
                    channel_id=channel_id, message_id=post.message_id, text=f"{CATS} {number}", edited_at=NOW
                )
                for post in posts
            ]
            await system.landing.land(
                make_page(*texts, read_at=NOW.replace(minute=number)), Claim(channel_id, 0)
            )
            rows = [
                Enrichment(post, number + 2, Kind.TAGS, Tier.LOCAL, {"tags": [f"round {number}"]})
                for post in posts
            ]
            await system.enrichments.save(rows)

    changing = asyncio.create_task(change())
    while not changing.done():
        await asyncio.gather(index(app, *posts), index(app, *posts[::-1]))
    await changing
    await index(app, posts[0])
    await asyncio.gather(*(index(app, post) for post in posts))
    assert sorted(await search_ids(app, "cat", channel_id, tenant_id, tags=("round 11",))) == [
        post.message_id for post in posts
    ]
