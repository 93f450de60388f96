"""Finding posts for one tenant: by words through one function, texts and names under row-level security."""

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
"""Around a word that was looked for; they are taken out of texts before."""
MOST = 300
"""So many of the newest matches are ranked."""
BUDGET = timedelta(milliseconds=40)
FURTHEST = 2**63 - 1
FAR_PAST, FAR_FUTURE = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
MAX_MARKED_LENGTH = 4000


@dataclass(frozen=True, slots=True)
class SearchPosition:
    """Where a search has stopped, in the order of search: the newest first, then by channel and message."""

    posted_at: datetime
    channel_id: int = FURTHEST
    message_id: int = FURTHEST


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """What may be found. None, or nothing: no limit. Of several values one will do, but all of `has` are wanted."""

    channels: tuple[ChannelId, ...] | None = None
    since: datetime | None = None
    languages: tuple[str, ...] = ()
    has: tuple[Has, ...] = ()
    tags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    with_ads: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """A post that has the words, and what it is filtered by as far as the tenant may see it."""

    post_id: PostId
    posted_at: datetime
    rank: float
    lang: str | None
    kind: str | None
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Matches:
    """The newest ones. `looked_to` is where to go on; None: that is all."""

    found: tuple[Match, ...]
    looked_to: SearchPosition | None


@dataclass(frozen=True, slots=True)
class SearchScope:
    """What a tenant follows and how it calls things."""

    in_force: PoliciesInForce
    tag_names: Mapping[str, str | None]
    """Where the tenant has chosen one; None: it is hidden."""
    vectors_are_complete: bool

    def shown(self, tags: Iterable[str]) -> tuple[str, ...]:
        """Tags as the tenant calls them."""
        return tuple(name for tag in tags if (name := self.tag_names.get(tag, tag)) is not None)

    def meant(self, names: Iterable[str]) -> tuple[str, ...]:
        """The tags that the tenant calls so."""
        return tuple(dict.fromkeys(tag for name in names for tag in (*self.tag_names, name) if self.tag_names.get(tag, tag) == name))


@dataclass(frozen=True, slots=True)
class Named:
    """A channel as people know it."""

    title: str
    username: str | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """Posts as they are now, and the channels that were asked for."""

    posts: Mapping[PostId, StoredPost]
    channels: Mapping[ChannelId, Named]


class WordSearch:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def find(self, words: str, limits: SearchFilters, *, before: SearchPosition, most: int = MOST, budget: timedelta = BUDGET) -> Matches:
        """What stands after `before`, newest first. Words as websearch_to_tsquery reads them; empty: whatever the limits allow.

        The budget ends it between two steps, so it may take a little longer.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
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
        """Everything that is followed, as far as it matters to a search."""
        async with self._transactions.begin() as connection:
            followed = await in_force(connection)
            chosen = await connection.fetch("SELECT tag, shown_as, hidden FROM tenant_tags")
            is_complete = bool(await connection.fetchval("SELECT vectors_are_complete()"))
        return SearchScope(followed, {row["tag"]: None if row["hidden"] else row["shown_as"] or row["tag"] for row in chosen}, is_complete)

    async def load(self, post_ids: Sequence[PostId], *, channel_ids: Iterable[ChannelId] = (), strict_words: str = "") -> Loaded:
        """Those that are not deleted, and have the words that must be there; with their channels and these."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(LOAD, [one.channel_id for one in post_ids], [one.message_id for one in post_ids], strict_words)
            posts = [stored_post(row) for row in rows]
            wanted = {*channel_ids, *(one.post.channel_id for one in posts)}
            names = await connection.fetch("SELECT channel_id, title, username FROM channels WHERE channel_id = ANY ($1)", list(wanted))
        channels = {ChannelId(row["channel_id"]): Named(row["title"], row["username"]) for row in names}
        return Loaded({one.post.id: one for one in posts if one.post.channel_id in channels}, channels)

    async def marked(self, texts: Sequence[str], words: str) -> tuple[str, ...]:
        """The texts with BEGINS and ENDS around the words, in whatever form they stand there."""
        plain = [text.replace(BEGINS, "").replace(ENDS, "")[:MAX_MARKED_LENGTH] for text in texts]
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(MARKED, plain, words, f"HighlightAll=true, StartSel={BEGINS}, StopSel={ENDS}")
        return tuple(row["marked"] for row in rows)


def _place(row: asyncpg.Record) -> SearchPosition:
    return SearchPosition(row["posted_at"], row["channel_id"], row["message_id"])


def _match(row: asyncpg.Record) -> Match:
    post_id = PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))
    return Match(post_id, row["posted_at"], row["rank"], row["lang"], row["kind"], tuple(row["tags"] or ()))


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
