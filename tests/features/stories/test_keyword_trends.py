"""Trends of names and tags: what a tenant's channels mention far more
often than in the same hours of the weeks before.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.posts.post import Json
from telegram_assistant.domain.stories.keywords import HOUR, KeywordKind
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.domain.understanding.policy import AiPolicy, Tier
from telegram_assistant.features.stories.keyword_trends import (
    ExplainedTrend,
    keep_day,
    trend_days,
    trends_now,
)
from telegram_assistant.features.stories.trends import all_trends
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import derived_of
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, tenant_stores
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from telegram_assistant.stores.postgres.understanding.tenant_tags import TagChoice
from testkit.factories import make_channel, make_page, make_post, make_subscription, make_tenant
from testkit.stories import store_story
from tests.conftest import Admin

NOW = datetime(2026, 10, 20, 14, 0, tzinfo=UTC)
WEEK = timedelta(weeks=1)
ORDINARY = "Сегодня в городе солнечно и тихо."
TOLD = (
    "Сейчас в Порошино горит склад.",
    "Пожар в Порошино тушат 16 расчётов.",
    "A warehouse is on fire in Poroshino.",
    "Жители Порошино видят дым.",
    "Smoke rises over Poroshino tonight.",
)
_ids = count(1)


class News:
    """Channels of one tenant that posted something ordinary at this hour of each of the last four weeks."""

    def __init__(
        self, system: SystemStores, pool: Pool, tenant_id: TenantId, channels: Sequence[ChannelId]
    ) -> None:
        self.system, self.pool, self.channels, self.tenant_id = system, pool, channels, tenant_id
        self.stores: TenantStores = tenant_stores(pool, tenant_id)

    async def post(
        self, channel_id: ChannelId, text: str, at: datetime, *, tags: Sequence[str] = (), is_ad: bool = False
    ) -> PostId:
        made = make_post(channel_id=channel_id, message_id=next(_ids), text=text, posted_at=at)
        await self.system.landing.land(make_page(made), Claim(channel_id, 0))
        await self.system.posts.save_derived(
            [derived_of(post) for post in await self.system.posts.load([made.id])]
        )
        if tags or is_ad:
            data: dict[str, Json] = {"tags": list(tags), "is_ad": is_ad}
            await self.system.enrichments.save([Enrichment(made.id, 1, Kind.TAGS, Tier.LOCAL, data)])
        return made.id

    async def tell(
        self, texts: Sequence[str] = TOLD, *, ago: timedelta = timedelta(minutes=10), tags: Sequence[str] = ()
    ) -> list[PostId]:
        return [
            await self.post(channel, text, NOW - ago, tags=tags)
            for channel, text in zip(self.channels, texts, strict=False)
        ]

    async def now(self, language: str | None = None) -> tuple[ExplainedTrend, ...]:
        return await trends_now(NOW, stores=self.stores, language=language)


@pytest.fixture
async def news(system: SystemStores, pool: Pool) -> News:
    tenant_id = await make_tenant(system)
    channels = [await make_channel(system, title=f"Channel {number}") for number in range(6)]
    made = News(system, pool, tenant_id, channels)
    for channel_id in channels:
        await system.channels.subscribe(tenant_id, make_subscription(channel_id))
        for week in range(5):
            await made.post(channel_id, ORDINARY, NOW - week * WEEK - timedelta(minutes=20))
    return made


def texts_of(trends: Sequence[ExplainedTrend]) -> list[list[str]]:
    return [[keyword.text for keyword in trend.keywords] for trend in trends]


async def test_a_name_that_five_channels_mention_in_an_hour_trends_in_all_scripts_as_one(news: News) -> None:
    posts = await news.tell(TOLD[:4])
    assert await news.now() == ()
    posts.append(await news.post(news.channels[4], TOLD[4], NOW - timedelta(minutes=5)))
    (trending,) = await news.now("en")
    assert (trending.keywords[0].text, trending.keywords[0].keyword.kind) == ("Poroshino", KeywordKind.NAME)
    assert (trending.trend.channels, trending.trend.mentions) == (5, 5)
    assert trending.trend.pace == (0,) * 11 + (5,)
    assert set(trending.visible) == set(posts)
    assert trending.posts[0].sentence.startswith("A warehouse is on fire")
    (trending,) = await news.now("ru")
    assert trending.keywords[0].text == "Порошино"
    assert trending.posts[0].channel == "Channel 0"


async def test_channels_of_one_owner_mention_a_name_once(news: News) -> None:
    await news.tell()
    first, second, *_ = news.channels
    await news.stores.networks.keep({first: first, second: first})
    assert await news.now() == ()
    await news.post(news.channels[5], "В Порошино приехали пожарные.", NOW - timedelta(minutes=5))
    (trending,) = await news.now()
    assert trending.trend.channels == 6


async def test_a_name_of_every_week_does_not_trend(news: News) -> None:
    await news.tell()
    for week in range(1, 5):
        await news.tell(ago=week * WEEK + timedelta(minutes=10))
    assert await news.now() == ()


async def test_other_hours_of_the_week_are_not_what_is_usual(news: News) -> None:
    await news.tell()
    for week in range(1, 5):
        await news.tell(ago=week * WEEK + timedelta(hours=3))
    (trending,) = await news.now()
    assert trending.trend.usual < 1
    assert trending.trend.usual_pace[9] == 5
    assert trending.trend.usual_pace[11] == 0


async def test_who_sees_nothing_of_the_weeks_before_is_told_nothing(
    news: News, system: SystemStores, pool: Pool
) -> None:
    await news.tell()
    newcomer = await make_tenant(system)
    for channel_id in news.channels:
        await system.channels.subscribe(
            newcomer, make_subscription(channel_id, history_days=(datetime.now(UTC) - NOW).days + 2)
        )
    assert (await tenant_stores(pool, newcomer).keyword_trends.counts(NOW - HOUR, NOW))[0].counts, (
        "it sees the posts of this hour"
    )
    assert await trends_now(NOW, stores=tenant_stores(pool, newcomer)) == ()
    assert await news.now()


async def test_only_visible_channels_count_and_what_others_follow_changes_nothing(
    news: News, system: SystemStores, pool: Pool
) -> None:
    posts = await news.tell()
    other = tenant_stores(pool, tenant_id := await make_tenant(system))
    for channel_id in news.channels[1:]:
        await system.channels.subscribe(tenant_id, make_subscription(channel_id))
    assert await trends_now(NOW, stores=other) == (), "it follows four of the five channels"
    await system.channels.subscribe(tenant_id, make_subscription(news.channels[0]))
    (trending,) = await trends_now(NOW, stores=other)
    assert set(trending.visible) == set(posts)


async def test_words_that_begin_sentences_advertising_and_deleted_posts_do_not_count(
    news: News, admin: Admin
) -> None:
    await news.tell(["Картошка подешевела."] * 6)
    for channel_id in news.channels[:5]:
        await news.post(channel_id, "Скидки в магазинах Порошино", NOW - timedelta(minutes=9), is_ad=True)
    assert await news.now() == ()
    await news.tell()
    assert len(await news.now()) == 1
    await admin.execute("UPDATE posts SET deleted_at = now() WHERE channel_id = $1", news.channels[0])
    assert await news.now() == ()


async def test_a_channel_counts_once_an_hour(news: News) -> None:
    for text in TOLD:
        await news.post(news.channels[0], text, NOW - timedelta(minutes=3))
    assert await news.now() == ()


async def test_tags_trend_under_the_names_of_the_tenant_unless_hidden(news: News) -> None:
    await news.tell([ORDINARY] * 5, tags=["пожары"])
    (trending,) = await news.now()
    assert texts_of([trending]) == [["пожары"]]
    assert trending.keywords[0].keyword.kind is KeywordKind.TAG
    await news.stores.tags.choose(TagChoice("ru", "пожары", shown_as="огонь"))
    assert texts_of(await news.now()) == [["огонь"]]
    await news.stores.tags.choose(TagChoice("ru", "пожары", hidden=True))
    assert await news.now() == ()


async def test_tags_are_not_counted_in_channels_where_models_are_off(news: News, admin: Admin) -> None:
    await news.tell([ORDINARY] * 5, tags=["пожары"])
    query = "UPDATE subscriptions SET ai_policy = $3 WHERE tenant_id = $1 AND channel_id = $2"
    await admin.execute(query, news.tenant_id, news.channels[0], AiPolicy.OFF.value)
    assert await news.now() == ()


async def test_names_and_tags_of_the_same_posts_are_one_trend(news: News) -> None:
    await news.tell([f"{text} Стройгрань молчит, сообщает Стройгрань." for text in TOLD], tags=["пожары"])
    (trending,) = await news.now()
    assert {keyword.text for keyword in trending.keywords} == {"Порошино", "Стройгрань", "пожары"}


async def test_keywords_of_a_story_that_is_shown_belong_to_the_story(news: News, admin: Admin) -> None:
    posts = await news.tell()
    await store_story(admin, posts, [(post, posts[0], LinkKind.REWRITE, 9.0, False) for post in posts[1:]])
    trends = await all_trends(NOW - timedelta(days=1), stores=news.stores, now=NOW)
    assert trends.keywords == ()
    (story,) = trends.stories
    assert [keyword.text for keyword in story.keywords] == ["Порошино"]


async def test_a_day_is_kept_once_and_shown_as_far_as_its_posts_are_visible(news: News) -> None:
    posts = await news.tell()
    assert await keep_day(NOW.date(), stores=news.stores) == 1
    assert await keep_day(NOW.date(), stores=news.stores) == 1
    (day,) = await trend_days(NOW, stores=news.stores)
    assert (day.day, texts_of(day.trends)) == (NOW.date(), [["Порошино"]])
    assert day.trends[0].trend.pace == (0,) * 13 + (5,) + (0,) * 10
    assert set(day.trends[0].visible) == set(posts)
    assert await trend_days(NOW + timedelta(days=1), stores=news.stores) == ()
    for channel_id in news.channels[:3]:
        await news.stores.followed.leave(channel_id)
    (day,) = await trend_days(NOW, stores=news.stores)
    assert set(day.trends[0].visible) == set(posts[3:])
    for channel_id in news.channels[3:]:
        await news.stores.followed.leave(channel_id)
    assert await trend_days(NOW, stores=news.stores) == ()


async def test_the_days_of_a_tenant_are_its_own(news: News, system: SystemStores, pool: Pool) -> None:
    await news.tell()
    await keep_day(NOW.date(), stores=news.stores)
    other = tenant_stores(pool, tenant_id := await make_tenant(system))
    for channel_id in news.channels:
        await system.channels.subscribe(tenant_id, make_subscription(channel_id))
    assert await trend_days(NOW, stores=other) == ()
    missing = [await system.trend_days.missing(each, [NOW.date()]) for each in (tenant_id, news.tenant_id)]
    assert missing == [(NOW.date(),), ()]
