"""How posts and questions are understood: by whom, how urgently, and why not by a provider."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.errors import AssistantError


class AiPolicy(StrEnum):
    """What may understand a channel's posts for a tenant."""

    OFF = "off"
    LOCAL = "local"
    PROVIDER = "provider"


STRICTEST_FIRST = (AiPolicy.OFF, AiPolicy.LOCAL, AiPolicy.PROVIDER)


class Urgency(IntEnum):
    """Who is served first where a provider has few streams: the smaller number."""

    QUESTION = 0
    DIGEST = 1
    LIVE = 2
    RETAGGING = 3
    BACKFILL = 4


class Tier(StrEnum):
    """Two kinds of results are kept side by side: who pays for a provider sees its results, the others see the local ones."""

    LOCAL = "local"
    PROVIDER = "provider"


class ModelTask(StrEnum):
    """What is asked of a model."""

    CHAT = "chat"
    VISION = "vision"
    EMBEDDINGS = "embeddings"


class PostSort(StrEnum):
    """What a post is for its readers."""

    NEWS = "news"
    OPINION = "opinion"
    ADVERTISING = "advertising"
    SERVICE = "service"


class Failure(StrEnum):
    """Why a provider gave no usable answer."""

    BLACKLIST = "blacklist"
    """It does not speak about this, and will not tomorrow."""
    NO_MONEY = "no_money"
    RATE = "rate"
    OUTAGE = "outage"
    LATE = "late"
    """No answer in time; it may have worked, and may be billed."""
    UNUSABLE = "unusable"
    """It answered, and not in the form that was asked for."""
    REFUSED = "refused"
    """It does not accept the request or the key."""


class ProviderFailed(AssistantError):
    """An AI provider gave no usable answer. Only the gate in front of the providers catches it."""

    def __init__(self, failure: Failure, what: str = "", *, retry_after_seconds: float = 0.0) -> None:
        super().__init__(f"{failure}: {what}" if what else failure)
        self.failure = failure
        self.retry_after_seconds = retry_after_seconds


class FallbackReason(StrEnum):
    """Why a result is not a provider's."""

    POLICY = "policy"
    HISTORY = "history"
    """Nothing is paid for history until somebody asks for it."""
    NO_PROVIDER = "no_provider"
    NO_BUDGET = "no_budget"
    BUSY = "busy"
    """All streams were taken for as long as this work may wait."""
    BREAKER = "breaker"
    """The provider has failed several times and is left alone for a while."""
    BLACKLIST = "blacklist"
    AWAY = "away"
    """No answer, none for now, or none without money: that says nothing about what was asked."""
    FAILED = "failed"


WORTH_TRYING_AGAIN = frozenset({FallbackReason.NO_BUDGET, FallbackReason.BUSY, FallbackReason.BREAKER, FallbackReason.AWAY, FallbackReason.FAILED})
"""What a provider could not do now, it may do later."""


def reason_of(failure: str) -> FallbackReason:
    """What a failure means for what was asked."""
    if failure == Failure.BLACKLIST:
        return FallbackReason.BLACKLIST
    return FallbackReason.AWAY if failure in {Failure.OUTAGE, Failure.LATE, Failure.RATE, Failure.NO_MONEY} else FallbackReason.FAILED


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may be done with a text, and who pays for it."""

    policy: AiPolicy
    payers: tuple[TenantId, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingImprovement:
    """A post whose local result a provider may improve later."""

    post_id: PostId
    work: str
    """The stage's word for it, like `tags`."""


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """What a kept answer is an answer to."""

    work: ModelTask
    provider: str
    model: str
    prompt_version: str


@dataclass(frozen=True, slots=True)
class VisionModel:
    """Who looks at pictures, and how."""

    provider: str
    model: str
    prompt_version: str


def policy_among(policies: tuple[AiPolicy, ...], *, is_private: bool, is_blocked: bool) -> AiPolicy:
    """A public channel is understood as the most generous subscriber wishes, a private one as the strictest."""
    if is_blocked or not policies:
        return AiPolicy.OFF
    by_strictness = sorted(policies, key=STRICTEST_FIRST.index)
    return by_strictness[0] if is_private else by_strictness[-1]
