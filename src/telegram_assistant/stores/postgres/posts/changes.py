"""Quiet changes: posts that channels edited or deleted after publishing, for one tenant."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.differences import Difference
from telegram_assistant.domain.posts.meaning import MeaningChange, MeaningKind
from telegram_assistant.stores.postgres.database import TenantTransactions
from telegram_assistant.stores.postgres.posts.rows import UNSEEN_REVISIONS
from telegram_assistant.stores.postgres.posts.versions import load_meaning


class ChangeKind(StrEnum):
    """How a post was changed."""

    EDITED = "edited"
    DELETED = "deleted"


class ChangeOrder(StrEnum):
    """Which changes come first."""

    NEWEST = "newest"
    REACH = "reach"
    """The changes of the posts with the most views first."""
    MEANING = "meaning"
    """Those that changed the meaning most first; of equal ones, those with the most views."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietChange:
    """One change: when it was seen, the text before and the text after."""

    channel_id: ChannelId
    message_id: MessageId
    kind: ChangeKind
    changed_at: datetime
    posted_at: datetime
    before: str
    after: str
    """Empty for a deletion."""
    views: int | None
    revision: int
    """The replaced revision; for a deletion, the last one. Counted from when the tenant began to follow."""
    difference: Difference | None
    """The difference between `before` and `after`; None for a deletion,
    and until the pipeline has compared them.
    """
    meaning: tuple[MeaningChange, ...] | None
    """How the meaning changed; None for a deletion, and for edits from before this was compared."""
    score: int
    """The value that orders the changes, beside the time."""
    channel: str
    username: str | None

    @property
    def post_id(self) -> PostId:
        return PostId(self.channel_id, self.message_id)


@dataclass(frozen=True, slots=True)
class ChangeCursor:
    """The last change of a page; the next page follows it in the same order."""

    score: int
    changed_at: datetime
    channel_id: ChannelId
    message_id: MessageId
    is_deletion: bool
    revision: int


def change_cursor(last: QuietChange) -> ChangeCursor:
    """The cursor that continues after this change."""
    is_deletion = last.kind is ChangeKind.DELETED
    return ChangeCursor(
        last.score, last.changed_at, last.channel_id, last.message_id, is_deletion, last.revision
    )


DELETION_WEIGHT = 10
"""A deletion counts like the change of two numbers."""

# The query names the channels; row-level security only checks them. Each channel contributes its newest
# changes, which is enough to find the newest of all. In the order of reach, the query reads all changes of
# the requested time.
CHANGES = f"""
-- $1 since, $2 page size, $3 kinds, $4 channels (NULL: all followed), $5 whether ordered by a score, $6 most
-- changes per channel, $7-$12 cursor: score, changed at, channel, message, is deletion, revision; $13 whether
-- the score is how much the meaning changed, $14 kinds of changes of the meaning (NULL: all changes), $15
-- before (NULL: until now), $16 whether with advertising
WITH followed AS MATERIALIZED (
    SELECT channel_id FROM subscriptions WHERE active AND ($4::bigint[] IS NULL OR channel_id = ANY($4))
),
edited AS (
    SELECT v.channel_id, v.message_id, 'edited' AS kind, v.replaced_at AS changed_at, v.text AS before,
        v.revision, v.difference, v.meaning, v.weight
    FROM followed f CROSS JOIN LATERAL (
        SELECT * FROM post_versions
        WHERE channel_id = f.channel_id AND replaced_at >= $1 AND 'edited' = ANY($3)
          AND ($15::timestamptz IS NULL OR replaced_at < $15)
          AND ($14::text[] IS NULL OR EXISTS (SELECT 1 FROM jsonb_array_elements(meaning) m
              WHERE m ->> 0 = ANY($14)))
          AND ($5 OR replaced_at <= $8 AND (replaced_at, channel_id, message_id, false, revision) < ($8, $9,
              $10, $11, $12))
        ORDER BY replaced_at DESC, message_id DESC, revision DESC LIMIT $6) v
),
deleted AS (
    SELECT p.channel_id, p.message_id, 'deleted' AS kind, p.deleted_at AS changed_at, p.text AS before,
        p.revision, NULL::int[] AS difference,
           NULL::jsonb AS meaning, {DELETION_WEIGHT}::smallint AS weight
    FROM followed f CROSS JOIN LATERAL (
        SELECT * FROM posts
        WHERE channel_id = f.channel_id AND deleted_at >= $1 AND 'deleted' = ANY($3) AND $14::text[] IS NULL
          AND ($15::timestamptz IS NULL OR deleted_at < $15)
          AND ($5 OR deleted_at <= $8 AND (deleted_at, channel_id, message_id, true, revision) < ($8, $9, $10,
              $11, $12))
        ORDER BY deleted_at DESC, message_id DESC LIMIT $6) p
),
changed AS (
    SELECT c.*, p.posted_at, p.stored_at, CASE WHEN c.kind = 'deleted' THEN ''
        ELSE coalesce(later.text, p.text) END AS after,
           coalesce(seen.views, (p.facts -> 'counts' ->> 'views')::bigint) AS views,
           coalesce(named.title, '') AS channel, named.username
    FROM (SELECT * FROM edited UNION ALL SELECT * FROM deleted) c
    CROSS JOIN LATERAL (SELECT * FROM posts WHERE channel_id = c.channel_id AND message_id = c.message_id
        LIMIT 1) p
    LEFT JOIN LATERAL (
        SELECT text FROM post_versions WHERE channel_id = c.channel_id AND message_id = c.message_id
            AND revision > c.revision
        ORDER BY revision LIMIT 1) later ON true
    LEFT JOIN LATERAL (
        SELECT views FROM post_counts
        WHERE channel_id = c.channel_id AND message_id = c.message_id AND seen_at <= c.changed_at
            ORDER BY seen_at DESC LIMIT 1) seen ON true
    LEFT JOIN LATERAL (SELECT title, username FROM channels WHERE channel_id = c.channel_id) named ON true
    WHERE $16 OR NOT EXISTS (SELECT 1 FROM post_enrichment e
        WHERE e.channel_id = c.channel_id AND e.message_id = c.message_id AND e.kind = 'tags'
            AND (e.data ->> 'is_ad')::boolean)
)
SELECT channel_id, message_id, kind, changed_at, posted_at, before, after, views, channel, username,
       revision - {UNSEEN_REVISIONS.format(post="changed")} AS revision, difference, meaning, score
FROM (SELECT *, CASE WHEN $5 THEN least(coalesce(views, 0), 999999999) + CASE WHEN $13
    THEN coalesce(weight, 0)::bigint * 1000000000 ELSE 0 END
                ELSE 0 END AS score FROM changed) changed
WHERE NOT $5 OR (score, changed_at, channel_id, message_id, kind = 'deleted', revision) < ($7, $8, $9, $10,
    $11, $12)
ORDER BY score DESC, changed_at DESC, channel_id DESC, message_id DESC, kind = 'deleted' DESC,
         changed.revision DESC
LIMIT $2
"""
MAX_PER_CHANNEL = 1000
LAST = 2**63 - 1
BEFORE_ALL = ChangeCursor(
    LAST,
    datetime.max.replace(tzinfo=UTC),
    ChannelId(LAST),
    MessageId(LAST),
    is_deletion=True,
    revision=2**31 - 1,
)


class QuietChanges:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def since(  # noqa: PLR0913 -- filters and the place in the list
        self,
        moment: datetime,
        *,
        before: datetime | None = None,
        limit: int = 50,
        order: ChangeOrder = ChangeOrder.NEWEST,
        kinds: Sequence[ChangeKind] = tuple(ChangeKind),
        meanings: Sequence[MeaningKind] = (),
        channel_ids: Sequence[ChannelId] | None = None,
        after: ChangeCursor | None = None,
        with_ads: bool = True,
    ) -> tuple[QuietChange, ...]:
        """The changes seen since `moment` and before `before`.

        With `meanings`, only edits that changed one of these. An edit that changed no text (a picture, a
        link) has the same text before and after.

        `after` is the cursor of the previous page.
        """
        is_scored = order is not ChangeOrder.NEWEST
        per_channel = MAX_PER_CHANNEL if is_scored else limit
        async with self._transactions.begin() as connection:
            only_channels = None if channel_ids is None else list(channel_ids)
            position = BEFORE_ALL
            if after is not None:
                unseen_count = await connection.fetchval(
                    "SELECT revisions_before($1, $2)", after.channel_id, after.message_id
                )
                position = replace(after, revision=min(after.revision + unseen_count, BEFORE_ALL.revision))
            rows = await connection.fetch(
                CHANGES,
                moment,
                limit,
                [kind.value for kind in kinds],
                only_channels,
                is_scored,
                per_channel,
                *astuple(position),
                order is ChangeOrder.MEANING,
                [meaning.value for meaning in meanings] or None,
                before,
                with_ads,
            )
        return tuple(
            QuietChange(
                **{**dict(row), "kind": ChangeKind(row["kind"]), "meaning": load_meaning(row["meaning"])}
            )
            for row in rows
        )
