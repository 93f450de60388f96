"""Landing: stores a page of posts in one short transaction, completely or not at all."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from telegram_assistant.domain.channels.coverage import IdRange
from telegram_assistant.domain.channels.parsing import Mode
from telegram_assistant.domain.channels.rhythm import Rhythm
from telegram_assistant.domain.ids import AccountId, ChannelId, MessageId, TenantId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.errors import LeaseLost
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.posts.deletions import (
    ObservedPage,
    RecordedDeletions,
    differs,
    mark_absent,
    mark_deleted,
)
from telegram_assistant.stores.postgres.posts.fences import (
    holds_backfill_lease,
    holds_poll_lease,
    holds_push_lease,
)
from telegram_assistant.stores.postgres.posts.rows import LANDED, as_columns, unnest_landed
from telegram_assistant.telemetry.metrics import POSTS_LANDED, POSTS_PARSED


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to write a channel: the epoch under which it was claimed."""

    channel_id: ChannelId
    lease_epoch: int
    by_preview: bool = False
    """The ids that the page proves go into `preview_coverage`."""


@dataclass(frozen=True, slots=True)
class BackfillClaim:
    """The right to write a channel's history: a job, the epoch under which it was claimed,
    and the lowest id it has reached.
    """

    channel_id: ChannelId
    backfill_id: int
    lease_epoch: int
    below: MessageId | None = None


@dataclass(frozen=True, slots=True)
class PushClaim:
    """The right to write a channel's pushed updates: the account's own epoch, because nothing was claimed."""

    channel_id: ChannelId
    account_id: AccountId
    lease_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PostPage:
    """Posts of one channel.

    `proven` is the id range that they prove to be read (`proven_by`); pushed posts prove nothing.
    """

    posts: tuple[Post, ...]
    proven: IdRange | None
    read_at: datetime
    floor_id: MessageId | None = None
    floor_at: datetime | None = None
    """All posts since then are wanted; the floor is the first of them."""
    lane: Lane = Lane.LIVE
    requested_by: TenantId | None = None
    mode: Mode = Mode.INCREMENTAL
    """The mode of the run that read the page."""
    observed: ObservedPage | None = None
    """Set if the page is read again: stored posts whose ids it proves and that it does not show are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnds:
    """Marks the last page of a run: when the channel is due again, and its posting rhythm."""

    started_at: datetime
    next_poll_at: datetime
    stored_before: bool = False
    """True if posts of this run are stored already: by one of its earlier pages,
    or because they were pushed.
    """
    rechecked: bool = False
    rhythm: Rhythm | None = None


@dataclass(frozen=True, slots=True)
class Landed:
    """Counts of what landing a page changed."""

    inserted: int
    changed: int
    deleted: int = 0
    doubtful: int = 0
    """Posts that seem to be gone and await a second look."""
    new_ids: frozenset[MessageId] = field(default=frozenset(), compare=False)
    """Ids of the inserted posts."""


@dataclass(frozen=True, slots=True)
class _Unanswered:
    """A landing whose commit may or may not have happened: the connection was lost before the reply."""

    channel_id: ChannelId
    new_ids: frozenset[MessageId]
    read_at: datetime
    mode: Mode


class Landing:
    """Writes pages and counts exactly what it wrote, for every kind of reader. A system store."""

    def __init__(self, transactions: SystemTransactions, wakeup: Wakeup) -> None:
        self._transactions = transactions
        self._wakeup = wakeup
        self._unanswered: list[_Unanswered] = []

    async def land(
        self, page: PostPage, claim: Claim | BackfillClaim | PushClaim, *, ends: RunEnds | None = None
    ) -> Landed:
        """Stores the page's posts, the ids it proves and the outbox rows. Raises LeaseLost if a later claim
        replaced this one.

        Landing the same page twice changes nothing the second time.
        """
        landed = None
        try:
            async with self._transactions.begin() as connection:
                landed = await _write(connection, page, claim, ends)
        except BaseException:
            if landed is not None:  # only the reply to the commit is missing
                self._unanswered.append(
                    _Unanswered(claim.channel_id, landed.new_ids, page.read_at, page.mode)
                )
            raise
        self._announce(landed, page.mode)
        return landed

    async def differs(self, channel_id: ChannelId, proven_range: IdRange, page: ObservedPage) -> bool:
        """Whether a page that is read again lacks a stored post, shows it changed,
        or shows one marked as gone. Usually False.
        """
        async with self._transactions.begin() as connection:
            return await differs(connection, channel_id, proven_range, page)

    async def mark_deleted(
        self, claim: PushClaim, deleted_message_ids: Sequence[MessageId], *, told_at: datetime
    ) -> RecordedDeletions:
        """Marks posts that Telegram reports as deleted.

        Raises LeaseLost if a later claim replaced this one.
        """
        async with self._transactions.begin() as connection:
            if not await holds_push_lease(connection, claim.channel_id, claim.account_id, claim.lease_epoch):
                raise _lease_lost(claim)
            recorded_deletions = await mark_deleted(
                connection, claim.channel_id, deleted_message_ids, now=told_at
            )
        self._announce(Landed(0, 0, recorded_deletions.deleted), Mode.INCREMENTAL)
        return recorded_deletions

    async def count_unanswered(self) -> None:
        """Counts the posts of commits that succeeded although their reply was lost;
        `stored_at` identifies the landing.
        """
        while self._unanswered:
            lost_unanswered = self._unanswered[0]
            async with self._transactions.begin() as connection:
                stored_count = await connection.fetchval(
                    "SELECT count(*) FROM posts "
                    "WHERE channel_id = $1 AND message_id = ANY($2) AND stored_at = $3",
                    lost_unanswered.channel_id,
                    list(lost_unanswered.new_ids),
                    lost_unanswered.read_at,
                )
            self._unanswered.remove(lost_unanswered)
            self._announce(Landed(stored_count, 0), lost_unanswered.mode)

    def _announce(self, landed: Landed, mode: Mode) -> None:
        POSTS_PARSED.labels(mode.value).inc(landed.inserted)
        outcomes = {"inserted": landed.inserted, "changed": landed.changed, "deleted": landed.deleted}
        for outcome, post_count in outcomes.items():
            POSTS_LANDED.labels(outcome).inc(post_count)
        if any(outcomes.values()):
            self._wakeup.ring()


BY_PREVIEW = """'{"source": "preview"}'"""


def _may_replace(new: str) -> str:
    """Whether the row `new` may replace the stored row `o`.

    A preview never changes what an account has read. It changes what another preview has shown only if the
    page marks the post as edited; otherwise a new markup of preview pages would look like edits. An account's
    reading replaces a preview's, with a new revision, so that everything derived from the post is computed
    again; it counts as an edit only if the text differs.
    """
    return (
        f"({new}.facts @> {BY_PREVIEW} IS NOT TRUE "
        f"""OR (o.facts @> {BY_PREVIEW} AND {new}.facts @> '{{"edited": true}}'))"""
    )


def _changed_at(row: str) -> str:
    """When Telegram last changed the post, marked as an edit or not:
    an older reading never overwrites a newer one.
    """
    return f"coalesce({row}.edited_at, ({row}.facts ->> 'touched_at')::timestamptz, '-infinity')"


def _land(ledger: str) -> str:
    """The statement that writes a page; `ledger` is the table that receives the ids proven by the page."""
    return f"""
-- $1 channel, $2 time of reading, $3 floor id, $4 lowest and $5 highest proven id (NULL: the page proves
-- nothing), $6 lane, $7 tenant that requested it, $8 start of the run (NULL: more pages follow), $9 whether
-- posts of this run are stored already, $10 floor time, $11 backfill (NULL: a poll or a push), $12-$25 one
-- array per column of LANDED: $12 message id, $13 posted at, $14 content hash, $15 kind, $16 text, $17
-- entities, $18 edited at, $19 reply to, $20 forwarded from channel and $21 message, $22 album, $23 language,
-- $24 author, $25 facts
WITH page AS (
    SELECT * FROM {unnest_landed(12)} AS p({LANDED})
    WHERE NOT EXISTS (SELECT 1 FROM erasures e WHERE e.channel_id = $1 AND e.ids @> p.message_id)
),
reader AS (
    SELECT account_id FROM backfills WHERE backfill_id = $11
    UNION ALL SELECT account_id FROM poll_schedule WHERE channel_id = $1 AND $11 IS NULL
),
replaced AS (
    INSERT INTO post_versions (channel_id, message_id, revision, text, entities, facts, content_hash,
        edited_at, replaced_at, seen_at, seen_by)
    SELECT o.channel_id, o.message_id, o.revision, o.text, o.entities, o.facts, o.content_hash, o.edited_at,
        $2,
           coalesce(o.seen_at, o.stored_at), o.seen_by
    -- LIMIT keeps this one index lookup per post, however many posts the channel has
    FROM page p CROSS JOIN LATERAL (
        SELECT * FROM posts WHERE channel_id = $1 AND message_id = p.message_id LIMIT 1) o
    -- a newer post cannot be stored yet
    WHERE p.posted_at <= (SELECT newest_posted_at FROM channels WHERE channel_id = $1)
      AND o.content_hash <> p.content_hash
      AND {_changed_at("p")} >= {_changed_at("o")}
      AND {_may_replace("p")}
      AND NOT (o.text = p.text AND o.facts @> {BY_PREVIEW} IS TRUE AND p.facts @> {BY_PREVIEW} IS NOT TRUE)
    ON CONFLICT DO NOTHING
),
landed AS (
    INSERT INTO posts AS o (channel_id, {LANDED}, stored_at, seen_by)
    SELECT $1, p.*, $2, (SELECT account_id FROM reader) FROM page p
    ON CONFLICT (channel_id, message_id) DO UPDATE
    SET text = excluded.text, entities = excluded.entities, facts = excluded.facts, kind = excluded.kind,
        content_hash = excluded.content_hash, edited_at = excluded.edited_at, lang = excluded.lang,
        reply_to = excluded.reply_to, fwd_channel_id = excluded.fwd_channel_id,
        fwd_message_id = excluded.fwd_message_id,
        grouped_id = excluded.grouped_id, author = excluded.author,
        revision = o.revision + 1, state_version = o.state_version + 1, seen_at = $2,
        seen_by = excluded.seen_by
    WHERE o.content_hash <> excluded.content_hash
      AND {_changed_at("excluded")} >= {_changed_at("o")}
      AND {_may_replace("excluded")}
    RETURNING message_id, posted_at, revision
),
ledger AS (
    INSERT INTO {ledger} AS c (channel_id, floor_id, verified, verified_at, floor_at)
    SELECT $1, coalesce($3::bigint, $4::bigint), int8multirange(int8range($4::bigint, $5::bigint, '[]')), $2,
        $10 WHERE $4::bigint IS NOT NULL
    ON CONFLICT (channel_id) DO UPDATE
    SET verified = c.verified + excluded.verified, verified_at = excluded.verified_at,
        floor_id = least(c.floor_id, $3::bigint), floor_at = least(c.floor_at, $10)
    WHERE NOT c.verified @> excluded.verified OR $3::bigint < c.floor_id
),
queued AS (
    INSERT INTO outbox (channel_id, message_id, revision, lane, requested_by)
    SELECT $1, message_id, revision, $6, coalesce($7, 0) FROM landed
),
total AS (
    SELECT count(*) FILTER (WHERE revision = 1) AS inserted, count(*) FILTER (WHERE revision > 1) AS changed,
           coalesce(array_agg(message_id) FILTER (WHERE revision = 1), '{{}}') AS new_ids,
           max(posted_at) AS newest_at
    FROM landed
),
head AS (
    UPDATE channels c
    -- an id that is not proven yet is no gap
    SET newest_message_id = greatest(c.newest_message_id, $5::bigint),
        newest_posted_at = greatest(c.newest_posted_at, t.newest_at),
        last_parsed_at = CASE WHEN t.newest_at IS NOT NULL OR $9 THEN greatest(c.last_parsed_at, $8)
            ELSE c.last_parsed_at END,
        parked_reason = CASE WHEN $8::timestamptz IS NULL THEN c.parked_reason END,
        parked_until = CASE WHEN $8::timestamptz IS NULL THEN c.parked_until END
    FROM total t
    WHERE c.channel_id = $1 AND (t.newest_at IS NOT NULL OR $8::timestamptz IS NOT NULL)
)
SELECT inserted, changed, new_ids FROM total
"""


LAND = _land(ledger="coverage")
LAND_PREVIEW = _land(ledger="preview_coverage")


async def _write(
    connection: Connection, page: PostPage, claim: Claim | BackfillClaim | PushClaim, ends: RunEnds | None
) -> Landed:
    posts, proven_range, recorded_deletions = one_per_id(page.posts), page.proven, RecordedDeletions()
    if not await _is_ours(connection, claim, page, ends):
        raise _lease_lost(claim)
    row = await connection.fetchrow(
        LAND_PREVIEW if isinstance(claim, Claim) and claim.by_preview else LAND,
        claim.channel_id,
        page.read_at,
        page.floor_id,
        proven_range.low if proven_range else None,
        proven_range.high if proven_range else None,
        page.lane.value,
        page.requested_by,
        ends.started_at if ends else None,
        ends.stored_before if ends else False,
        page.floor_at,
        claim.backfill_id if isinstance(claim, BackfillClaim) else None,
        *as_columns(posts),
    )
    assert row is not None  # an aggregate always answers
    if page.observed is not None and proven_range is not None:
        recorded_deletions = await mark_absent(
            connection, claim.channel_id, proven_range, page.observed, now=page.read_at, lane=page.lane
        )
    return Landed(
        row["inserted"],
        row["changed"],
        recorded_deletions.deleted,
        recorded_deletions.doubtful,
        frozenset(row["new_ids"]),
    )


async def _is_ours(
    connection: Connection,
    claim: Claim | BackfillClaim | PushClaim,
    page: PostPage,
    ends: RunEnds | None,
) -> bool:
    match claim:
        case PushClaim(channel_id, account_id, lease_epoch):
            return await holds_push_lease(connection, channel_id, account_id, lease_epoch)
        case BackfillClaim(channel_id, backfill_id, lease_epoch, below_id):
            return await holds_backfill_lease(
                connection, channel_id, backfill_id, lease_epoch, below_id=below_id
            )
        case Claim(channel_id, lease_epoch):
            return await holds_poll_lease(
                connection,
                channel_id,
                lease_epoch,
                completion=(ends.started_at, page.read_at, ends.next_poll_at) if ends else None,
                rhythm=ends.rhythm if ends else None,
                is_rechecked=ends is not None and ends.rechecked,
            )


def _lease_lost(claim: Claim | BackfillClaim | PushClaim) -> LeaseLost:
    return LeaseLost(f"channel {claim.channel_id} is no longer ours under epoch {claim.lease_epoch}")


def one_per_id(posts: tuple[Post, ...]) -> tuple[Post, ...]:
    """Keeps the last post of each id, because one statement cannot change a row twice."""
    unique = {post.message_id: post for post in posts}
    return posts if len(unique) == len(posts) else tuple(unique.values())
