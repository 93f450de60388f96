"""Vectors and words are made anew while searches go on; what is stored meanwhile is in the new ones too."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.events import PostParsed
from telegram_assistant.features.operations.text_upkeep import rebuild_text
from telegram_assistant.features.operations.vector_upkeep import rebuild_vectors
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection, Rebuild
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.search.search import (
    FAR_FUTURE,
    SearchFilters,
    SearchPosition,
    SearchTerm,
)
from telegram_assistant.vectors.protocol import Space
from testkit.factories import make_page, make_post
from testkit.models import MINILM
from tests.conftest import Admin, scratch_database
from tests.stores.postgres.catalogue import complaints
from tests.vectors.indexed import SPACE, index_of, land, make_followed_channel, open_with_vectors, search_ids

type Known = tuple[ChannelId, TenantId, list[PostId]]

TEXTS = [f"The cat number {number} sleeps on the roof" for number in range(30)]


@pytest.fixture(scope="module")
async def own(environ: dict[str, str], worker: str, template: str) -> AsyncIterator[dict[str, str]]:
    """A rebuild reads all posts that there are, so these are in a database of their own."""
    async with scratch_database(environ, f"tga_rebuild_{worker}", template=template) as database:
        yield database


@pytest.fixture
async def admin(own: dict[str, str]) -> AsyncIterator[Admin]:
    connection = await asyncpg.connect(own["DATABASE_ADMIN_URL"])
    await connection.execute("TRUNCATE posts, rebuilds")
    yield connection
    await connection.close()


@pytest.fixture
async def app(own: dict[str, str], admin: Admin, minilm: Path, tmp_path: Path) -> AsyncIterator[App]:
    assert admin is not None  # the tables are empty now
    async with open_with_vectors(own, models=minilm, folder=tmp_path) as built:
        yield built


@pytest.fixture
async def posts(app: App) -> Known:
    channel_id, tenant_id = await make_followed_channel(app.system)
    posts = await land(app.system, channel_id, *TEXTS)
    await index_of(app).write(posts)
    return channel_id, tenant_id, posts


async def rebuild(
    app: App, *, owner: str = "here#0001", stopping: asyncio.Event | None = None, batch: int = 7
) -> bool:
    return await rebuild_vectors(
        index=index_of(app),
        states=app.system.post_states,
        rebuilds=app.system.rebuilds,
        model=MINILM,
        owner=owner,
        stopping=stopping or asyncio.Event(),
        batch_size=batch,
    )


async def load_rebuild(app: App) -> Rebuild:
    known = await app.system.rebuilds.look(Projection.VECTORS)
    assert known is not None
    return known


async def test_afterwards_the_same_posts_are_found_in_the_same_order(app: App, posts: Known) -> None:
    channel_id, tenant_id, _ = posts
    before = await search_ids(app, "a kitten", channel_id, tenant_id)
    assert len(before) == len(TEXTS)
    assert not await rebuild(app)  # nobody has asked for it
    await app.system.rebuilds.want(Projection.VECTORS)
    assert await rebuild(app)
    assert await search_ids(app, "a kitten", channel_id, tenant_id) == before
    assert await index_of(app).vectors.collections() == {SPACE.collection(2): SPACE.name}
    assert (await load_rebuild(app)).done == len(TEXTS)
    assert not await rebuild(app)


async def test_searches_never_fail_and_what_is_stored_meanwhile_is_not_lost(app: App, posts: Known) -> None:
    channel_id, tenant_id, known = posts
    await app.system.rebuilds.want(Projection.VECTORS)
    rebuilding = asyncio.create_task(rebuild(app, batch=2))
    searched = 0
    for number in range(100, 106):
        new = make_post(channel_id=channel_id, message_id=number, text=f"The dog number {number} barks")
        edited = make_post(
            channel_id=channel_id,
            message_id=number - 99,
            text=f"Rates rise in round {number}",
            edited_at=datetime.now(UTC),
        )
        await app.system.landing.land(
            make_page(new, edited, read_at=datetime.now(UTC) + timedelta(seconds=number)),
            Claim(channel_id, 0),
        )
        await index_of(app).write([new.id, edited.id])
        assert len(await search_ids(app, "a kitten", channel_id, tenant_id)) >= len(TEXTS)
        searched += not rebuilding.done()
    assert await rebuilding
    assert searched > 0
    assert sorted(await search_ids(app, "dog", channel_id, tenant_id)) == sorted(
        [*(post.message_id for post in known), *range(100, 106)]
    )
    assert set((await search_ids(app, "interest rates rise", channel_id, tenant_id))[:6]) == {
        1,
        2,
        3,
        4,
        5,
        6,
    }


async def test_what_is_deleted_meanwhile_is_not_in_the_new_collection(
    app: App, posts: Known, admin: Admin
) -> None:
    channel_id, tenant_id, known = posts
    await app.system.rebuilds.want(Projection.VECTORS)
    rebuilding = asyncio.create_task(rebuild(app, batch=2))
    while not (await load_rebuild(app)).done:
        await asyncio.sleep(0.01)
    await admin.execute(
        "UPDATE posts SET deleted_at = now(), state_version = state_version + 1 WHERE message_id > 2"
    )
    await index_of(app).write(known)
    await rebuilding
    assert sorted(await search_ids(app, "a kitten", channel_id, tenant_id)) == [1, 2]


async def test_another_process_goes_on_where_one_was_stopped(app: App, posts: Known) -> None:
    channel_id, tenant_id, _ = posts
    await app.system.rebuilds.want(Projection.VECTORS)
    stopping = asyncio.Event()
    first = asyncio.create_task(rebuild(app, owner="here#0001", stopping=stopping, batch=5))
    while not (await load_rebuild(app)).done:
        await asyncio.sleep(0.01)
    assert not await rebuild(app, owner="there#0002")  # it is being done
    stopping.set()
    assert not await first
    done_before = (await load_rebuild(app)).done
    assert 0 < done_before < len(TEXTS)
    await app.system.rebuilds.want(Projection.VECTORS)  # asked for again, it is still the same one
    assert await rebuild(app, owner="there#0002")
    assert (await load_rebuild(app)).done == len(TEXTS)
    assert len(await search_ids(app, "a kitten", channel_id, tenant_id)) == len(TEXTS)


@pytest.mark.usefixtures("posts")
async def test_vectors_of_another_model_go_when_all_are_made_by_this_one(app: App) -> None:
    older = Space("tests/older", 8)
    await index_of(app).vectors.create(older, older.collection(4))
    await index_of(app).vectors.switch(older, older.collection(4))
    await app.system.rebuilds.want(Projection.VECTORS)
    assert await rebuild(app)
    assert list(await index_of(app).vectors.collections()) == [SPACE.collection(2)]


async def test_where_there_are_no_vectors_yet_they_are_made(app: App) -> None:
    channel_id, tenant_id = await make_followed_channel(app.system)
    await land(app.system, channel_id, *TEXTS)
    await app.system.rebuilds.want(Projection.VECTORS)
    assert await rebuild(app)
    assert len(await search_ids(app, "a kitten", channel_id, tenant_id)) == len(TEXTS)
    assert await index_of(app).vectors.collections() == {SPACE.collection(1): SPACE.name}


# --- words -----------------------------------------------------------------------------------


async def rebuild_words(
    app: App, *, owner: str = "here#0001", stopping: asyncio.Event | None = None, batch: int = 7
) -> bool:
    return await rebuild_text(
        word_index=app.system.word_index,
        posts=app.system.posts,
        states=app.system.post_states,
        rebuilds=app.system.rebuilds,
        owner=owner,
        stopping=stopping or asyncio.Event(),
        batch_size=batch,
    )


async def with_words(app: App, posts: list[PostId]) -> None:
    system = app.system
    events = [PostParsed.about(post_id, 1, occurred_at=datetime.now(UTC)) for post_id in posts]
    await post_persistence(
        events,
        posts=system.posts,
        media=system.media,
        media_rules=app.media_rules,
        albums=system.albums,
        versions=system.versions,
    )


async def search_words(app: App, words: str, tenant_id: TenantId) -> list[int]:
    matches = await app.tenant(tenant_id).words.find(
        [SearchTerm(words)], SearchFilters(), before=SearchPosition(FAR_FUTURE), budget=timedelta(seconds=10)
    )
    return [match.post_id.message_id for match in matches.complete]


@pytest.fixture
async def known_with_words(app: App, admin: Admin) -> Known:
    await admin.execute("TRUNCATE post_search")
    channel_id, tenant_id = await make_followed_channel(app.system)
    posts = await land(app.system, channel_id, *TEXTS)
    await with_words(app, posts)
    return channel_id, tenant_id, posts


async def slices(admin: Admin) -> set[str]:
    rows = await admin.fetch(
        "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'post_search'::regclass"
    )
    return {row["name"] for row in rows}


async def test_afterwards_words_find_the_same_posts_and_lie_in_slices(
    app: App, known_with_words: Known, admin: Admin
) -> None:
    _, tenant_id, _ = known_with_words
    before = await search_words(app, "cats", tenant_id)
    everything = await admin.fetch("SELECT * FROM post_search ORDER BY channel_id, message_id")
    assert len(before) == len(TEXTS)
    for _ in range(2):
        await app.system.rebuilds.want(Projection.TEXT)
        assert await rebuild_words(app)
        assert await search_words(app, "cats", tenant_id) == before
        assert await admin.fetch("SELECT * FROM post_search ORDER BY channel_id, message_id") == everything
        assert {"post_search_rest", "post_search_2026_11"} <= await slices(admin)
        assert not await admin.fetchval(
            "SELECT count(*) FROM pg_class WHERE relname LIKE 'post_search_next%'"
        )
    assert not await complaints(admin)


async def test_words_are_found_at_every_moment_and_what_lands_meanwhile_is_found_too(
    app: App, known_with_words: Known, admin: Admin
) -> None:
    channel_id, tenant_id, known = known_with_words
    others, _ = await make_followed_channel(app.system)
    await with_words(app, await land(app.system, others, *["A quiet day"] * 60))  # it shall take a while
    await app.system.rebuilds.want(Projection.TEXT)
    rebuilding, searched, number = asyncio.create_task(rebuild_words(app, batch=1)), 0, 100
    while not rebuilding.done():
        new = make_post(channel_id=channel_id, message_id=number, text=f"The dog number {number} barks")
        edited = make_post(
            channel_id=channel_id,
            message_id=1 + number % 20,
            text=f"Rates rise in round {number}",
            edited_at=datetime.now(UTC),
        )
        await app.system.landing.land(
            make_page(new, edited, read_at=datetime.now(UTC) + timedelta(seconds=number)),
            Claim(channel_id, 0),
        )
        await with_words(app, [new.id, edited.id])
        if number == 103:
            await admin.execute(
                "UPDATE posts SET deleted_at = now(), state_version = state_version + 1 "
                "WHERE channel_id = $1 AND message_id > 25 AND message_id < 100",
                channel_id,
            )
            await with_words(app, known[25:])
        assert await search_words(app, "dog", tenant_id) == list(range(100, number + 1))
        searched, number = searched + 1, number + 1
    assert await rebuilding
    assert searched > 3
    assert await search_words(app, "dog", tenant_id) == list(range(100, number))
    assert set(await search_words(app, "rates", tenant_id)) == {
        1 + landed % 20 for landed in range(100, number)
    }
    stored = await admin.fetch(
        "SELECT channel_id, message_id FROM posts WHERE deleted_at IS NULL ORDER BY 1, 2"
    )
    assert await admin.fetch("SELECT channel_id, message_id FROM post_search ORDER BY 1, 2") == stored


async def test_whoever_stores_words_never_fails_while_a_new_index_is_laid_out(
    app: App, known_with_words: Known
) -> None:
    _, _, known = known_with_words
    laid_out = asyncio.Event()

    async def store() -> None:
        while not laid_out.is_set():
            await with_words(app, known[:3])

    writing = [asyncio.create_task(store()) for _ in range(3)]
    for _ in range(15):
        await app.system.word_index.begin(datetime.now(UTC))
    laid_out.set()
    await asyncio.gather(*writing)
    assert await app.system.word_index.is_begun()


async def test_the_new_index_takes_its_place_although_others_hold_tables_that_it_waits_for(
    app: App, admin: Admin
) -> None:
    await app.system.word_index.begin(datetime.now(UTC))
    await admin.execute(
        "SET deadlock_timeout = '20s'"
    )  # so that the switch notices the deadlock, not this connection
    async with asyncio.timeout(30), admin.transaction():
        await admin.execute("LOCK TABLE post_search_next_rest IN ACCESS SHARE MODE")
        switching = asyncio.create_task(app.system.word_index.switch())
        while not await admin.fetchval(
            "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'post_search_next_rest'::regclass "
            "AND NOT granted)"
        ):
            await asyncio.sleep(0.01)
        await admin.execute("LOCK TABLE post_search IN ACCESS SHARE MODE")
    await switching
    assert not await app.system.word_index.is_begun()


async def test_a_search_that_waits_for_the_index_holds_no_part_of_it(
    app: App, admin: Admin, known_with_words: Known
) -> None:
    _, tenant_id, _ = known_with_words
    terms = [SearchTerm("cat"), SearchTerm("roof"), SearchTerm("moon")]
    async with asyncio.timeout(30), admin.transaction():
        await admin.execute("LOCK TABLE ONLY post_search IN ACCESS EXCLUSIVE MODE")
        searching = asyncio.create_task(
            app.tenant(tenant_id).words.find(
                terms, SearchFilters(), before=SearchPosition(FAR_FUTURE), enough=5
            )
        )
        while not (
            waiting := await admin.fetchval(
                "SELECT pid FROM pg_locks WHERE relation = 'post_search'::regclass AND NOT granted"
            )
        ):
            await asyncio.sleep(0.01)
        held = await admin.fetch(
            "SELECT l.relation::regclass::text FROM pg_locks l JOIN pg_inherits i ON i.inhrelid = l.relation "
            "WHERE l.pid = $1 AND i.inhparent = 'post_search'::regclass",
            waiting,
        )
    await searching
    assert not held


async def test_words_go_on_where_another_process_was_stopped(app: App, known_with_words: Known) -> None:
    _, tenant_id, _ = known_with_words
    await app.system.rebuilds.want(Projection.TEXT)
    stopping = asyncio.Event()
    first = asyncio.create_task(rebuild_words(app, owner="here#0001", stopping=stopping, batch=5))
    while (known := await app.system.rebuilds.look(Projection.TEXT)) is None or not known.done:
        await asyncio.sleep(0.005)
    stopping.set()
    assert not await first
    assert await rebuild_words(app, owner="there#0002")
    assert len(await search_words(app, "cats", tenant_id)) == len(TEXTS)
