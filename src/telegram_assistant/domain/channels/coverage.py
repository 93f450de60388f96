"""Coverage of a channel: the ranges of message ids that are proven to be read.

A page of history, requested below some id, proves every id between its lowest message and that id: an id that
the page does not contain does not exist. Ids between two messages of a page are deletions, not gaps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from telegram_assistant.domain.ids import MessageId
from telegram_assistant.reasons import Reason


@dataclass(frozen=True, slots=True, order=True)
class IdRange:
    """Message ids from `low` to `high`, both included."""

    low: MessageId
    high: MessageId

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise ValueError(f"a range of message ids runs upward from 1, not from {self.low} to {self.high}")

    def __len__(self) -> int:
        return self.high - self.low + 1

    def __contains__(self, message_id: int) -> bool:
        return self.low <= message_id <= self.high

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


def proven_by(ids: Sequence[MessageId], *, below_id: MessageId | None = None) -> IdRange | None:
    """The ids that one page proves.

    `ids` are the page's messages; `below` is the offset of the request (None: from the newest). An empty page
    below an id proves that no older message exists. An empty newest page proves nothing, because a channel
    that hides its history looks the same.
    """
    if below_id is not None and below_id <= 1:
        return None
    if not ids:
        return None if below_id is None else IdRange(MessageId(1), MessageId(below_id - 1))
    high_id = max(ids) if below_id is None else MessageId(below_id - 1)
    return IdRange(min(ids), high_id)


@dataclass(frozen=True, slots=True)
class Known:
    """The ledger's state at the start of a run: its floor, and its highest range, which has no gap inside."""

    floor_id: MessageId
    top: IdRange

    def meets(self, page: IdRange) -> bool:
        """Whether no unproven id lies between the newest page and the highest range."""
        return page.low <= self.top.high + 1

    def edge(self, stored_id: MessageId | None) -> MessageId:
        """The id above which a run reads; `stored` is the newest stored post older than the run's window."""
        return MessageId(min(self.top.high, self.floor_id - 1 if stored_id is None else stored_id))


def is_unread(message_id: MessageId, known_ranges: Known | None) -> bool:
    """Whether the id is outside the highest range.

    A page may reach below that range: a run that died left a gap there.
    """
    return known_ranges is None or message_id not in known_ranges.top


def closes(page: IdRange, edge_id: MessageId) -> bool:
    """Whether no unread id lies between an edge and a page above it."""
    return page.low <= edge_id + 1


def subtract_range(gaps: Sequence[IdRange], proven_range: IdRange | None) -> tuple[IdRange, ...]:
    """The gaps without the proven range, in their order."""
    if proven_range is None:
        return tuple(gaps)
    remaining_ranges = []
    for gap in gaps:
        if proven_range.high < gap.high:
            remaining_ranges.append(IdRange(MessageId(max(gap.low, proven_range.high + 1)), gap.high))
        if proven_range.low > gap.low:
            remaining_ranges.append(IdRange(gap.low, MessageId(min(gap.high, proven_range.low - 1))))
    return tuple(remaining_ranges)


class CoverageState(StrEnum):
    """How complete a channel is, as shown to people."""

    COMPLETE = "complete"
    """Everything since the floor is stored."""
    FILLING = "filling"
    MISSING = "missing"
    """Posts are known to be missing, and no account can fetch them at this moment."""
    WAITING = "waiting"
    """No page was read yet."""
    UNREADABLE = "unreadable"
    """No account can open the channel."""
    PREVIEW = "preview"
    """No account can open the channel; its public preview shows the newest posts."""


PREVIEW_SEES = Reason(
    "preview_sees",
    "read from its public preview: no service details, rounded counts, no original files; deleted and "
    "restricted posts are invisible",
)
NO_ACCOUNT = Reason("no_account_opens_channel", "no account can open it yet")
FIRST_POLL = Reason("first_poll_to_come", "the first poll is pending")
FIRST_PREVIEW = Reason("first_preview_to_come", "the first check of its public preview is pending")
PAST_TO_READ = Reason("past_to_read", "the history is not read yet")
NEXT_PLAN = Reason("next_plan_fills", "the next plan will fill it")
ACCOUNT_WAITS = Reason("account_waits", "Telegram asks the account to wait")


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageFacts:
    """The facts about a channel's completeness, as numbers and times."""

    has_account: bool
    was_read: bool
    missing_ids: int
    is_in_reach: bool = True
    """Whether the ledger reaches back as far as wanted; ids below it do not count as missing yet."""
    lost_reason: Reason | None = None
    lost_at: datetime | None = None
    parked_reason: Reason | None = None
    parked_until: datetime | None = None
    is_filling: bool = False
    fill_error: Reason | None = None
    fill_again_at: datetime | None = None
    blocked_until: datetime | None = None
    by_preview: bool = False
    """Whether previews are enabled now, and this channel may have one."""
    was_previewed: bool = False
    previews_blocked_until: datetime | None = None

    @property
    def is_wanting(self) -> bool:
        """Whether something is missing that the follower wants.

        History that only others want does not count.
        """
        return bool(self.missing_ids) or not self.is_in_reach


@dataclass(frozen=True, slots=True)
class CoverageStatus:
    """The state and its reason.

    `until` is when it may change by itself; for an unreadable channel, since when it holds.
    """

    state: CoverageState
    why: Reason | None = None
    until: datetime | None = None


def status_of(facts: CoverageFacts) -> CoverageStatus:
    """The status of a channel;
    obstacles are checked in the order in which a person would want to know them.
    """
    if not facts.has_account and facts.by_preview:
        return _preview_status(facts)
    if not facts.has_account:
        return CoverageStatus(CoverageState.UNREADABLE, facts.lost_reason or NO_ACCOUNT, facts.lost_at)
    reason, until = _obstacle(facts)
    if not facts.was_read:
        return CoverageStatus(CoverageState.WAITING, reason or FIRST_POLL, until)
    if not facts.is_wanting:
        return CoverageStatus(CoverageState.COMPLETE, reason, until)
    if facts.is_filling and not reason:
        return CoverageStatus(
            CoverageState.FILLING, _to_read(facts.missing_ids) if facts.missing_ids else PAST_TO_READ
        )
    return CoverageStatus(CoverageState.MISSING, reason or NEXT_PLAN, until)


def _preview_status(facts: CoverageFacts) -> CoverageStatus:
    if facts.parked_reason:
        return CoverageStatus(CoverageState.UNREADABLE, facts.parked_reason, facts.lost_at)
    if not facts.was_previewed:
        return CoverageStatus(CoverageState.WAITING, FIRST_PREVIEW, facts.previews_blocked_until)
    reason = (
        Reason("preview_waits", "the site asked for a pause; {sees}", sees=PREVIEW_SEES)
        if facts.previews_blocked_until
        else PREVIEW_SEES
    )
    return CoverageStatus(CoverageState.PREVIEW, reason, facts.previews_blocked_until)


def _to_read(missing_ids: int) -> Reason:
    return Reason(
        "ids_to_read", "{count} message id to read", "{count} message ids to read", count=missing_ids
    )


def _obstacle(facts: CoverageFacts) -> tuple[Reason | None, datetime | None]:
    if facts.parked_reason:
        return facts.parked_reason, facts.parked_until
    if facts.blocked_until:
        return ACCOUNT_WAITS, facts.blocked_until
    if facts.fill_error and facts.is_wanting:
        return facts.fill_error, facts.fill_again_at
    return None, None
