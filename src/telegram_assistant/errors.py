"""Everything that can go wrong, as one small tree.

    AssistantError
    ├── Busy            wait: the other side cannot answer now; nobody's fault, no attempt is used up
    │   ├── Flooded     Telegram asks to wait: nothing is sent until then
    │   └── Unanswered  Telegram does not answer
    ├── Rejected        never: this input cannot be processed, however often it is tried
    │   ├── AccessLost  this account may not read the channel any more; another one might
    │   ├── Missing     there is no such thing for whoever asks
    │   ├── Forbidden   whoever asks may not
    │   └── Conflicting something else stands in the way as things are now
    ├── Unreadable      a linked page cannot be had; the post goes on without it
    ├── LeaseLost       stop: somebody else owns this work now; what is in hand must not be written
    ├── AccountRefused  Telegram does not accept the login any more; a person must look at the account
    ├── UnknownMarkup   a public preview is written in a way that this version does not know; an update may
    ├── ProviderFailed  an AI provider gave no usable answer; another one, or the local result, takes its place
    ├── SettingsError   the environment does not make sense; every problem is listed at once
    └── CannotStart     a role cannot begin; the text says why and what to do
        └── InUse       another process has what only one may have

Unreadable, AccountRefused and ProviderFailed stand beside the enums that they carry: in domain/understanding/pages.py,
domain/accounts/account.py and domain/understanding/policy.py. Anything else that is raised is a bug.
"""

from collections.abc import Sequence
from enum import StrEnum


class AssistantError(Exception):
    """The root: catch it only where a person must be told."""


class Busy(AssistantError):
    """The other side cannot answer now; try again after `retry_after_seconds`."""

    def __init__(self, what: str, *, retry_after_seconds: float = 1.0) -> None:
        super().__init__(what)
        self.retry_after_seconds = retry_after_seconds


class Flooded(Busy):
    """Telegram asks this account to leave a method alone; nothing is sent before `retry_after_seconds` are over."""


class NoAnswer(StrEnum):
    """Why Telegram does not answer, as metrics name it."""

    TIMEOUT = "timeout"
    CONNECTION = "connection"
    NETWORK = "network"


class Unanswered(Busy):
    """Telegram does not answer."""

    def __init__(self, what: str, *, reason: NoAnswer, retry_after_seconds: float = 1.0) -> None:
        super().__init__(what, retry_after_seconds=retry_after_seconds)
        self.reason = reason


class Rejected(AssistantError):
    """This input can never be processed; the text says why."""


class AccessLost(Rejected):
    """An account may not read a channel any more; another one might."""


class Missing(Rejected):
    """There is no such thing for whoever asks. What belongs to others is missing in the same words."""


class Forbidden(Rejected):
    """Whoever asks is known, and may not."""


class Conflicting(Rejected):
    """The wish makes sense, but something else stands in its way; the text says what."""


class LeaseLost(AssistantError):
    """Another process owns this work now."""


class UnknownMarkup(AssistantError):
    """A web page is not written as we know it; the text says what is missing."""


class SettingsError(AssistantError):
    """The environment does not make sense."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class CannotStart(AssistantError):
    """A role cannot begin; `remedy` says what to do about it."""

    def __init__(self, why: str, *, remedy: str) -> None:
        super().__init__(f"{why}. {remedy}")
        self.why = why
        self.remedy = remedy


class InUse(CannotStart):
    """Another process has what only one may have."""
