"""Policies for understanding posts and questions: which tier, how urgently, and why not a provider."""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum

from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.errors import AssistantError


class AiPolicy(StrEnum):
    """The models that may analyse a channel's posts for a tenant."""

    OFF = "off"
    LOCAL = "local"
    PROVIDER = "provider"


STRICTEST_FIRST = (AiPolicy.OFF, AiPolicy.LOCAL, AiPolicy.PROVIDER)


class Urgency(IntEnum):
    """The order in which calls get a provider's streams, the smallest number first."""

    QUESTION = 0
    DIGEST = 1
    LIVE = 2
    RETAGGING = 3
    BACKFILL = 4


class Tier(StrEnum):
    """The maker of a result: a local model or a provider.

    Both results are stored: tenants that pay for a provider see its result, the others see the local one.
    """

    LOCAL = "local"
    PROVIDER = "provider"


class ModelTask(StrEnum):
    """The task of a model."""

    CHAT = "chat"
    VISION = "vision"
    EMBEDDINGS = "embeddings"


class PostSort(StrEnum):
    """The genre of a post."""

    NEWS = "news"
    OPINION = "opinion"
    ADVERTISING = "advertising"
    SERVICE = "service"


class Failure(StrEnum):
    """Why a provider returned no usable answer."""

    BLACKLIST = "blacklist"
    """The provider refuses this content, and will refuse it again."""
    NO_MONEY = "no_money"
    RATE = "rate"
    OUTAGE = "outage"
    LATE = "late"
    """No answer in time; the call may have been processed, and may be billed."""
    UNUSABLE = "unusable"
    """The answer does not have the requested form."""
    REFUSED = "refused"
    """The provider does not accept the request or the key."""


class ProviderFailed(AssistantError):
    """An AI provider gave no usable answer. Only the gate in front of the providers catches it."""

    def __init__(self, failure: Failure, what: str = "", *, retry_after_seconds: float = 0.0) -> None:
        super().__init__(f"{failure}: {what}" if what else failure)
        self.failure = failure
        self.retry_after_seconds = retry_after_seconds


class FallbackReason(StrEnum):
    """Why a result does not come from a provider."""

    POLICY = "policy"
    HISTORY = "history"
    """Nothing is paid for history until somebody requests it."""
    NO_PROVIDER = "no_provider"
    NO_BUDGET = "no_budget"
    BUSY = "busy"
    """All streams were in use for as long as this work may wait."""
    BREAKER = "breaker"
    """The provider has failed several times, and its circuit breaker is open."""
    BLACKLIST = "blacklist"
    AWAY = "away"
    """The provider is unavailable, rate-limited or unpaid; the reason is not the content."""
    FAILED = "failed"


WORTH_TRYING_AGAIN = frozenset(
    {
        FallbackReason.NO_BUDGET,
        FallbackReason.BUSY,
        FallbackReason.BREAKER,
        FallbackReason.AWAY,
        FallbackReason.FAILED,
    }
)
"""Reasons for which a later call may succeed."""


def reason_of(failure: str) -> FallbackReason:
    """The fallback reason that a failure implies."""
    if failure == Failure.BLACKLIST:
        return FallbackReason.BLACKLIST
    return (
        FallbackReason.AWAY
        if failure in {Failure.OUTAGE, Failure.LATE, Failure.RATE, Failure.NO_MONEY}
        else FallbackReason.FAILED
    )


@dataclass(frozen=True, slots=True)
class Allowed:
    """The policy for a text, and the tenants that pay for it."""

    policy: AiPolicy
    payers: tuple[TenantId, ...] = ()


@dataclass(frozen=True, slots=True)
class Consent:
    """An owner's consent to send the tenant's texts to providers."""

    tenant_id: TenantId
    given_by: str
    given_at: datetime


@dataclass(frozen=True, slots=True)
class PendingImprovement:
    """A post whose local result a provider may improve later."""

    post_id: PostId
    work: str
    """The stage's name for the work, like `tags`."""


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """The request that a cached answer belongs to."""

    work: ModelTask
    provider: str
    model: str
    prompt_version: str


@dataclass(frozen=True, slots=True)
class VisionModel:
    """A model that analyses pictures, with its prompt version."""

    provider: str
    model: str
    prompt_version: str


def policy_among(policies: tuple[AiPolicy, ...], *, is_private: bool, is_blocked: bool) -> AiPolicy:
    """The policy of a channel: the most generous among the subscribers of a public one,
    the strictest of a private one.
    """
    if is_blocked or not policies:
        return AiPolicy.OFF
    by_strictness = sorted(policies, key=STRICTEST_FIRST.index)
    return by_strictness[0] if is_private else by_strictness[-1]
