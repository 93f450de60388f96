"""Search for one tenant: words through one database function, texts and names under row-level security."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.search.query import Has, bits_of
from telegram_assistant.stores.postgres.database import TenantTransactions
from telegram_assistant.stores.postgres.posts.rows import OWN_POST_COLUMNS, StoredPost, stored_post
from telegram_assistant.stores.postgres.understanding.policies_in_force import PoliciesInForce, in_force

BEGINS, ENDS = "\ue000", "\ue001"
"""Marks around a matched word; texts are stripped of these characters first."""
MOST = 300
"""The number of newest matches that are ranked."""
BUDGET = timedelta(milliseconds=40)
FURTHEST = 2**63 - 1
FAR_PAST, FAR_FUTURE = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
MAX_MARKED_LENGTH = 4000


@dataclass(frozen=True, slots=True)
class SearchPosition:
    """Where a search stopped, in its order: the newest first, then by channel and message."""

    posted_at: datetime
    channel_id: int = FURTHEST
    message_id: int = FURTHEST


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """Filters of a search. None or empty: no filter. Any one of several values matches, but `has` requires all."""

    channels: tuple[ChannelId, ...] | None = None
    since: datetime | None = None
    languages: tuple[str, ...] = ()
    has: tuple[Has, ...] = ()
    tags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    with_ads: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """A post that matches the words, with the filter values that the tenant may see."""

    post_id: PostId
    posted_at: datetime
    rank: float
    lang: str | None
    kind: str | None
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Matches:
    """The newest matches. `continues_at` is where the next search continues; None: there are no more."""

    found: tuple[Match, ...]
    continues_at: SearchPosition | None


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The channels and policies of a tenant, and its names of tags."""

    in_force: PoliciesInForce
    tag_names: Mapping[str, str | None]
    """Names that the tenant has chosen, by tag; None: the tag is hidden."""
    vectors_are_complete: bool

    def shown(self, tags: Iterable[str]) -> tuple[str, ...]:
        """The tenant's names of these tags."""
        return tuple(name for tag in tags if (name := self.tag_names.get(tag, tag)) is not None)

    def meant(self, names: Iterable[str]) -> tuple[str, ...]:
        """The tags that have these names for the tenant."""
        return tuple(dict.fromkeys(tag for name in names for tag in (*self.tag_names, name) if self.tag_names.get(tag, tag) == name))


@dataclass(frozen=True, slots=True)
class Named:
    """A channel's title and username."""

    title: str
    username: str | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """The current state of posts, and the requested channels."""

    posts: Mapping[PostId, StoredPost]
    channels: Mapping[ChannelId, Named]


class WordSearch:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def find(self, words: str, limits: SearchFilters, *, before: SearchPosition, most: int = MOST, budget: timedelta = BUDGET) -> Matches:
        """Matches older than `before`, newest first. `words` is in the syntax of websearch_to_tsquery; empty: all posts that pass `limits`.

        The budget is checked between two steps, so a search may take a little longer.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                # words, channels, since, $4-$6 position, languages, bits of `Has`, tags, kinds, with ads, most matches, time budget
                "SELECT * FROM search_words($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
                words,
                None if limits.channels is None else list(limits.channels),
                limits.since or FAR_PAST,
                before.posted_at,
                before.channel_id,
                before.message_id,
                list(limits.languages) or None,
                bits_of(limits.has),
                list(limits.tags) or None,
                list(limits.kinds) or None,
                limits.with_ads,
                most,
                budget,
            )
        end = rows.pop() if rows and rows[-1]["rank"] is None else None
        found = tuple(_match(row) for row in rows)
        if end is None:
            return Matches(found, _place(rows[-1]))
        return Matches(found, None if end["posted_at"] is None else _place(end))

    async def scope(self) -> SearchScope:
        """Loads the parts of the tenant's subscriptions that a search needs."""
        async with self._transactions.begin() as connection:
            followed = await in_force(connection)
            rows = await connection.fetch(TAG_NAMES)
        names = {row["tag"]: row["name"] for row in rows if row["tag"] is not None}
        return SearchScope(followed, names, vectors_are_complete=rows[0]["vectors_are_complete"])

    async def load(self, post_ids: Sequence[PostId], *, channel_ids: Iterable[ChannelId] = (), strict_words: str = "") -> Loaded:
        """The posts that are not deleted and contain `strict_words`, with their channels and `channel_ids`."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(LOAD, [one.channel_id for one in post_ids], [one.message_id for one in post_ids], strict_words)
            posts = [stored_post(row) for row in rows]
            wanted = {*channel_ids, *(one.post.channel_id for one in posts)}
            names = await connection.fetch("SELECT channel_id, title, username FROM channels WHERE channel_id = ANY ($1)", list(wanted))
        channels = {ChannelId(row["channel_id"]): Named(row["title"], row["username"]) for row in names}
        return Loaded({one.post.id: one for one in posts if one.post.channel_id in channels}, channels)

    async def marked(self, texts: Sequence[str], words: str) -> tuple[str, ...]:
        """The texts with BEGINS and ENDS around the matched words, in any of their forms."""
        plain = [text.replace(BEGINS, "").replace(ENDS, "")[:MAX_MARKED_LENGTH] for text in texts]
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(MARKED, plain, words, f"HighlightAll=true, StartSel={BEGINS}, StopSel={ENDS}")
        return tuple(row["marked"] for row in rows)


def _place(row: asyncpg.Record) -> SearchPosition:
    return SearchPosition(row["posted_at"], row["channel_id"], row["message_id"])


def _match(row: asyncpg.Record) -> Match:
    post_id = PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))
    return Match(post_id, row["posted_at"], row["rank"], row["lang"], row["kind"], tuple(row["tags"] or ()))


TAG_NAMES = """
SELECT vectors_are_complete(), tag, CASE WHEN hidden THEN NULL ELSE coalesce(nullif(shown_as, ''), tag) END AS name
FROM (VALUES (1)) AS one LEFT JOIN tenant_tags ON TRUE
"""

LOAD = f"""
SELECT p.* FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (
    SELECT {OWN_POST_COLUMNS} FROM posts WHERE channel_id = w.channel_id AND message_id = w.message_id AND deleted_at IS NULL LIMIT 1) p
WHERE $3 = '' OR to_tsvector('russian', p.text) @@ websearch_to_tsquery('russian', $3)
"""

MARKED = """
SELECT ts_headline('russian', t.text, websearch_to_tsquery('russian', $2), $3) AS marked
FROM unnest($1::text[]) WITH ORDINALITY AS t(text, place) ORDER BY t.place
"""
