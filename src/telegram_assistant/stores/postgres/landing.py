"""Landing: a page of posts becomes durable in one short transaction, or not at all."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from telegram_assistant.domain.coverage import IdRange
from telegram_assistant.domain.ids import AccountId, ChannelId, MessageId, TenantId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.domain.post import Post
from telegram_assistant.domain.rhythm import Rhythm
from telegram_assistant.errors import LeaseLost
from telegram_assistant.stores.postgres.bell import Bell
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions
from telegram_assistant.stores.postgres.deletions import Burial, Shown, bury_absent, bury_told, differs
from telegram_assistant.stores.postgres.rows import LANDED, as_columns, unnested
from telegram_assistant.telemetry.metrics import CHANNEL_LAST_POST, POSTS_LANDED


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to write a channel: the epoch under which it was claimed."""

    channel_id: ChannelId
    lease_epoch: int
    by_preview: bool = False
    """What it proves goes into the ledger of previews."""


@dataclass(frozen=True, slots=True)
class BackfillClaim:
    """The right to write a channel's past: a job, the epoch under which it was claimed, and how far down it has come."""

    channel_id: ChannelId
    backfill_id: int
    lease_epoch: int
    below: MessageId | None = None


@dataclass(frozen=True, slots=True)
class PushClaim:
    """The right to write what an account was told of a channel: the account's own epoch, because nothing was claimed."""

    channel_id: ChannelId
    account_id: AccountId
    lease_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Posts of one channel. `proven` is what they prove to be read (domain.coverage.proven_by); what was pushed proves nothing."""

    posts: tuple[Post, ...]
    proven: IdRange | None
    read_at: datetime
    floor_id: MessageId | None = None
    floor_at: datetime | None = None
    """Everything since then is wanted, and the floor is where it begins."""
    lane: Lane = Lane.LIVE
    requested_by: TenantId | None = None
    shown: Shown | None = None
    """Set where the page is read again: stored posts that it proves and does not show are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnds:
    """Says that this page is the last one of a run, when the channel is due again, and how lively it is."""

    started_at: datetime
    next_poll_at: datetime
    stored_before: bool = False
    """Posts of this run are stored already: by one of its earlier pages, or because they were pushed."""
    rechecked: bool = False
    rhythm: Rhythm | None = None


@dataclass(frozen=True, slots=True)
class Landed:
    """What a page brought."""

    inserted: int
    changed: int
    deleted: int = 0
    doubtful: int = 0
    """Posts that seem to be gone, and wait for a second look."""
    new_ids: frozenset[MessageId] = field(default=frozenset(), compare=False)
    """Of those that were inserted."""


# The first statement is the channel's lock, the fence against an owner of the past, and the poll's completion. Whoever was
# asked for while the poll was under way is read again at once.
FENCE = """
UPDATE poll_schedule
SET last_polled_at = coalesce($4, last_polled_at),
    next_poll_at = CASE WHEN $3::timestamptz IS NULL THEN next_poll_at WHEN asked_at > $3 THEN now() ELSE $5 END,
    asked_mode = CASE WHEN $3::timestamptz IS NULL OR asked_at > $3 THEN asked_mode END,
    fail_count = CASE WHEN $3::timestamptz IS NULL THEN fail_count ELSE 0 END,
    claimed = claimed AND $3::timestamptz IS NULL,
    observed_since = coalesce(to_timestamp($6), observed_since),
    level = coalesce($7, level), level_at = coalesce(to_timestamp($8), level_at),
    burst = coalesce($9, burst), burst_at = coalesce(to_timestamp($10), burst_at),
    rechecked_at = CASE WHEN $11 THEN $3 ELSE rechecked_at END
WHERE channel_id = $1 AND lease_epoch = $2
"""

FENCE_BACKFILL = """
WITH locked AS (SELECT channel_id FROM poll_schedule WHERE channel_id = $1 FOR NO KEY UPDATE)
UPDATE backfills b SET below = coalesce($4, below)
FROM locked WHERE b.backfill_id = $2 AND b.lease_epoch = $3 AND b.state = 'open' AND b.channel_id = locked.channel_id
"""

# Who was frozen since may not write: its epoch is not the account's any more, nor, at the latest, the channel's, which is what
# is looked at again after waiting for the lock. A channel that was last claimed by another account is that one's until we claim it.
FENCE_PUSH = """
SELECT s.channel_id FROM poll_schedule s JOIN telegram_accounts a ON a.account_id = s.account_id
WHERE s.channel_id = $1 AND s.account_id = $2 AND s.lease_epoch <= $3 AND a.lease_epoch = $3 AND s.next_poll_at < 'infinity'
FOR NO KEY UPDATE OF s
"""

# What an account has read, a preview never changes; and what a preview has shown, another one changes only where the page says
# that the post was edited: else a new way of writing pages would look like edits. An account's reading replaces a preview's,
# with a new revision so that all that follows from the post is made again; it is an edit only where the words differ.
BY_PREVIEW = """'{"source": "preview"}'"""
MAY_REPLACE = f"""
(new.facts @> {BY_PREVIEW} IS NOT TRUE OR (o.facts @> {BY_PREVIEW} AND new.facts @> '{{"edited": true}}'))
"""


def _changed_at(row: str) -> str:
    """When Telegram last changed it, shown as an edit or not: an older reading never overwrites a newer one."""
    return f"coalesce({row}.edited_at, ({row}.facts ->> 'touched_at')::timestamptz, '-infinity')"


LAND = f"""
WITH page AS (
    SELECT * FROM {unnested(12)} AS p({LANDED})
    WHERE NOT EXISTS (SELECT 1 FROM erasures e WHERE e.channel_id = $1 AND e.ids @> p.message_id)
),
reader AS (
    SELECT account_id FROM backfills WHERE backfill_id = $11
    UNION ALL SELECT account_id FROM poll_schedule WHERE channel_id = $1 AND $11 IS NULL
),
replaced AS (
    INSERT INTO post_versions (channel_id, message_id, revision, text, entities, facts, content_hash, edited_at, replaced_at, seen_at, seen_by)
    SELECT o.channel_id, o.message_id, o.revision, o.text, o.entities, o.facts, o.content_hash, o.edited_at, $2,
           coalesce(o.seen_at, o.stored_at), o.seen_by
    FROM page p CROSS JOIN LATERAL (  -- LIMIT keeps it one look-up per post, however many posts the channel has
        SELECT * FROM posts WHERE channel_id = $1 AND message_id = p.message_id LIMIT 1) o
    WHERE p.posted_at <= (SELECT newest_posted_at FROM channels WHERE channel_id = $1)  -- what is newer cannot be known yet
      AND o.content_hash <> p.content_hash
      AND {_changed_at("p")} >= {_changed_at("o")}
      AND {MAY_REPLACE.replace("new.", "p.")}
      AND NOT (o.text = p.text AND o.facts @> {BY_PREVIEW} IS TRUE AND p.facts @> {BY_PREVIEW} IS NOT TRUE)
    ON CONFLICT DO NOTHING
),
landed AS (
    INSERT INTO posts AS o (channel_id, {LANDED}, stored_at, seen_by)
    SELECT $1, p.*, $2, (SELECT account_id FROM reader) FROM page p
    ON CONFLICT (channel_id, message_id) DO UPDATE
    SET text = excluded.text, entities = excluded.entities, facts = excluded.facts, kind = excluded.kind,
        content_hash = excluded.content_hash, edited_at = excluded.edited_at, lang = excluded.lang,
        reply_to = excluded.reply_to, fwd_channel_id = excluded.fwd_channel_id, fwd_message_id = excluded.fwd_message_id,
        grouped_id = excluded.grouped_id, author = excluded.author,
        revision = o.revision + 1, state_version = o.state_version + 1, seen_at = $2, seen_by = excluded.seen_by
    WHERE o.content_hash <> excluded.content_hash
      AND {_changed_at("excluded")} >= {_changed_at("o")}
      AND {MAY_REPLACE.replace("new.", "excluded.")}
    RETURNING message_id, posted_at, revision
),
ledger AS (
    INSERT INTO coverage AS c (channel_id, floor_id, verified, verified_at, floor_at)
    SELECT $1, coalesce($3::bigint, $4::bigint), int8multirange(int8range($4::bigint, $5::bigint, '[]')), $2, $10 WHERE $4::bigint IS NOT NULL
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
           coalesce(array_agg(message_id) FILTER (WHERE revision = 1), '{{}}') AS new_ids, max(posted_at) AS newest_at
    FROM landed
),
head AS (
    UPDATE channels c
    SET newest_message_id = greatest(c.newest_message_id, $5::bigint),  -- what is not proven yet is no gap
        newest_posted_at = greatest(c.newest_posted_at, t.newest_at),
        last_parsed_at = greatest(c.last_parsed_at, $8),
        parked_reason = CASE WHEN $8::timestamptz IS NULL THEN c.parked_reason END,
        parked_until = CASE WHEN $8::timestamptz IS NULL THEN c.parked_until END
    FROM total t
    WHERE c.channel_id = $1 AND (t.newest_at IS NOT NULL OR $9)
)
SELECT inserted, changed, new_ids FROM total
"""
LAND_PREVIEW = LAND.replace("INSERT INTO coverage AS", "INSERT INTO preview_coverage AS")


class Landing:
    """Writes pages. A system store."""

    def __init__(self, transactions: SystemTransactions, bell: Bell) -> None:
        self._transactions = transactions
        self._bell = bell

    async def land(self, page: Page, claim: Claim | BackfillClaim | PushClaim, *, ends: RunEnds | None = None) -> Landed:
        """Store the page's posts, what it proves, and their announcement; LeaseLost if the claim is of the past.

        Landing the same page twice changes nothing the second time.
        """
        posts = one_per_id(page.posts)
        proven = page.proven
        parameters = (
            claim.channel_id,
            page.read_at,
            page.floor_id,
            proven.low if proven else None,
            proven.high if proven else None,
            page.lane.value,
            page.requested_by,
            ends.started_at if ends else None,
            ends.stored_before if ends else False,
            page.floor_at,
            claim.backfill_id if isinstance(claim, BackfillClaim) else None,
        )
        burial = Burial()
        statement = LAND_PREVIEW if isinstance(claim, Claim) and claim.by_preview else LAND
        async with self._transactions.begin() as connection:
            if not await (is_told(connection, claim) if isinstance(claim, PushClaim) else _is_ours(connection, claim, page, ends)):
                raise LeaseLost(f"channel {claim.channel_id} is no longer ours under epoch {claim.lease_epoch}")
            row = await connection.fetchrow(statement, *parameters, *as_columns(posts))
            if page.shown is not None and proven is not None:
                burial = await bury_absent(connection, claim.channel_id, proven, page.shown, now=page.read_at, lane=page.lane)
        assert row is not None  # an aggregate always answers
        landed = Landed(row["inserted"], row["changed"], burial.deleted, burial.doubtful, frozenset(row["new_ids"]))
        self._announce(landed)
        if posts:
            CHANNEL_LAST_POST.raise_to(claim.channel_id, max(post.posted_at for post in posts).timestamp())
        return landed

    async def differs(self, channel_id: ChannelId, proven: IdRange, shown: Shown) -> bool:
        """Whether a page that is read again lacks something that is stored, shows it otherwise, or shows what was thought gone. Most say no."""
        async with self._transactions.begin() as connection:
            return await differs(connection, channel_id, proven, shown)

    async def bury(self, claim: PushClaim, gone: Sequence[MessageId], *, told_at: datetime) -> Burial:
        """Telegram says that these posts of the channel were deleted; LeaseLost if the claim is of the past."""
        async with self._transactions.begin() as connection:
            if not await is_told(connection, claim):
                raise LeaseLost(f"channel {claim.channel_id} is no longer ours under epoch {claim.lease_epoch}")
            burial = await bury_told(connection, claim.channel_id, gone, now=told_at)
        self._announce(Landed(0, 0, burial.deleted))
        return burial

    def _announce(self, landed: Landed) -> None:
        outcomes = {"inserted": landed.inserted, "changed": landed.changed, "deleted": landed.deleted}
        for outcome, posts in outcomes.items():
            POSTS_LANDED.labels(outcome).inc(posts)
        if any(outcomes.values()):
            self._bell.ring()


async def is_told(connection: Connection, claim: PushClaim) -> bool:
    """Whether the account may write what it was told of the channel; the channel is locked until the end of the transaction."""
    return await connection.fetchval(FENCE_PUSH, claim.channel_id, claim.account_id, claim.lease_epoch) is not None


async def _is_ours(connection: Connection, claim: Claim | BackfillClaim, page: Page, ends: RunEnds | None) -> bool:
    if isinstance(claim, BackfillClaim):
        return await connection.execute(FENCE_BACKFILL, claim.channel_id, claim.backfill_id, claim.lease_epoch, claim.below) == "UPDATE 1"
    rhythm = ends.rhythm if ends else None
    completion = (ends.started_at, page.read_at, ends.next_poll_at) if ends else (None, None, None)
    seen = (rhythm.since, rhythm.level, rhythm.level_at, rhythm.burst, rhythm.burst_at) if rhythm else (None,) * 5
    rechecked = ends is not None and ends.rechecked
    return await connection.execute(FENCE, claim.channel_id, claim.lease_epoch, *completion, *seen, rechecked) == "UPDATE 1"


def one_per_id(posts: tuple[Post, ...]) -> tuple[Post, ...]:
    """The last of each id: one statement cannot touch a row twice."""
    unique = {post.message_id: post for post in posts}
    return posts if len(unique) == len(posts) else tuple(unique.values())
