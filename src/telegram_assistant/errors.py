"""Every error of the program, as one small tree.

    AssistantError
    ├── Busy            wait: the other side cannot answer now; nobody's fault, no attempt is used up
    │   ├── Throttled   the caller has had its share for now
    │   ├── Flooded     Telegram demands a wait: nothing is sent until then
    │   ├── NoRoom      a disk of ours is full, or nearly
    │   └── Unanswered  Telegram does not answer
    ├── Rejected        never: this input cannot be processed, however often it is tried
    │   ├── AccessLost  this account may not read the channel any more; another one might
    │   ├── Missing     it does not exist for this caller
    │   ├── Forbidden   the caller may not do this
    │   └── Conflicting the current state does not allow it
    │       └── MediaUnavailable  a file of a post cannot be shown now; its `why` says what is the matter
    ├── Unreadable      a linked page cannot be read; the post goes on without it
    ├── LeaseLost       stop: another process owns this work now; the work in hand must not be written
    ├── AccountRefused  Telegram does not accept the login any more; a person must look at the account
    ├── UnknownMarkup   a public preview has markup that this version does not know; an update may
    ├── NoThumbnail     a picture cannot be made smaller; a page shows a tile in its place
    ├── ProviderFailed  an AI provider gave no usable answer;
    │                   another provider, or the local result, replaces it
    ├── SettingsError   the environment does not make sense; every problem is listed at once
    └── CannotStart     a role cannot start; the reason says why and what to do
        └── InUse       another process has what only one may have

Unreadable, AccountRefused, ProviderFailed and MediaUnavailable stand beside the enums that they carry: in
domain/understanding/pages.py, domain/accounts/account.py, domain/understanding/policy.py and
domain/media/showing.py. Anything else that is raised is a bug.

Busy, Rejected, Unreadable, AccountRefused, UnknownMarkup and CannotStart carry a Reason, which interfaces put
into the reader's language.
"""

from collections.abc import Sequence
from enum import StrEnum

from telegram_assistant.reasons import Reason


class AssistantError(Exception):
    """The root. Catch it only where a person must be informed."""


class Busy(AssistantError):
    """The other side cannot answer now; try again after `retry_after_seconds`."""

    def __init__(self, reason: Reason, *, retry_after_seconds: float = 1.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_seconds = retry_after_seconds


class Throttled(Busy):
    """The caller, or its tenant, has asked for more than its share; others are still answered. HTTP: 429."""


class Flooded(Busy):
    """Telegram demands that this account leaves a method alone.

    Nothing is sent before `retry_after_seconds` are over.
    """


class NoRoom(Busy):
    """A disk of ours has no room for what is to be written now."""


class NoAnswer(StrEnum):
    """Why Telegram does not answer, as used in metrics."""

    TIMEOUT = "timeout"
    CONNECTION = "connection"
    NETWORK = "network"


class Unanswered(Busy):
    """Telegram does not answer."""

    def __init__(self, reason: Reason, *, kind: NoAnswer, retry_after_seconds: float = 1.0) -> None:
        super().__init__(reason, retry_after_seconds=retry_after_seconds)
        self.kind = kind


class Rejected(AssistantError):
    """This input can never be processed; the reason says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


class AccessLost(Rejected):
    """An account may not read a channel any more; another one might."""


class Missing(Rejected):
    """The object does not exist for this caller. Those of other tenants are missing with the same reason."""


class Forbidden(Rejected):
    """The caller is known, and may not do this."""


class Conflicting(Rejected):
    """The request makes sense, but the current state does not allow it. The reason says why."""


class LeaseLost(AssistantError):
    """Another process owns this work now."""


class UnknownMarkup(AssistantError):
    """A web page does not have the expected markup. The reason says what is missing."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


class SettingsError(AssistantError):
    """The environment does not make sense."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class CannotStart(AssistantError):
    """A role cannot start. `remedy` says what to do about it."""

    def __init__(self, why: Reason, *, remedy: Reason) -> None:
        self.reason = Reason("cannot_start", "{why}. {remedy}", why=why, remedy=remedy)
        super().__init__(self.reason)
        self.why = why
        self.remedy = remedy


class InUse(CannotStart):
    """Another process has what only one may have."""
