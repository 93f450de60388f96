"""Search for one tenant: words through one database function, texts and names under row-level security."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.search.query import Has, bits_of
from telegram_assistant.domain.search.spelling import list_spellings, may_have_two_errors
from telegram_assistant.stores.postgres.database import TenantTransactions
from telegram_assistant.stores.postgres.posts.rows import OWN_POST_COLUMNS, StoredPost, stored_post
from telegram_assistant.stores.postgres.stories.own_stories import StoryMaterial, load_stories
from telegram_assistant.stores.postgres.understanding.policies_in_force import PoliciesInForce, in_force

BEGINS, ENDS = "\ue000", "\ue001"
"""Marks around a matched word; texts are stripped of these characters first."""
MAX_MATCHES = 300
"""The number of newest matches that are ranked."""
BUDGET = timedelta(milliseconds=40)
MENDING_BUDGET = timedelta(milliseconds=150)
"""It is checked between two steps; a search for a similar word that takes twice as long is stopped."""
FURTHEST = 2**63 - 1
FAR_PAST, FAR_FUTURE = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
MAX_MARKED_LENGTH = 4000
BEST = 5
BEGINNING = 1_500


@dataclass(frozen=True, slots=True)
class SearchPosition:
    """The position at which a search stopped, in its order: the newest first, then by channel and message."""

    posted_at: datetime
    channel_id: int = FURTHEST
    message_id: int = FURTHEST


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """Filters of a search.

    None or empty: no filter. Any one of several values matches, but `has` requires all.
    """

    channels: tuple[ChannelId, ...] | None = None
    since: datetime | None = None
    languages: tuple[str, ...] = ()
    has: tuple[Has, ...] = ()
    tags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    with_ads: bool = False


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """A word, a "phrase" or an -exclusion, with the key of the name that it may be.

    Terms of one alternative must all match.
    """

    text: str
    name: str = ""
    alternative: int = 0


@dataclass(frozen=True, slots=True)
class RelatedTerm:
    """A name or a number that related posts have in common with the best matches."""

    text: str
    """The key of a name, after a ~; or a number as written."""
    weight: float


@dataclass(frozen=True, slots=True)
class Match:
    """A post that matches the words, with the filter values that the tenant may see."""

    post_id: PostId
    posted_at: datetime
    rank: float
    lang: str | None
    kind: str | None
    tags: tuple[str, ...]
    matched: int | None = None
    """Which terms match, a bit each in their order; None: all of them."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The newest matches. `continues_at` is where the next search continues; None: there are no more."""

    complete: tuple[Match, ...]
    continues_at: SearchPosition | None
    partial: tuple[Match, ...] = ()
    """Matches with some of the words, if too few posts have all of them: these are among them again."""
    words: int = 0
    """Which terms are words that were searched, a bit each:
    neither phrases and exclusions nor words that say nothing.
    """
    texts: Mapping[PostId, str] = field(default_factory=dict)
    """How the best partial matches begin."""


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The channels and policies of a tenant, and its names of tags."""

    in_force: PoliciesInForce
    tag_names: Mapping[str, str | None]
    """Names that the tenant has chosen, by tag; None: the tag is hidden."""
    vectors_are_complete: bool

    def display_tags(self, tags: Iterable[str]) -> tuple[str, ...]:
        """The tenant's names of these tags."""
        return tuple(name for tag in tags if (name := self.tag_names.get(tag, tag)) is not None)

    def resolve_tags(self, names: Iterable[str]) -> tuple[str, ...]:
        """The tags that have these names for the tenant."""
        return tuple(
            dict.fromkeys(
                tag
                for name in names
                for tag in (*self.tag_names, name)
                if self.tag_names.get(tag, tag) == name
            )
        )


@dataclass(frozen=True, slots=True)
class Named:
    """A channel's title and username."""

    title: str
    username: str | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """The current state of posts, the requested channels, and what the stories of the posts are made of."""

    posts: Mapping[PostId, StoredPost]
    channels: Mapping[ChannelId, Named]
    stories: StoryMaterial | None = None
    """None if no post is in a story, or stories were not asked for."""
    edited: frozenset[PostId] = frozenset()
    """Posts that once had another text, as far as the tenant has seen it."""


class WordSearch:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def find(
        self,
        terms: Sequence[SearchTerm],
        limits: SearchFilters,
        *,
        before: SearchPosition,
        related_terms: Sequence[RelatedTerm] = (),
        enough: int = 0,
        max_rows: int = MAX_MATCHES,
        budget: timedelta = BUDGET,
    ) -> Matches:
        """Matches older than `before`, newest first. No terms: all posts that pass `limits`.

        If fewer than `enough` match, posts with some of the words follow (`partial`). With `related`, only
        these are searched, and posts that have something related. The budget is checked between two steps, so
        a search may take a little longer.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                # terms with their names and alternatives, related terms with their weights, $6 enough,
                # channels, since, $9-$11 position, languages, bits of `Has`, tags, kinds, with ads, most
                # matches, time budget
                "SELECT * FROM search_words($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "
                "$15, $16, $17, $18)",
                [term.text for term in terms],
                [term.name for term in terms],
                [term.alternative for term in terms],
                [term.text for term in related_terms],
                [term.weight for term in related_terms],
                enough,
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
                max_rows,
                budget,
            )
            matches_by_post = {
                match.post_id: match
                for row in rows
                if row["matched"] is not None and row["rank"] is not None
                for match in [_match(row)]
            }
            best_matches = (
                sorted(
                    matches_by_post.values(), key=lambda match: (-match.rank, -match.posted_at.timestamp())
                )[:BEST]
                if matches_by_post and not related_terms
                else []
            )
            texts = (
                await connection.fetch(
                    TEXTS,
                    [match.post_id.channel_id for match in best_matches],
                    [match.post_id.message_id for match in best_matches],
                )
                if best_matches
                else ()
            )
        partial = tuple(matches_by_post.values())
        if related_terms:
            return Matches((), None, partial)
        end = next((row for row in rows if row["rank"] is None), None)
        words = end["matched"] if end else 0
        full_rows = [row for row in rows if row["matched"] is None]
        matches = tuple(_match(row) for row in full_rows) or tuple(
            match for match in partial if match.matched == words
        )
        if end is None:
            return Matches(matches, _place(full_rows[-1]))
        saying = {
            PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])): row["text"] for row in texts
        }
        return Matches(matches, None if end["posted_at"] is None else _place(end), partial, words, saying)

    async def mend(self, typed_text: str, *, budget: timedelta = MENDING_BUDGET) -> str | None:
        """A word that differs from the typed one by a letter, or by two if it is long, and that the tenant
        sees in a post; None if it sees the typed one, or no such word.

        Raises TimeoutError if the time was over before that was known.
        """
        spellings = list_spellings(typed_text)
        try:
            async with self._transactions.begin() as connection:
                await connection.execute(
                    f"SET LOCAL statement_timeout = {max(1, 2 * budget // timedelta(milliseconds=1))}"
                )
                row = await connection.fetchrow(
                    MENDED, typed_text, spellings, may_have_two_errors(typed_text), budget
                )
        except asyncpg.QueryCanceledError as error:
            raise TimeoutError(typed_text) from error
        if row is not None and row["word"] is None:
            raise TimeoutError(typed_text)
        return row["token"] if row else None

    async def scope(self, *, with_policies: bool = True) -> SearchScope:
        """Loads the parts of the tenant's subscriptions that a search needs.

        Only a search by meaning needs the policies.
        """
        async with self._transactions.begin() as connection:
            policies_in_force = await in_force(connection) if with_policies else PoliciesInForce({}, {})
            rows = await connection.fetch(TAG_NAMES)
        names = {row["tag"]: row["name"] for row in rows if row["tag"] is not None}
        return SearchScope(policies_in_force, names, vectors_are_complete=rows[0]["vectors_are_complete"])

    async def load(
        self,
        post_ids: Sequence[PostId],
        *,
        channel_ids: Iterable[ChannelId] = (),
        strict_words: str = "",
        stories_until: datetime | None = None,
        with_deleted: bool = False,
    ) -> Loaded:
        """The posts that contain `strict_words`, with their channels and `channel_ids`.

        Deleted posts are left out without `with_deleted`. With `stories_until` also their stories, as far as
        they were told until then.
        """
        channels, message_ids = (
            [post_id.channel_id for post_id in post_ids],
            [post_id.message_id for post_id in post_ids],
        )
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                LOAD, channels, message_ids, strict_words, stories_until is not None, with_deleted
            )
            named_channels = {
                ChannelId(row["channel_id"]): Named(row["title"], row["username"]) for row in rows
            }
            if missing_channel_ids := [
                channel_id for channel_id in channel_ids if channel_id not in named_channels
            ]:
                names = await connection.fetch(
                    "SELECT channel_id, title, username FROM channels WHERE channel_id = ANY ($1)",
                    missing_channel_ids,
                )
                named_channels |= {
                    ChannelId(row["channel_id"]): Named(row["title"], row["username"]) for row in names
                }
            story_ids = {row["story_id"] for row in rows if row["story_id"] is not None}
            stories = (
                await load_stories(connection, story_ids, until=stories_until)
                if stories_until and story_ids
                else None
            )
        posts = [stored_post(row) for row in rows]
        edited_ids = frozenset(
            post.post.id for post, row in zip(posts, rows, strict=True) if row["is_edited"]
        )
        return Loaded({post.post.id: post for post in posts}, named_channels, stories, edited_ids)

    async def mark_words(self, texts: Sequence[str], words: str) -> tuple[str, ...]:
        """The texts with BEGINS and ENDS around the matched words, in any of their forms."""
        plain_texts = [text.replace(BEGINS, "").replace(ENDS, "")[:MAX_MARKED_LENGTH] for text in texts]
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                MARKED, plain_texts, words, f"HighlightAll=true, StartSel={BEGINS}, StopSel={ENDS}"
            )
        return tuple(row["marked"] for row in rows)


def _place(row: asyncpg.Record) -> SearchPosition:
    return SearchPosition(row["posted_at"], row["channel_id"], row["message_id"])


def _match(row: asyncpg.Record) -> Match:
    post_id = PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))
    return Match(
        post_id,
        row["posted_at"],
        row["rank"],
        row["lang"],
        row["kind"],
        tuple(row["tags"] or ()),
        row["matched"],
    )


TAG_NAMES = """
SELECT vectors_are_complete(), tag, CASE WHEN hidden THEN NULL
    ELSE coalesce(nullif(shown_as, ''), tag) END AS name
FROM (VALUES (1)) AS one LEFT JOIN tenant_tags ON TRUE
"""

LOAD = f"""
SELECT p.*, c.title, c.username, s.story_id, EXISTS (
    SELECT 1 FROM post_versions v WHERE v.channel_id = w.channel_id AND v.message_id = w.message_id
        AND v.text <> p.text) AS is_edited
FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (
    SELECT {OWN_POST_COLUMNS} FROM posts WHERE channel_id = w.channel_id AND message_id = w.message_id
        AND ($5 OR deleted_at IS NULL) LIMIT 1) p
CROSS JOIN LATERAL (SELECT title, username FROM channels WHERE channel_id = w.channel_id LIMIT 1) c
LEFT JOIN LATERAL (
    SELECT story_id FROM story_posts WHERE $4 AND channel_id = w.channel_id AND message_id = w.message_id
        AND link IS NOT NULL LIMIT 1) s ON true
WHERE $3 = '' OR to_tsvector('russian', p.text) @@ websearch_to_tsquery('russian', $3)
"""

TEXTS = f"""
SELECT p.channel_id, p.message_id, p.text FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (
    SELECT channel_id, message_id, left(text, {BEGINNING}) AS text FROM posts
    WHERE channel_id = w.channel_id AND message_id = w.message_id AND deleted_at IS NULL LIMIT 1) p
"""

# The index knows stems; the post says how the word is written.
MENDED = """
SELECT w.word, t.token FROM mended_word($1, $2, $3, $4) w
LEFT JOIN LATERAL (
    SELECT text FROM posts WHERE channel_id = w.channel_id AND message_id = w.message_id LIMIT 1) p ON true
LEFT JOIN LATERAL (
    SELECT t.token FROM ts_parse('default', left(p.text, 20000)) t
    WHERE length(t.token) BETWEEN 3 AND 40
        AND tsvector_to_array(to_tsvector('russian', t.token)) = ARRAY[w.word] LIMIT 1) t ON true
"""

MARKED = """
SELECT ts_headline('russian', t.text, websearch_to_tsquery('russian', $2), $3) AS marked
FROM unnest($1::text[]) WITH ORDINALITY AS t(text, place) ORDER BY t.place
"""
