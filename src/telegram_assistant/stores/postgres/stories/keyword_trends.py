"""Names and tags that a tenant's channels mention, counted beside the weeks before;
and the trends of its days.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

import asyncpg
from pydantic import TypeAdapter

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.operations.due_work import MAX_ROWS
from telegram_assistant.domain.stories.keywords import (
    MIN_CHANNELS,
    Keyword,
    KeywordCount,
    KeywordCounts,
    KeywordKind,
    KeywordTrend,
    TrendDay,
    weeks_known,
)
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions, TenantTransactions

TRENDS = TypeAdapter(tuple[KeywordTrend, ...])


@dataclass(frozen=True, slots=True)
class MentioningPost:
    """A post that mentions a keyword."""

    post_id: PostId
    channel: str
    posted_at: datetime
    text: str
    language: str | None
    network: ChannelId | None = None
    """The channel that names the network of its channel."""


@dataclass(frozen=True, slots=True)
class KeywordMentions:
    """Channels per hour and posts that mention a keyword. `before` adds up four weeks."""

    pace: dict[int, int] = field(default_factory=dict)
    before: dict[int, int] = field(default_factory=dict)
    posts: dict[int, list[PostId]] = field(default_factory=dict)
    """By hour, the oldest first."""


@dataclass(frozen=True, slots=True)
class TagNames:
    """A tenant's names for tags."""

    names: Mapping[str, str | None]

    def display_tag(self, tag: str) -> str | None:
        """None if the tenant hides it."""
        return self.names.get(tag, tag)


@dataclass(frozen=True, slots=True)
class FoundDays:
    """Days with the posts of their trends that the tenant still sees."""

    days: tuple[TrendDay, ...]
    posts: Mapping[PostId, MentioningPost]
    tags: TagNames


class KeywordTrends:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def counts(self, since: datetime, until: datetime) -> tuple[KeywordCounts, TagNames]:
        """The keywords that enough channels mention from `since` to before `until`,
        without tags that the tenant hides.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT kind, keyword, channels, mentions FROM keyword_counts($1, $2, $3)",
                since,
                until,
                MIN_CHANNELS,
            )
            tags = await _tag_names(connection)
        counts = [
            _count(row)
            for row in rows
            if row["kind"]
            and not (row["kind"] == KeywordKind.TAG and tags.display_tag(row["keyword"]) is None)
        ]
        weeks = next(
            (weeks_known(row["mentions"][0], row["mentions"][1:]) for row in rows if not row["kind"]), 0.0
        )
        return KeywordCounts(weeks, tuple(counts)), tags

    async def mentions(
        self, keywords: Sequence[Keyword], since: datetime, until: datetime
    ) -> Mapping[Keyword, KeywordMentions]:
        """By hours since `since`."""
        names = [keyword.key for keyword in keywords if keyword.kind is KeywordKind.NAME]
        tags = [keyword.key for keyword in keywords if keyword.kind is KeywordKind.TAG]
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT * FROM keyword_posts($1, $2, $3, $4)", names, tags, since, until
            )
        mentions = {keyword: KeywordMentions() for keyword in keywords}
        for row in rows:
            keyword_mentions, hour = mentions[Keyword(KeywordKind(row["kind"]), row["keyword"])], row["hour"]
            if row["week"]:
                keyword_mentions.before[hour] = keyword_mentions.before.get(hour, 0) + row["channels"]
            else:
                keyword_mentions.pace[hour] = row["channels"]
                keyword_mentions.posts[hour] = _ids(row["channel_ids"], row["message_ids"])
        return mentions

    async def posts(self, post_ids: Iterable[PostId]) -> Mapping[PostId, MentioningPost]:
        """Those of the posts that the tenant sees and that are not deleted."""
        async with self._transactions.begin() as connection:
            return await _posts(connection, post_ids)

    async def save_day(self, day: TrendDay) -> None:
        """Saves the trends of a day. Trends that are saved already stay."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "INSERT INTO trend_days (day, trends) VALUES ($1, $2::text::jsonb) ON CONFLICT DO NOTHING",
                day.day,
                TRENDS.dump_json(day.trends).decode(),
            )

    async def days(self, since: date) -> FoundDays:
        """The days since then, the newest first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                "SELECT day, trends::text FROM trend_days WHERE day >= $1 ORDER BY day DESC", since
            )
            days = tuple(TrendDay(row["day"], TRENDS.validate_json(row["trends"])) for row in rows)
            posts = await _posts(
                connection, {post for day in days for trend in day.trends for post in trend.posts}
            )
            return FoundDays(days, posts, await _tag_names(connection))


class TrendDays:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def missing(self, tenant_id: TenantId, days: Sequence[date]) -> tuple[date, ...]:
        """The days that are not kept for the tenant, the newest first; none if it is suspended or follows
        nothing.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(MISSING, tenant_id, list(days))
        return tuple(row["day"] for row in rows)

    async def forget(self, before: date, *, limit: int = MAX_ROWS) -> int:
        """Deletes so many older days. Returns how many."""
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                "DELETE FROM trend_days WHERE ctid = ANY (ARRAY(SELECT ctid FROM trend_days "
                "WHERE day < $1 LIMIT $2))",
                before,
                limit,
            )
        return int(status.removeprefix("DELETE "))


async def _tag_names(connection: Connection) -> TagNames:
    rows = await connection.fetch("SELECT tag, shown_as, hidden FROM tenant_tags")
    return TagNames({row["tag"]: None if row["hidden"] else row["shown_as"] or row["tag"] for row in rows})


async def _posts(connection: Connection, post_ids: Iterable[PostId]) -> dict[PostId, MentioningPost]:
    sorted_ids = sorted(post_ids)
    rows = (
        await connection.fetch(
            POSTS,
            [post_id.channel_id for post_id in sorted_ids],
            [post_id.message_id for post_id in sorted_ids],
        )
        if sorted_ids
        else []
    )
    posts = [
        MentioningPost(
            PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])),
            row["title"],
            row["posted_at"],
            row["text"],
            row["lang"],
            None if row["network"] is None else ChannelId(row["network"]),
        )
        for row in rows
    ]
    return {post.post_id: post for post in posts}


def _count(row: asyncpg.Record) -> KeywordCount:
    now, *before = row["mentions"]
    return KeywordCount(
        Keyword(KeywordKind(row["kind"]), row["keyword"]), row["channels"], now, tuple(before)
    )


def _ids(channels: Sequence[int], messages: Sequence[int]) -> list[PostId]:
    return [
        PostId(ChannelId(channel), MessageId(message))
        for channel, message in zip(channels, messages, strict=True)
    ]


POSTS = """
SELECT p.*, c.title, s.network FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (
    SELECT channel_id, message_id, posted_at, text, lang FROM posts
    WHERE channel_id = w.channel_id AND message_id = w.message_id AND deleted_at IS NULL LIMIT 1
) p JOIN channels c ON c.channel_id = p.channel_id
LEFT JOIN subscriptions s ON s.channel_id = p.channel_id
"""

MISSING = """
SELECT d.day FROM tenants t CROSS JOIN unnest($2::date[]) AS d(day)
WHERE t.tenant_id = $1 AND t.suspended_at IS NULL AND EXISTS (SELECT 1 FROM subscriptions s
    WHERE s.tenant_id = t.tenant_id AND s.active)
  AND NOT EXISTS (SELECT 1 FROM trend_days k WHERE k.tenant_id = t.tenant_id AND k.day = d.day)
ORDER BY d.day DESC
"""
