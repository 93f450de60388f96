"""Trends of names and tags: what a tenant's channels mention far more often than at this hour of the week,
with the posts that explain it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.stories.keywords import (
    CHART,
    DAY,
    HOUR,
    MAX_POSTS,
    MIN_CHANNELS,
    Keyword,
    KeywordCount,
    KeywordCounts,
    KeywordKind,
    KeywordTrend,
    TrendDay,
    WrittenKeyword,
    gather,
    trending,
    usual_of,
)
from telegram_assistant.features.stories.telling import first_sentence
from telegram_assistant.language.names import names_in, written_name
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.stories.keyword_trends import (
    KeywordMentions,
    MentioningPost,
    TagNames,
)

MAX_TRIED = 40
"""Keywords of which the posts are read."""
MAX_READ = 8
"""Posts of a keyword, to see whether it is a name."""
MAX_TRENDS = 10
MAX_TOLD = 5


@dataclass(frozen=True, slots=True)
class TrendPost:
    """A post that explains a trend, with its first sentence."""

    post_id: PostId
    channel: str
    posted_at: datetime
    sentence: str


@dataclass(frozen=True, slots=True)
class ExplainedTrend:
    """A trend with the names of its keywords, the posts that the tenant sees,
    and as many of these as a person reads.
    """

    trend: KeywordTrend
    keywords: tuple[WrittenKeyword, ...]
    visible: tuple[PostId, ...]
    posts: tuple[TrendPost, ...]


@dataclass(frozen=True, slots=True)
class ExplainedDay:
    """A day in UTC that has ended."""

    day: date
    trends: tuple[ExplainedTrend, ...]


async def trends_now(
    now: datetime, *, stores: TenantStores, language: str | None = None
) -> tuple[ExplainedTrend, ...]:
    """The trends of the last hour, the most surprising first,
    explained in this language where a post is in it.
    """
    return await _trends(now - HOUR, now, chart=CHART, stores=stores, language=language)


async def keep_day(day: date, *, stores: TenantStores) -> int:
    """Finds the trends of a day that has ended, and keeps them.

    Returns how many. Doing it again changes nothing.
    """
    since = datetime.combine(day, time(), UTC)
    trends = await _trends(since, since + DAY, chart=DAY, stores=stores)
    await stores.keyword_trends.save_day(TrendDay(day, tuple(trend.trend for trend in trends)))
    return len(trends)


async def trend_days(
    since: datetime, *, stores: TenantStores, language: str | None = None
) -> tuple[ExplainedDay, ...]:
    """The days that ended after `since`, the newest first.

    A trend without a visible post is left out, and so are hidden tags.
    """
    stored_days = await stores.keyword_trends.days(since.astimezone(UTC).date())
    days = [
        ExplainedDay(day.day, _explain_trends(day.trends, stored_days.posts, stored_days.tags, language))
        for day in stored_days.days
    ]
    return tuple(day for day in days if day.trends)


async def _trends(
    since: datetime, until: datetime, *, chart: timedelta, stores: TenantStores, language: str | None = None
) -> tuple[ExplainedTrend, ...]:
    counts, tags = await stores.keyword_trends.counts(since, until)
    rising = trending(counts)[:MAX_TRIED]
    if not rising:
        return ()
    mentions = await stores.keyword_trends.mentions([count.keyword for count in rising], until - chart, until)
    hours = chart // HOUR
    recent = {
        count.keyword: _posts_since(mentions[count.keyword], (since - (until - chart)) // HOUR, hours)
        for count in rising
    }
    firsts = {keyword: _first_of_channels(posts) for keyword, posts in recent.items()}
    posts = await stores.keyword_trends.posts(
        {post_id for first_post_ids in firsts.values() for post_id in first_post_ids}
    )
    keyword_counts = [
        count
        for count in rising
        if _is_keyword(count.keyword, firsts[count.keyword], posts)
        and count.channels - _count_sisters(firsts[count.keyword], posts) >= MIN_CHANNELS
    ]
    by_keyword = {count.keyword: count for count in keyword_counts}
    groups = gather([(count.keyword, frozenset(recent[count.keyword])) for count in keyword_counts])
    trends = [
        _trend([by_keyword[keyword] for keyword in group], counts, mentions[group[0]], hours, firsts, posts)
        for group in groups[:MAX_TRENDS]
    ]
    return _explain_trends(trends, posts, tags, language)


def _posts_since(mentions: KeywordMentions, first_week: int, last_week: int) -> list[PostId]:
    return [post_id for hour in range(first_week, last_week) for post_id in mentions.posts.get(hour, ())]


def _first_of_channels(post_ids: Sequence[PostId]) -> list[PostId]:
    first_by_channel: dict[ChannelId, PostId] = {}
    for post_id in post_ids:
        first_by_channel.setdefault(post_id.channel_id, post_id)
    return list(first_by_channel.values())[:MAX_POSTS]


def _count_sisters(post_ids: Sequence[PostId], texts: Mapping[PostId, MentioningPost]) -> int:
    """How many of the channels repeat the voice of their owner."""
    network_ids = [
        network_id
        for post_id in post_ids
        if post_id in texts and (network_id := texts[post_id].network) is not None
    ]
    return len(network_ids) - len(set(network_ids))


def _is_keyword(keyword: Keyword, post_ids: Sequence[PostId], texts: Mapping[PostId, MentioningPost]) -> bool:
    """Words are indexed as names also where they only begin a sentence,
    so most posts have to use one as a name.
    """
    read_texts = [texts[post_id].text for post_id in post_ids if post_id in texts][:MAX_READ]
    if keyword.kind is KeywordKind.TAG:
        return bool(read_texts)
    return bool(read_texts) and 2 * sum(keyword.key in names_in(text) for text in read_texts) >= len(
        read_texts
    )


def _trend(
    group: Sequence[KeywordCount],
    counts: KeywordCounts,
    mentions: KeywordMentions,
    hours: int,
    firsts: Mapping[Keyword, Sequence[PostId]],
    texts: Mapping[PostId, MentioningPost],
) -> KeywordTrend:
    lead_keyword = group[0]
    texts_by_keyword = {
        count.keyword: [texts[post_id].text for post_id in firsts[count.keyword] if post_id in texts]
        for count in group
    }
    return KeywordTrend(
        keywords=tuple(
            WrittenKeyword(keyword, _text_of(keyword, keyword_texts))
            for keyword, keyword_texts in texts_by_keyword.items()
        ),
        channels=lead_keyword.channels,
        mentions=lead_keyword.mentions,
        usual=round(usual_of(lead_keyword.before, counts.weeks), 2),
        pace=tuple(mentions.pace.get(hour, 0) for hour in range(hours)),
        usual_pace=tuple(round(mentions.before.get(hour, 0) / counts.weeks, 2) for hour in range(hours)),
        posts=tuple(firsts[lead_keyword.keyword]),
    )


def _text_of(keyword: Keyword, texts: Sequence[str]) -> str:
    return keyword.key if keyword.kind is KeywordKind.TAG else written_name(keyword.key, texts)


def _explain_trends(
    trends: Sequence[KeywordTrend],
    posts: Mapping[PostId, MentioningPost],
    tags: TagNames,
    language: str | None,
) -> tuple[ExplainedTrend, ...]:
    explained_trends = []
    for trend in trends:
        visible_posts = [posts[post] for post in trend.posts if post in posts]
        keywords = [
            written_keyword
            for keyword in trend.keywords
            if (written_keyword := _display_keyword(keyword, visible_posts, tags, language))
        ]
        if visible_posts and keywords:
            explained_trends.append(
                ExplainedTrend(
                    trend,
                    tuple(keywords),
                    tuple(post.post_id for post in visible_posts),
                    _first_posts(visible_posts, language),
                )
            )
    return tuple(explained_trends)


def _display_keyword(
    keyword: WrittenKeyword, posts: Sequence[MentioningPost], tags: TagNames, language: str | None
) -> WrittenKeyword | None:
    """A name as posts in this language write it; a tag under the tenant's name for it."""
    if keyword.keyword.kind is KeywordKind.TAG:
        text = tags.display_tag(keyword.text)
        return replace(keyword, text=text) if text else None
    own = (
        written_name(keyword.keyword.key, (post.text for post in posts if post.language == language))
        if language
        else ""
    )
    return replace(keyword, text=own or keyword.text)


def _first_posts(posts: Sequence[MentioningPost], language: str | None) -> tuple[TrendPost, ...]:
    ordered_posts = sorted(
        posts, key=lambda post: (bool(language) and post.language != language, post.posted_at)
    )
    return tuple(
        TrendPost(post.post_id, post.channel, post.posted_at, first_sentence(post.text))
        for post in ordered_posts[:MAX_TOLD]
    )
