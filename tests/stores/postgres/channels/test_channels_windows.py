"""A tenant sees a channel from the start of its own window and from the moment of following, whatever others
asked for.

The file is long because every table that a window cuts has its case.
"""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telegram_assistant.domain.channels.coverage import CoverageState, IdRange
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.media.similarity import Look
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.feed.tenant_feed import cursor_of
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.search.search import (
    FAR_FUTURE,
    SearchFilters,
    SearchPosition,
    SearchTerm,
)
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, tenant_stores
from telegram_assistant.stores.postgres.understanding.enrichments import Kind
from testkit.factories import make_channel, make_page, make_post, make_tenant
from testkit.stories import show_picture
from tests.conftest import Admin

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def midnight(days_ago: int) -> datetime:
    return datetime.combine(datetime.now(UTC).date() - timedelta(days=days_ago), time.min, UTC)


async def window(admin: Admin, tenant_id: TenantId, channel_id: ChannelId) -> str:
    query = "SELECT visible_from::text FROM subscriptions WHERE tenant_id = $1 AND channel_id = $2"
    return str(await admin.fetchval(query, tenant_id, channel_id))[:10]


def day(days_ago: int) -> str:
    return midnight(days_ago).date().isoformat()


async def two_followers(
    system: SystemStores, pool: Pool, *, wanted_by_a: int = 2
) -> tuple[TenantStores, ChannelId]:
    """B has followed the channel with all of its past; its seven posts are of the last seven days,
    the first is the oldest. Then A came.
    """
    channel_id, b, a = await make_channel(system), await make_tenant(system), await make_tenant(system)
    await system.channels.subscribe(b, Subscription(channel_id=channel_id, history_days=EVERYTHING_DAYS))
    await system.landing.land(
        make_page(
            *[make_post(channel_id=channel_id, message_id=n, posted_at=midnight(7 - n)) for n in range(1, 8)],
            floor_id=1,
            floor_at=LONG_AGO,
        ),
        Claim(channel_id, 0),
    )
    await system.channels.subscribe(a, Subscription(channel_id=channel_id, history_days=wanted_by_a))
    return tenant_stores(pool, a), channel_id


async def test_a_window_begins_on_the_utc_day_of_following_less_the_days_that_are_wanted(
    system: SystemStores, admin: Admin
) -> None:
    tenant_id, channel_id = await make_tenant(system), await make_channel(system)
    await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id, history_days=3))
    assert await window(admin, tenant_id, channel_id) == day(3)


async def test_a_window_only_moves_back(system: SystemStores, pool: Pool, admin: Admin) -> None:
    tenant_id, channel_id = await make_tenant(system), await make_channel(system)
    await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id, history_days=3))
    await tenant_stores(pool, tenant_id).followed.change(Subscription(channel_id=channel_id, history_days=1))
    assert await window(admin, tenant_id, channel_id) == day(3)
    await tenant_stores(pool, tenant_id).followed.change(Subscription(channel_id=channel_id, history_days=9))
    assert await window(admin, tenant_id, channel_id) == day(9)
    await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id, history_days=0))
    await admin.execute("UPDATE subscriptions SET visible_from = now() WHERE tenant_id = $1", tenant_id)
    assert await window(admin, tenant_id, channel_id) == day(9)


async def test_who_wants_more_than_there_has_ever_been_sees_everything(
    system: SystemStores, admin: Admin
) -> None:
    tenant_id, channel_id = await make_tenant(system), await make_channel(system)
    await system.channels.subscribe(
        tenant_id, Subscription(channel_id=channel_id, history_days=EVERYTHING_DAYS)
    )
    assert await window(admin, tenant_id, channel_id) == "-infinity"


async def test_who_follows_again_after_leaving_begins_anew(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    tenant_id, channel_id = await make_tenant(system), await make_channel(system)
    await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id, history_days=30))
    await tenant_stores(pool, tenant_id).followed.leave(channel_id)
    await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id, history_days=1))
    assert await window(admin, tenant_id, channel_id) == day(1)
    await admin.execute(
        "UPDATE subscriptions SET created_at = now() - interval '9 days', history_days = 30, active = false "
        "WHERE tenant_id = $1",
        tenant_id,
    )
    assert await window(admin, tenant_id, channel_id) == day(39)
    await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id, history_days=2))
    assert await window(admin, tenant_id, channel_id) == day(2)
    assert await admin.fetchval(
        "SELECT now() - created_at < interval '1 minute' FROM subscriptions WHERE tenant_id = $1", tenant_id
    )


async def test_a_past_that_others_asked_for_is_not_there(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    stores, channel_id = await two_followers(system, pool)
    posts = [PostId(channel_id, MessageId(n)) for n in range(1, 8)]
    await beside(admin, channel_id)
    assert {stored.post.message_id for stored in await stores.feed.newest()} == {5, 6, 7}
    assert [post.message_id for post in posts if await stores.feed.post(post)] == [5, 6, 7]
    assert [post.message_id for post in posts if await stores.post_details.load_detail(post)] == [5, 6, 7]
    assert [post.message_id for post in posts if await stores.post_details.versions(post)] == [5, 6, 7]
    assert {file.post_id.message_id for file in await stores.media.list_files(posts)} == {5, 6, 7}
    assert [post.message_id for post in posts if await stores.media.showable(post, 0)] == [5, 6, 7]
    assert {enrichment.message_id for enrichment in await stores.enrichments.load_best(posts, Kind.TAGS)} == {
        5,
        6,
        7,
    }
    assert [post.message_id for post in posts if await stores.enrichments.load_every_kind(post)] == [5, 6, 7]
    assert {post.message_id for post in (await stores.words.load(posts)).posts} == {5, 6, 7}
    for terms in ([SearchTerm("окно")], []):
        assert [
            match.post_id.message_id
            for match in (
                await stores.words.find(terms, SearchFilters(), before=SearchPosition(FAR_FUTURE))
            ).complete
        ] == [
            7,
            6,
            5,
        ]
    assert [place.message_id for place in await stores.tag_use.places(["тег"], since=LONG_AGO, limit=50)] == [
        7,
        6,
        5,
    ]
    assert [
        tag_count.posts for tag_count in await stores.tag_use.most_used(LONG_AGO, FAR_FUTURE, limit=50)
    ] == [3]
    assert {change.message_id for change in await stores.changes.since(LONG_AGO)} == {5, 6, 7}
    assert {appearance.post_id.message_id for appearance in await stores.forwards.appearances(posts)} == {
        5,
        6,
        7,
    }
    assert [
        forwarding.posts
        for forwarding in await stores.forwards.forwardings(
            since=LONG_AGO.date(), of_channel_id=None, limit=50
        )
    ] == [3]
    forwards = await stores.forwards.list_forwards(
        PostId(ChannelId(9), MessageId(1)), since=LONG_AGO.date(), limit=50
    )
    assert {forward.post_id.message_id for forward in forwards} == {5, 6, 7}
    assert (await stores.forwards.visible()).since == {channel_id: date.fromisoformat(day(2))}


async def beside(admin: Admin, channel_id: ChannelId) -> None:
    """Something about each of the posts in every table there is."""
    for query in (
        (
            "INSERT INTO post_search SELECT channel_id, message_id, posted_at, "
            "to_tsvector('russian', 'окно') FROM posts WHERE channel_id = $1"
        ),
        (
            "INSERT INTO post_media (channel_id, message_id, media_id, kind) "
            "SELECT channel_id, message_id, 1, 'photo' FROM posts WHERE channel_id = $1"
        ),
        """
        INSERT INTO post_enrichment (channel_id, message_id, kind, tier, provider, model, prompt_version,
            revision, data)
        SELECT channel_id, message_id, 'tags', 'local', '', '', '', 1, '{"tags": ["тег"]}' FROM posts
        WHERE channel_id = $1
        """,
        "UPDATE posts SET fwd_channel_id = 9, fwd_message_id = 1 WHERE channel_id = $1",
        (
            "INSERT INTO forwards SELECT channel_id, message_id, 9, 1, posted_at FROM posts "
            "WHERE channel_id = $1"
        ),
        """
        INSERT INTO post_versions (channel_id, message_id, revision, text, content_hash, replaced_at)
        SELECT channel_id, message_id, 1, 'иначе', '', now() FROM posts WHERE channel_id = $1
        """,
    ):
        await admin.execute(query, channel_id)


async def test_the_ledger_begins_with_the_first_post_of_the_window(system: SystemStores, pool: Pool) -> None:
    stores, channel_id = await two_followers(system, pool)
    _, ledger = await stores.coverage_overview.load_coverage(channel_id)
    assert ledger is not None
    assert (ledger.floor_id, ledger.newest_id) == (5, 7)
    assert ledger.verified == (IdRange(MessageId(5), MessageId(7)),)
    (line,) = await stores.coverage_overview.channels([channel_id])
    assert line.floor_at == midnight(2)


async def test_what_is_missing_below_the_window_is_not_missing(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    stores, channel_id = await two_followers(system, pool)
    await admin.execute(
        "UPDATE coverage SET verified = '{[1,3), [6,8)}', verified_at = now() WHERE channel_id = $1",
        channel_id,
    )
    _, ledger = await stores.coverage_overview.load_coverage(channel_id)
    assert ledger is not None
    assert ledger.gaps == (IdRange(MessageId(5), MessageId(5)),)
    (line,) = await stores.coverage_overview.channels([channel_id])
    assert line.missing_ids == 1


async def test_a_channel_is_not_complete_before_it_was_read_as_far_back_as_the_window(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    stores, channel_id = await two_followers(system, pool, wanted_by_a=50)
    account_id = await admin.fetchval(
        "INSERT INTO telegram_accounts (tenant_id, state) VALUES (1, 'active') RETURNING account_id"
    )
    await admin.execute(
        "UPDATE poll_schedule SET account_id = $2 WHERE channel_id = $1", channel_id, account_id
    )

    async def state(floor_at: datetime) -> CoverageState:
        await admin.execute(
            "UPDATE coverage SET floor_id = 2, floor_at = $2 WHERE channel_id = $1", channel_id, floor_at
        )
        (line,) = await stores.coverage_overview.channels([channel_id])
        return line.status.state

    assert await state(midnight(8)) is CoverageState.MISSING
    assert await state(LONG_AGO) is CoverageState.COMPLETE


async def test_everything_is_no_date(system: SystemStores, pool: Pool) -> None:
    stores, channel_id = await two_followers(system, pool, wanted_by_a=EVERYTHING_DAYS)
    (line,) = await stores.coverage_overview.channels([channel_id])
    assert line.floor_at is None
    assert len(await stores.feed.newest()) == 7


async def test_what_was_noticed_before_a_tenant_followed_is_not_there(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    """An edit, a deletion and counts of posts inside of the window; and those that were noticed since are."""
    stores, channel_id = await two_followers(system, pool)
    for post, when, revision in (
        (5, "1 hour", 1),
        (6, "-1 second", 1),
        (7, "1 hour", 1),
        (7, "-1 second", 2),
    ):
        await admin.execute(
            f"""
            INSERT INTO post_versions (channel_id, message_id, revision, text, content_hash, replaced_at)
            VALUES ($1, $2, $3, 'иначе', '', now() - interval '{when}')
            """,
            channel_id,
            post,
            revision,
        )
        await admin.execute(
            "UPDATE posts SET revision = $3 WHERE channel_id = $1 AND message_id = $2",
            channel_id,
            post,
            revision + 1,
        )
        await admin.execute(
            f"INSERT INTO post_counts VALUES ($1, $2, now() - interval '{when}', 10)", channel_id, post
        )
    seen = {n: await stores.post_details.versions(PostId(channel_id, MessageId(n))) for n in (5, 6, 7)}
    assert {n: [version.revision for version in versions] for n, versions in seen.items()} == {
        5: [1],
        6: [1, 2],
        7: [1, 2],
    }
    assert {stored.post.message_id: stored.revision for stored in await stores.feed.newest()} == {
        5: 1,
        6: 2,
        7: 2,
    }
    assert {change.message_id for change in await stores.changes.since(LONG_AGO)} == {6, 7}
    details = [await stores.post_details.load_detail(PostId(channel_id, MessageId(n))) for n in (5, 6, 7)]
    assert [(detail.earlier_versions, len(detail.counts)) for detail in details if detail] == [
        (0, 0),
        (1, 1),
        (1, 1),
    ]


async def test_pictures_from_before_the_window_or_of_posts_deleted_before_are_not_read(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    stores, channel_id = await two_followers(system, pool)
    posts = [PostId(channel_id, MessageId(n)) for n in range(1, 8)]
    pictures = [await show_picture(admin, post, Look(2**40 - 1, 7), "") for post in posts]
    deleted = "UPDATE posts SET deleted_at = now() - $3::interval WHERE channel_id = $1 AND message_id = $2"
    await admin.executemany(
        deleted, [(channel_id, 6, timedelta(hours=1)), (channel_id, 7, timedelta(seconds=-1))]
    )
    assert set(await stores.stories.read_pictures(posts)) == {pictures[4], pictures[6]}


async def test_no_post_was_stored_before_the_tenant_followed(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    stores, channel_id = await two_followers(system, pool)
    await admin.execute(
        "UPDATE posts SET stored_at = now() - interval '1 hour' WHERE channel_id = $1", channel_id
    )
    followed_at = await admin.fetchval(
        "SELECT max(created_at) FROM subscriptions WHERE channel_id = $1", channel_id
    )
    assert {stored.stored_at for stored in await stores.feed.newest()} == {followed_at}
    (version,) = await stores.post_details.versions(PostId(channel_id, MessageId(7)))
    assert version.seen_at == followed_at


async def test_a_page_is_full_although_the_newest_posts_of_channels_are_not_there_for_the_tenant(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    tenant_id, channels = await make_tenant(system), [await make_channel(system) for _ in range(4)]
    for channel_id in channels:
        posts = [
            make_post(channel_id=channel_id, message_id=n, posted_at=midnight(4 - n)) for n in range(1, 4)
        ]
        await system.landing.land(make_page(*posts), Claim(channel_id, 0))
        await admin.execute(
            "UPDATE posts SET deleted_at = now() WHERE channel_id = $1 AND message_id = 3", channel_id
        )
        await system.channels.subscribe(tenant_id, Subscription(channel_id=channel_id, history_days=30))
    feed = tenant_stores(pool, tenant_id).feed
    first = await feed.newest(limit=3)
    second = await feed.newest(limit=3, before=cursor_of(first[-1]))
    rest = await feed.newest(limit=3, before=cursor_of(second[-1]))
    assert [stored.post.message_id for stored in (*first, *second, *rest)] == [2, 2, 2, 2, 1, 1, 1, 1]


FOLLOWED_AGO = st.integers(0, 6)
WANTED = st.integers(0, 6) | st.just(EVERYTHING_DAYS)
POSTED = st.lists(
    st.tuples(st.integers(0, 10), st.integers(0, 23), st.sampled_from([None, 0, 3, 6])), max_size=6
)


@pytest.mark.parametrize("limit", [2])
@settings(max_examples=25)
@given(channels=st.lists(st.tuples(st.none() | st.tuples(FOLLOWED_AGO, WANTED), POSTED), max_size=4))
async def test_a_tenant_sees_exactly_what_its_windows_hold(
    system: SystemStores,
    pool: Pool,
    admin: Admin,
    limit: int,
    channels: list[tuple[tuple[int, int] | None, list[tuple[int, int, int | None]]]],
) -> None:
    """Compared with a plain filter: the feed page by page, single posts, words, tags, what was deleted,
    and the floor of the ledger.
    """
    tenant_id = await make_tenant(system)
    expected: set[PostId] = set()
    deleted: set[PostId] = set()
    known: list[PostId] = []
    floors: dict[ChannelId, int] = {}
    for follows, posted in channels:
        channel_id = await make_channel(system)
        posts = sorted(
            ((midnight(days) + timedelta(hours=hour), gone) for days, hour, gone in posted),
            key=lambda pair: pair[0],
        )
        made = [
            make_post(channel_id=channel_id, message_id=n, posted_at=at) for n, (at, _) in enumerate(posts, 1)
        ]
        if made:
            await system.landing.land(make_page(*made, floor_id=1, floor_at=LONG_AGO), Claim(channel_id, 0))
        known += [post.id for post in made]
        followed_at = None
        if follows:
            followed_at = midnight(follows[0])
            await admin.execute(
                "INSERT INTO subscriptions (tenant_id, channel_id, history_days, created_at) "
                "VALUES ($1, $2, $3, $4)",
                tenant_id,
                channel_id,
                follows[1],
                followed_at,
            )
        for post, (at, gone) in zip(made, posts, strict=True):
            gone_at = None if gone is None else midnight(gone)
            await admin.execute(
                "UPDATE posts SET deleted_at = $3 WHERE channel_id = $1 AND message_id = $2",
                channel_id,
                post.message_id,
                gone_at,
            )
            if (
                follows
                and followed_at
                and at >= followed_at - timedelta(days=follows[1])
                and (gone_at is None or gone_at >= followed_at)
            ):
                expected.add(post.id)
                deleted |= {post.id} if gone_at else set()
                floors.setdefault(channel_id, post.message_id)
        await beside(admin, channel_id)
    stores = tenant_stores(pool, tenant_id)
    paged = []
    page = await stores.feed.newest(limit=limit)
    while page:
        paged += [stored.post for stored in page]
        page = await stores.feed.newest(limit=limit, before=cursor_of(page[-1]))
    assert [(post.posted_at, post.channel_id, post.message_id) for post in paged] == sorted(
        ((post.posted_at, post.channel_id, post.message_id) for post in paged), reverse=True
    )
    assert sorted(post.id for post in paged) == sorted(expected)
    assert {post_id for post_id in known if await stores.feed.post(post_id)} == expected
    assert {file.post_id for file in await stores.media.list_files(known)} == expected
    assert set(await stores.enrichments.load_best(known, Kind.TAGS)) == expected
    assert set((await stores.words.load(known)).posts) == expected - deleted
    assert {
        PostId(place.channel_id, place.message_id)
        for place in await stores.tag_use.places(["тег"], since=LONG_AGO, limit=1000)
    } == expected - deleted
    assert {change.post_id for change in await stores.changes.since(LONG_AGO, limit=1000)} == expected
    assert sum(
        forwarding.posts
        for forwarding in await stores.forwards.forwardings(
            since=LONG_AGO.date(), of_channel_id=None, limit=1000
        )
    ) == len(expected - deleted)
    ledgers = {
        channel_id: (await stores.coverage_overview.load_coverage(channel_id))[1] for channel_id in floors
    }
    assert {channel_id: ledger.floor_id for channel_id, ledger in ledgers.items() if ledger} == floors
