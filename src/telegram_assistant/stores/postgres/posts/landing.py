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
    Burial,
    ObservedPage,
    bury_absent,
    bury_deleted,
    differs,
)
from telegram_assistant.stores.postgres.posts.landing_sql import (
    FENCE,
    FENCE_BACKFILL,
    FENCE_PUSH,
    LAND,
    LAND_PREVIEW,
    STORED_AT,
)
from telegram_assistant.stores.postgres.posts.rows import as_columns
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
    shown: ObservedPage | None = None
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

    async def differs(self, channel_id: ChannelId, proven: IdRange, page: ObservedPage) -> bool:
        """Whether a page that is read again lacks a stored post, shows it changed,
        or shows one marked as gone. Usually False.
        """
        async with self._transactions.begin() as connection:
            return await differs(connection, channel_id, proven, page)

    async def bury(self, claim: PushClaim, gone: Sequence[MessageId], *, told_at: datetime) -> Burial:
        """Marks posts that Telegram reports as deleted.

        Raises LeaseLost if a later claim replaced this one.
        """
        async with self._transactions.begin() as connection:
            if not await _holds_push_lease(connection, claim):
                raise LeaseLost(
                    f"channel {claim.channel_id} is no longer ours under epoch {claim.lease_epoch}"
                )
            burial = await bury_deleted(connection, claim.channel_id, gone, now=told_at)
        self._announce(Landed(0, 0, burial.deleted), Mode.INCREMENTAL)
        return burial

    async def count_unanswered(self) -> None:
        """Counts the posts of commits that succeeded although their reply was lost;
        `stored_at` identifies the landing.
        """
        while self._unanswered:
            lost = self._unanswered[0]
            async with self._transactions.begin() as connection:
                stored = await connection.fetchval(
                    STORED_AT, lost.channel_id, list(lost.new_ids), lost.read_at
                )
            self._unanswered.remove(lost)
            self._announce(Landed(stored, 0), lost.mode)

    def _announce(self, landed: Landed, mode: Mode) -> None:
        POSTS_PARSED.labels(mode.value).inc(landed.inserted)
        outcomes = {"inserted": landed.inserted, "changed": landed.changed, "deleted": landed.deleted}
        for outcome, posts in outcomes.items():
            POSTS_LANDED.labels(outcome).inc(posts)
        if any(outcomes.values()):
            self._wakeup.ring()


async def _write(
    connection: Connection, page: PostPage, claim: Claim | BackfillClaim | PushClaim, ends: RunEnds | None
) -> Landed:
    posts, proven, burial = one_per_id(page.posts), page.proven, Burial()
    if not await (
        _holds_push_lease(connection, claim)
        if isinstance(claim, PushClaim)
        else _is_ours(connection, claim, page, ends)
    ):
        raise LeaseLost(f"channel {claim.channel_id} is no longer ours under epoch {claim.lease_epoch}")
    row = await connection.fetchrow(
        LAND_PREVIEW if isinstance(claim, Claim) and claim.by_preview else LAND,
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
        *as_columns(posts),
    )
    assert row is not None  # an aggregate always answers
    if page.shown is not None and proven is not None:
        burial = await bury_absent(
            connection, claim.channel_id, proven, page.shown, now=page.read_at, lane=page.lane
        )
    return Landed(row["inserted"], row["changed"], burial.deleted, burial.doubtful, frozenset(row["new_ids"]))


async def _holds_push_lease(connection: Connection, claim: PushClaim) -> bool:
    """Whether the account may write the channel's pushed updates.

    Locks the channel until the end of the transaction.
    """
    return (
        await connection.fetchval(FENCE_PUSH, claim.channel_id, claim.account_id, claim.lease_epoch)
        is not None
    )


async def _is_ours(
    connection: Connection, claim: Claim | BackfillClaim, page: PostPage, ends: RunEnds | None
) -> bool:
    if isinstance(claim, BackfillClaim):
        return (
            await connection.execute(
                FENCE_BACKFILL, claim.channel_id, claim.backfill_id, claim.lease_epoch, claim.below
            )
            == "UPDATE 1"
        )
    rhythm = ends.rhythm if ends else None
    completion = (ends.started_at, page.read_at, ends.next_poll_at) if ends else (None, None, None)
    seen = (
        (rhythm.since, rhythm.level, rhythm.level_at, rhythm.burst, rhythm.burst_at)
        if rhythm
        else (None,) * 5
    )
    rechecked = ends is not None and ends.rechecked
    return (
        await connection.execute(FENCE, claim.channel_id, claim.lease_epoch, *completion, *seen, rechecked)
        == "UPDATE 1"
    )


def one_per_id(posts: tuple[Post, ...]) -> tuple[Post, ...]:
    """Keeps the last post of each id, because one statement cannot change a row twice."""
    unique = {post.message_id: post for post in posts}
    return posts if len(unique) == len(posts) else tuple(unique.values())
