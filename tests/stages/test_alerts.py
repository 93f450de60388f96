"""alerts: each watch tells once of each story, of what its tenant sees,
and of nothing from before it began.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.watches.watch import AlertKind, WatchKind, WatchOptions, WatchTarget
from telegram_assistant.errors import Rejected
from telegram_assistant.events import PostGrouped
from telegram_assistant.features.watches.previews import preview_watch
from telegram_assistant.features.watches.watches import create_watch, delete_watch, pause_watch
from telegram_assistant.stages.alerts import alerts
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import derived_of
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, tenant_stores
from telegram_assistant.understanding.stories import StoryBuilder
from testkit.factories import (
    fresh_number,
    make_channel,
    make_deleted,
    make_page,
    make_post,
    make_subscription,
    make_tenant,
)
from testkit.stories import store_story

LONG = (
    "Ночью в городе прошёл сильный снегопад, на дорогах заторы, коммунальные службы работают, говорит мэрия"
)


class WatchingTenant:
    """A tenant that follows channels and watches them."""

    def __init__(
        self, system: SystemStores, pool: Pool, tenant_id: TenantId, channels: list[ChannelId]
    ) -> None:
        self.system, self.tenant_id, self.channels = system, tenant_id, channels
        self.stores: TenantStores = tenant_stores(pool, tenant_id)

    async def watch(self, query: str, kind: WatchKind = WatchKind.WORDS, **more: Any) -> Any:
        target = WatchTarget(kind=kind, query=query, **more)
        now = datetime.now(UTC)
        return await create_watch(
            f"{query} {fresh_number()}",
            target,
            WatchOptions(),
            stores=self.stores,
            created_by="anna",
            now=now,
            zone=UTC,
        )

    async def preview(self, query: str, kind: WatchKind = WatchKind.WORDS, **more: Any) -> Any:
        target, now = WatchTarget(kind=kind, query=query, **more), datetime.now(UTC) + timedelta(minutes=1)
        return await preview_watch(
            target, tenant_id=self.tenant_id, stores=self.stores, index=None, now=now, zone=UTC
        )

    async def post(self, *texts: str, channel: int = 0, first: int = 1, **more: Any) -> list[PostId]:
        channel_id = self.channels[channel]
        at = datetime.now(UTC) + timedelta(seconds=1)
        posts = [
            make_post(channel_id=channel_id, message_id=number, text=text, **{"posted_at": at, **more})
            for number, text in enumerate(texts, first)
        ]
        await self.system.landing.land(make_page(*posts), Claim(channel_id, 0))
        await self.arrive(*(post.id for post in posts))
        return [post.id for post in posts]

    async def arrive(self, *posts: PostId) -> None:
        await self.system.posts.save_derived(
            [derived_of(post) for post in await self.system.posts.load(posts)]
        )
        await StoryBuilder(self.system.story_sources, self.system.post_terms, self.system.story_groups).group(
            posts, now=datetime.now(UTC)
        )
        events = [PostGrouped.about(post, 1, occurred_at=datetime.now(UTC)) for post in posts]
        await alerts(events, posts=self.system.posts, watch_matching=self.system.watch_matching)

    async def load_alerts(self) -> list[tuple[AlertKind, PostId | None]]:
        return [(alert.kind, alert.post_id) for alert in reversed(await self.stores.alerts.newest(limit=200))]


@pytest.fixture
async def desk(system: SystemStores, pool: Pool) -> WatchingTenant:
    tenant_id = await make_tenant(system)
    channels = [await make_channel(system, username=f"news_{fresh_number()}") for _ in range(2)]
    for channel_id in channels:
        await system.channels.subscribe(tenant_id, make_subscription(channel_id))
    return WatchingTenant(system, pool, tenant_id, channels)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("снегопады", {1}),
        ('"сильный дождь"', {2}),
        ("снегопад or дождь", {1, 2}),
        ("город -дождь", {1}),
        ("from:@HERE has:image", set()),
        ("from:@HERE -дождь", {1, 3}),
        ("lang:ru трамвай", {3}),
        ("и or трамвай", {3}),
    ],
)
async def test_a_watch_finds_what_the_search_of_the_same_query_would(
    desk: WatchingTenant, query: str, expected: set[int]
) -> None:
    username = (await desk.stores.followed.channels())[0].username
    here = next(
        channel for channel in await desk.stores.followed.channels() if channel.channel_id == desk.channels[0]
    )
    assert username
    await desk.watch(query.replace("HERE", here.username or ""))
    posts = await desk.post(
        "Снегопад в городе", "В городе сильный дождь", "Трамваи встали на всех линиях до вечера"
    )
    assert {post.message_id for _, post in await desk.load_alerts() if post} == expected
    preview = await desk.preview(query.replace("HERE", here.username or ""))
    assert {line.post_id for line in preview.lines} == {post for post in posts if post.message_id in expected}
    assert preview.count == len(expected)


async def test_copies_in_other_channels_and_repeated_events_raise_one_alert(desk: WatchingTenant) -> None:
    await desk.watch("снегопад")
    first = await desk.post(LONG)
    second = await desk.post(LONG, channel=1)
    await desk.arrive(*first, *second)
    assert await desk.load_alerts() == [(AlertKind.POSTED, first[0])]
    assert (await desk.preview("снегопад")).count == 1


async def test_the_same_few_words_are_news_each_time(desk: WatchingTenant) -> None:
    await desk.watch("тревога")
    await desk.post("Тревога!", "Тревога!")
    assert len(await desk.load_alerts()) == 2


async def test_nothing_is_told_of_channels_not_followed_of_the_past_of_a_pause_or_by_a_deleted_watch(
    desk: WatchingTenant, system: SystemStores
) -> None:
    watch = await desk.watch("снегопад")
    desk.channels.append(await make_channel(system))
    await desk.post("Снегопад", channel=2)
    await desk.post("Снегопад", posted_at=datetime.now(UTC) - timedelta(hours=1))
    await pause_watch(watch.watch_id, stores=desk.stores, is_paused=True)
    await desk.post("Снегопад", first=5)
    await pause_watch(watch.watch_id, stores=desk.stores, is_paused=False)
    assert await desk.load_alerts() == []
    await delete_watch(watch.watch_id, stores=desk.stores)
    await desk.post("Снегопад", first=6)
    assert await desk.load_alerts() == []


@pytest.mark.parametrize(
    ("query", "kind", "more", "code"),
    [
        ("", WatchKind.WORDS, {}, "watch_empty"),
        ("-дождь", WatchKind.WORDS, {}, "watch_too_wide"),
        ("снег or -дождь", WatchKind.WORDS, {}, "watch_too_wide"),
        ("и", WatchKind.WORDS, {}, "watch_too_wide"),
        ("lang:ru", WatchKind.WORDS, {}, "watch_too_wide"),
        ("снег since:7d", WatchKind.WORDS, {}, "watch_has_days"),
        ("снег", WatchKind.SILENCE, {"hours": 3}, "silence_only_channels"),
        ("", WatchKind.SILENCE, {}, "silence_needs_hours"),
        ("from:@nobody_at_all", WatchKind.WORDS, {}, "channel_not_followed_by_name"),
    ],
)
async def test_a_watch_that_makes_no_sense_is_refused_with_what_to_write(
    desk: WatchingTenant, query: str, kind: WatchKind, more: dict[str, int], code: str
) -> None:
    with pytest.raises(Rejected) as refused:
        await desk.watch(query, kind, **more)
    assert refused.value.reason.code == code
    assert await desk.stores.watches.all() == ()


async def test_edits_and_deletions_are_told_with_the_words_before_and_after(
    desk: WatchingTenant, system: SystemStores
) -> None:
    await desk.watch("мост", WatchKind.CHANGES)
    (post,) = await desk.post("Мост открыт ночью")
    edited = make_post(
        channel_id=post.channel_id, message_id=1, text="Переправа закрыта", edited_at=datetime.now(UTC)
    )
    await system.landing.land(
        make_page(edited, read_at=datetime.now(UTC) + timedelta(seconds=2)), Claim(post.channel_id, 0)
    )
    await desk.arrive(post)
    assert await desk.load_alerts() == [(AlertKind.EDITED, post)]
    (other,) = await desk.post("Мост через реку", channel=1)
    await make_deleted(system, other.channel_id, at=datetime.now(UTC) + timedelta(seconds=5))
    await desk.arrive(other)
    assert await desk.load_alerts() == [(AlertKind.EDITED, post), (AlertKind.DELETED, other)]
    assert {line.kind for line in (await desk.preview("мост", WatchKind.CHANGES)).lines} == {
        AlertKind.EDITED,
        AlertKind.DELETED,
    }


async def test_only_the_first_mention_in_a_channel_is_told(desk: WatchingTenant) -> None:
    early = datetime.now(UTC) - timedelta(days=2)
    await desk.post("Дракон прилетел", channel=1, posted_at=early)
    await desk.watch("дракон", WatchKind.MENTION)
    await desk.post("О драконе снова", channel=1, first=2)
    (first, _) = await desk.post("Дракону дали слово", "Дракон ответил")
    assert await desk.load_alerts() == [(AlertKind.MENTIONED, first)]


async def test_a_silent_channel_is_told_once_and_only_if_it_was_read_since(
    desk: WatchingTenant, system: SystemStores, admin: Any
) -> None:
    watch = await desk.watch("", WatchKind.SILENCE, hours=3)
    await desk.post("Последнее слово")
    now = datetime.now(UTC) + timedelta(hours=4)
    assert await system.watch_matching.raise_silences(now) == 0
    await admin.execute(
        "UPDATE poll_schedule SET last_polled_at = $1 WHERE channel_id = $2", now, desk.channels[0]
    )
    assert await system.watch_matching.raise_silences(now) == 1
    assert await system.watch_matching.raise_silences(now + timedelta(hours=5)) == 0
    assert await desk.load_alerts() == [(AlertKind.SILENT, None)]
    assert watch.target.hours == 3


async def test_a_meaning_says_that_it_needs_vectors(desk: WatchingTenant) -> None:
    preview = await desk.preview("наводнение в порту", WatchKind.MEANING)
    assert preview.trouble is not None
    assert preview.trouble.code == "meaning_needs_vectors"


async def test_what_several_channels_tell_in_their_own_words_raises_one_alert(desk: WatchingTenant) -> None:
    await desk.watch("мост")
    first, *_ = await desk.post(
        "В Северограде закрыли Литейный мост: осмотр опор нашёл 4 трещины, автобусы идут в объезд"
    )
    await desk.post(
        "Литейный мост в Северограде закрыт. Осмотр опор нашёл 4 трещины, автобусы пустили в объезд",
        channel=1,
    )
    assert await desk.load_alerts() == [(AlertKind.POSTED, first)]


async def test_a_post_that_comes_late_and_told_it_first_raises_no_second_alert(desk: WatchingTenant) -> None:
    await desk.watch("плотина")
    now = datetime.now(UTC)
    text = "Плотина в Краснолесье закрыта. Осмотр нашёл 7 промоин, грузовики пустили в объезд через Туманск"
    second, *_ = await desk.post(text, channel=1, posted_at=now + timedelta(seconds=9))
    await desk.post(
        "В Краснолесье закрыли плотину: осмотр нашёл 7 промоин, грузовики едут через Туманск",
        posted_at=now + timedelta(seconds=5),
    )
    assert await desk.load_alerts() == [(AlertKind.POSTED, second)]


async def test_posts_that_were_told_apart_and_become_one_story_raise_no_more(
    desk: WatchingTenant, admin: Any
) -> None:
    await desk.watch("паром")
    now = datetime.now(UTC)
    first, *_ = await desk.post(
        "Паром до Озёрска встал на ремонт, вахтёры ждут катера с утра", posted_at=now + timedelta(seconds=5)
    )
    other, *_ = await desk.post(
        "Новый паром построят к весне на верфи в Туманске", channel=1, posted_at=now + timedelta(seconds=6)
    )
    again = make_post(
        channel_id=desk.channels[1], message_id=2, text="Паром: начало", posted_at=now + timedelta(seconds=3)
    )
    await desk.system.landing.land(make_page(again), Claim(again.channel_id, 0))
    await admin.execute("DELETE FROM story_posts WHERE channel_id = ANY($1::bigint[])", desk.channels)
    await store_story(admin, [first, other, again.id], [])
    event = PostGrouped.about(again.id, 1, occurred_at=now)
    await alerts([event], posts=desk.system.posts, watch_matching=desk.system.watch_matching)
    assert await desk.load_alerts() == [(AlertKind.POSTED, first), (AlertKind.POSTED, other)]


async def test_posts_that_were_matched_before_they_were_grouped_raise_nothing_more_when_they_are(
    desk: WatchingTenant,
) -> None:
    """The stage stories held them for too long, and comes to them later, with one that told it first."""
    await desk.watch("мост")
    now = datetime.now(UTC)
    texts = (
        "Литейный мост закрыт на ремонт",
        "В Северограде закрыли Литейный мост: осмотр опор нашёл 4 трещины, автобусы идут в объезд",
        "Литейный мост в Северограде закрыт. Осмотр опор нашёл 4 трещины, автобусы пустили в объезд",
    )
    places = ((desk.channels[0], 1, 2), (desk.channels[1], 1, 3), (desk.channels[0], 2, 1))
    posts = [
        make_post(
            channel_id=channel_id, message_id=number, text=text, posted_at=now + timedelta(seconds=seconds)
        )
        for text, (channel_id, number, seconds) in zip(texts, places, strict=True)
    ]
    held = [post.id for post in posts[:2]]
    for post in posts:
        await desk.system.landing.land(make_page(post), Claim(post.channel_id, 0))
    events = [PostGrouped.about(post, 1, occurred_at=now) for post in held]
    await alerts(events, posts=desk.system.posts, watch_matching=desk.system.watch_matching)
    assert {post for _, post in await desk.load_alerts()} == set(held)
    await desk.arrive(*(post.id for post in posts))
    stories = await desk.system.stories.of_posts([post.id for post in posts])
    assert stories[posts[1].id] == stories[posts[2].id]
    assert {post for _, post in await desk.load_alerts()} == set(held)
    assert len(await desk.load_alerts()) == len(held)


async def test_rebuilding_stories_raises_nothing_again(desk: WatchingTenant, admin: Any) -> None:
    await desk.watch("мост")
    first, *_ = await desk.post(
        "В Северограде закрыли Литейный мост: осмотр опор нашёл 4 трещины, автобусы идут в объезд"
    )
    second, *_ = await desk.post(
        "Литейный мост в Северограде закрыт. Осмотр опор нашёл 4 трещины, автобусы пустили в объезд",
        channel=1,
    )
    await admin.execute("DELETE FROM story_posts WHERE channel_id = ANY($1::bigint[])", desk.channels)
    builder = StoryBuilder(desk.system.story_sources, desk.system.post_terms, desk.system.story_groups)
    await builder.group([second, first], now=datetime.now(UTC), compares_again=True)
    assert len(set((await desk.system.stories.of_posts([first, second])).values())) == 1
    assert await desk.load_alerts() == [(AlertKind.POSTED, first)]
    await desk.arrive(first, second)  # they are tagged again, say
    assert await desk.load_alerts() == [(AlertKind.POSTED, first)]


async def test_a_post_that_is_edited_raises_no_second_alert_of_the_same_watch(desk: WatchingTenant) -> None:
    """In no story with others, a post counts by its words, and an edit changes them."""
    await desk.watch("маяк")
    (post,) = await desk.post(
        "На мысе Китовый погас маяк: смотритель третьи сутки чинит генератор, рыбаки ночуют в бухте"
    )
    text = (
        "На мысе Китовый снова горит маяк: запчасти привёз вертолёт, сейнеры вышли в море до рассвета, "
        "улов обещают к субботе"
    )
    edited = make_post(
        channel_id=post.channel_id,
        message_id=1,
        text=text,
        edited_at=datetime.now(UTC),
        posted_at=datetime.now(UTC),
    )
    await desk.system.landing.land(
        make_page(edited, read_at=datetime.now(UTC) + timedelta(seconds=2)), Claim(post.channel_id, 0)
    )
    await desk.arrive(post)
    assert await desk.load_alerts() == [(AlertKind.POSTED, post)]


async def test_a_story_that_grows_is_told_once_when_it_has_enough_posts_and_the_preview_knew(
    desk: WatchingTenant,
) -> None:
    await desk.watch("", WatchKind.STORY, posts=2)
    await desk.watch("трамвай", WatchKind.STORY, posts=2)
    first, *_ = await desk.post(
        "В Северограде закрыли Литейный мост: осмотр опор нашёл 4 трещины, автобусы идут в объезд"
    )
    assert await desk.system.watch_matching.raise_grown(datetime.now(UTC)) == 0
    await desk.post(
        "Литейный мост в Северограде закрыт. Осмотр опор нашёл 4 трещины, автобусы пустили в объезд",
        channel=1,
    )
    assert [await desk.system.watch_matching.raise_grown(datetime.now(UTC)) for _ in range(2)] == [1, 0]
    assert await desk.load_alerts() == [(AlertKind.GROWN, first)]
    assert [line.kind for line in (await desk.preview("мост", WatchKind.STORY, posts=2)).lines] == [
        AlertKind.GROWN
    ]
    assert (await desk.preview("", WatchKind.STORY, posts=3)).count == 0


async def test_a_story_that_goes_on_under_another_id_is_not_told_again(
    desk: WatchingTenant, admin: Any
) -> None:
    await desk.watch("", WatchKind.STORY, posts=2)
    first, *_ = await desk.post(
        "В Северограде закрыли Литейный мост: осмотр опор нашёл 4 трещины, автобусы идут в объезд"
    )
    second, *_ = await desk.post(
        "Литейный мост в Северограде закрыт. Осмотр опор нашёл 4 трещины, автобусы пустили в объезд",
        channel=1,
    )
    assert await desk.system.watch_matching.raise_grown(datetime.now(UTC)) == 1
    await admin.execute("DELETE FROM story_posts WHERE channel_id = ANY($1::bigint[])", desk.channels)
    await store_story(admin, [first, second], [])
    assert await desk.system.watch_matching.raise_grown(datetime.now(UTC)) == 0
