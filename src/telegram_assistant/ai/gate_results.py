"""Results of the gate, and the protocols of the stores that it needs."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from telegram_assistant.ai.protocols import Vector
from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.understanding.policy import (
    Allowed,
    FallbackReason,
    PendingImprovement,
    ProviderRequest,
    Tier,
)
from telegram_assistant.telemetry.metrics import AI_RESULTS


class Policies(Protocol):
    """Implemented by `AiPolicies`."""

    async def of_channel(self, channel_id: ChannelId) -> Allowed: ...

    async def of_channels(self, channel_ids: Collection[ChannelId]) -> Mapping[ChannelId, Allowed]: ...


class Results(Protocol):
    """Implemented by `AiResults`."""

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, str | None]: ...

    async def keep(self, request: ProviderRequest, answers: Mapping[bytes, str | None]) -> None: ...


class ImprovementQueue(Protocol):
    """Implemented by `ProviderWanted`."""

    async def add(self, *improvement: PendingImprovement) -> None: ...


class Copies(Protocol):
    """Implemented by `NearTexts`."""

    async def originals(self, texts: Sequence[str]) -> Sequence[bytes]: ...


@dataclass(frozen=True, slots=True)
class Material:
    """The input for tagging a post."""

    text: str
    channel_id: ChannelId
    post_id: PostId | None = None
    pictures: Mapping[Tier, str] = field(default_factory=dict)
    """Descriptions and texts of its pictures, by tier."""
    addresses: Sequence[str] = ()
    """Addresses behind its words and buttons."""
    is_service: bool = False
    is_history: bool = False
    """No new call is paid for; answers paid for before are used."""

    def text_for(self, tier: Tier) -> str:
        """The text for a tier.

        A local result uses nothing from a provider, because its readers may not see provider results.
        """
        picture_text = self.pictures.get(tier) or self.pictures.get(Tier.LOCAL, "")
        return f"{self.text}\n\n{picture_text}" if picture_text else self.text


@dataclass(frozen=True, slots=True)
class Understood[T]:
    """A result and its origin. `value` is None if the policy forbids it or nothing could produce it."""

    value: T | None
    tier: Tier | None
    provider: str
    model: str
    prompt_version: str
    reason: FallbackReason | None = None
    """Why it does not come from a provider."""
    is_cached: bool = False
    cost_micro: int = 0
    is_wanted: bool = False
    """Whether a `provider_wanted` row was written, so that a provider may improve it later."""
    local: T | None = None
    """The local result, also if a provider has answered; for tags only."""


@dataclass(frozen=True, slots=True)
class PostVectors:
    """The vectors that could be computed, all by one model.

    A missing post has none: the policy forbids it, or the model is unavailable.
    """

    model: str
    vectors: Mapping[PostId, Vector]
    reasons: Mapping[PostId, FallbackReason]
    """Why the others have none."""


def count_result[T](purpose: str, result: Understood[T]) -> Understood[T]:
    origin = "none" if result.tier is None else "cache" if result.is_cached else result.tier.value
    AI_RESULTS.labels(purpose, origin, result.reason.value if result.reason else "").inc()
    return result


def key_of(*parts: str) -> bytes:
    """The cache key of a request; the parts are encoded so that moving text between them changes the key."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).digest()
