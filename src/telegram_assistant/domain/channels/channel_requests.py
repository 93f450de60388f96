"""Requests to follow channels: their kinds and states, and when each is expected to be served."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil

from telegram_assistant.domain.accounts.budget import DAY, Cost, SavedMeter, budget_of, meter_of
from telegram_assistant.reasons import Reason

MAX_OPEN_REQUESTS = 10_000
"""The most open requests of one tenant."""
PREVIEW_SECONDS = 3.0
"""Pause between two public preview pages.

No limit is published; one page a second was served for as long as it was tried.
"""
SHORT_WAIT_SECONDS = 10.0
"""An account waits so long by itself."""


class RequestKind(StrEnum):
    """How a request names its channels. Each kind uses a Telegram method with its own budget."""

    USERNAME = "username"
    INVITE = "invite"
    DIALOGS = "dialogs"
    """All channels that the account has joined."""
    LIST = "list"
    """The channels of a folder shared by a link."""
    FOLDER = "folder"
    """The channels of a folder of the account, now and later."""
    ACCESS = "access"
    """A followed channel that this account resolves because it cannot open it yet. Belongs to no tenant."""
    LISTING = "listing"
    """Lists what the account has joined, to pick from; follows nothing."""
    PICK = "pick"
    """A channel that was picked from such a list, by its id."""
    UNREADABLE = "unreadable"
    """A line of a list that names no channel. It is never served."""


METHODS = {
    RequestKind.USERNAME: "contacts.resolveUsername",
    RequestKind.INVITE: "messages.importChatInvite",
    RequestKind.DIALOGS: "messages.getDialogs",
    RequestKind.LIST: "chatlists.checkChatlistInvite",
    RequestKind.FOLDER: "messages.getDialogFilters",
    RequestKind.ACCESS: "contacts.resolveUsername",
    RequestKind.LISTING: "messages.getDialogs",
    RequestKind.PICK: "",
    RequestKind.UNREADABLE: "",
}
"""The Telegram method whose budget each kind uses; empty: none, it is served from what is stored."""
LOOK_UPS_PER_DAY = round(
    min(limit.per_second for limit in budget_of(METHODS[RequestKind.USERNAME]).limits) * DAY
)
"""How many names an account may resolve per day in the long run."""
_LOOK_UPS = Reason("name_look_ups", "name look-ups")
_LISTS_OF_CHATS = Reason("requests_for_chats", "requests for the list of chats")
SPENDS = {
    RequestKind.USERNAME: _LOOK_UPS,
    RequestKind.INVITE: Reason("joins", "joins"),
    RequestKind.DIALOGS: _LISTS_OF_CHATS,
    RequestKind.LIST: Reason("requests_for_shared_folders", "requests for shared folders"),
    RequestKind.FOLDER: Reason("requests_for_folders", "requests for folders"),
    RequestKind.ACCESS: _LOOK_UPS,
    RequestKind.LISTING: _LISTS_OF_CHATS,
}

FASTER = Reason(
    "faster_than_names",
    "folders, t.me/addlist links and the list of joined channels are faster: they need no name look-ups; "
    "public previews need no account",
)
TOO_MANY = Reason(
    "too_many_open_requests",
    "you already have {max_requests:,} open requests, the maximum; {faster}",
    max_requests=MAX_OPEN_REQUESTS,
    faster=FASTER,
)
NO_ACCOUNT = Reason(
    "no_account_for_request",
    "no account can do it: log one in, or ask the operator to switch on reading without one",
)
NO_OWN_ACCOUNT = Reason("own_account_needed", "this needs an account of your own: log one in")
NOT_RUNNING = Reason(
    "account_not_running", "no process uses the account right now; check that the ingest role is running"
)
TAKEN = Reason("request_taken", "its look-up is in progress")
NEXT = Reason("request_next", "it is next")
JOINED = Reason("joined_channels", "channels that the account has joined")
LISTING = Reason("list_of_joined_channels", "list of joined channels")


def named_folder(title: str) -> Reason:
    """A folder of the account, as people write it."""
    return Reason("named_folder", "folder {title}", title=title)


class RequestState(StrEnum):
    """The state of a request."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"


class RequestFate(StrEnum):
    """The outcome of a request, as people see it."""

    WAITING = "waiting"
    FOLLOWED = "followed"
    ALREADY_FOLLOWED = "already_followed"
    FAILED = "failed"

    @property
    def state(self) -> RequestState:
        return {RequestFate.WAITING: RequestState.OPEN, RequestFate.FAILED: RequestState.FAILED}.get(
            self, RequestState.DONE
        )

    @classmethod
    def from_state(cls, state: RequestState, *, was_followed: bool) -> "RequestFate":
        if state is RequestState.DONE:
            return cls.ALREADY_FOLLOWED if was_followed else cls.FOLLOWED
        return cls.WAITING if state is RequestState.OPEN else cls.FAILED


@dataclass(frozen=True, slots=True)
class ServingAccount:
    """An account that may serve a tenant's requests. `limits` are its stored meters by method."""

    is_own: bool
    is_running: bool
    limits: Mapping[str, SavedMeter]

    def seconds_until(self, kind: RequestKind, request_count: int) -> float:
        """How long until floods and the budget allow so many requests of a kind."""
        budget = budget_of(METHODS[kind])
        meter = meter_of(budget, self.limits.get(budget.method), 0.0)
        return max(meter.blocked_seconds(0.0), meter.seconds_until(0.0, Cost(units=request_count)))

    def is_blocked(self, kind: RequestKind) -> bool:
        meter = self.limits.get(budget_of(METHODS[kind]).method)
        return meter is not None and meter.blocked_seconds > 0


@dataclass(frozen=True, slots=True)
class Capacity:
    """The accounts and previews that serve a tenant's open requests."""

    accounts: Sequence[ServingAccount]
    sharing_tenants: int
    """Other tenants whose names wait for the same accounts, served in turn."""
    has_previews: bool
    """Whether preview pages resolve public names if no account can."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """Why a request waits, when it is tried next, and its estimated end. None: unknown."""

    reason: Reason
    next_try_at: datetime | None = None
    estimated_end: datetime | None = None


def expect(kind: RequestKind, position: int, capacity: Capacity, *, now: datetime) -> Expectation:
    """The expectation for the tenant's open request of a kind at a position, counted from 1,
    if nothing changes.
    """
    is_name = kind is RequestKind.USERNAME
    accounts = [account for account in capacity.accounts if account.is_own or is_name]
    turns = position * (1 + capacity.sharing_tenants) if is_name else position
    if not accounts and is_name and capacity.has_previews:
        return Expectation(_ahead(position), now, now + timedelta(seconds=turns * PREVIEW_SECONDS))
    if not accounts:
        return Expectation(NO_ACCOUNT if is_name else NO_OWN_ACCOUNT)
    running_accounts = [account for account in accounts if account.is_running]
    if not running_accounts:
        return Expectation(NOT_RUNNING)
    soonest = min(running_accounts, key=lambda account: account.seconds_until(kind, 1))
    pause_seconds = soonest.seconds_until(kind, 1)
    return Expectation(
        _why(kind, soonest) if pause_seconds > SHORT_WAIT_SECONDS else _ahead(position),
        now + timedelta(seconds=pause_seconds),
        now + timedelta(seconds=_seconds_together(kind, turns, running_accounts)),
    )


def _seconds_together(kind: RequestKind, request_count: int, accounts: Sequence[ServingAccount]) -> float:
    """The time in which the accounts share the requests,
    leaving out the slowest accounts if the others finish sooner without them.
    """

    def among(count: int) -> float:
        return sorted(account.seconds_until(kind, ceil(request_count / count)) for account in accounts)[
            count - 1
        ]

    return min(among(count) for count in range(1, len(accounts) + 1))


def _why(kind: RequestKind, account: ServingAccount) -> Reason:
    if account.is_blocked(kind):
        return Reason("account_waits_with", "Telegram asks the account to pause {what}", what=SPENDS[kind])
    return Reason("account_used_up", "the account has reached its limit of {what} for now", what=SPENDS[kind])


def _ahead(position: int) -> Reason:
    if position == 1:
        return NEXT
    return Reason(
        "requests_first",
        "{count:,} of your requests comes first",
        "{count:,} of your requests come first",
        count=position - 1,
    )
