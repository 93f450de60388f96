"""What the gate hands out, and what it needs of the stores."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from telegram_assistant.ai.protocols import Vector
from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.understanding.policy import Allowed, FallbackReason, PendingImprovement, ProviderRequest, Tier
from telegram_assistant.telemetry.metrics import AI_RESULTS


class Policies(Protocol):
    """stores.postgres.ai_policies."""

    async def of_channel(self, channel_id: ChannelId) -> Allowed: ...

    async def of_channels(self, channel_ids: Collection[ChannelId]) -> Mapping[ChannelId, Allowed]: ...

    async def of_tenant(self, tenant_id: TenantId) -> Allowed: ...


class Results(Protocol):
    """stores.postgres.ai_results."""

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, str | None]: ...

    async def keep(self, asked: ProviderRequest, answers: Mapping[bytes, str | None]) -> None: ...


class ImprovementQueue(Protocol):
    """stores.postgres.provider_wanted."""

    async def add(self, *wanted: PendingImprovement) -> None: ...


class Copies(Protocol):
    """stores.postgres.near_texts."""

    async def originals(self, texts: Sequence[str]) -> Sequence[bytes]: ...


@dataclass(frozen=True, slots=True)
class Material:
    """What is known of a post before it is tagged."""

    text: str
    channel_id: ChannelId
    post_id: PostId | None = None
    pictures: Mapping[Tier, str] = field(default_factory=dict)
    """What its pictures show and say, by who looked."""
    is_service: bool = False
    is_history: bool = False
    """Nothing new is paid for it; what was paid for before is used."""

    def text_for(self, tier: Tier) -> str:
        """A local result knows nothing that a provider has seen: who sees the one may not see the other."""
        seen = self.pictures.get(tier) or self.pictures.get(Tier.LOCAL, "")
        return f"{self.text}\n\n{seen}" if seen else self.text


@dataclass(frozen=True, slots=True)
class Understood[T]:
    """A result and where it came from. No value: policy forbids it, or nobody could."""

    value: T | None
    tier: Tier | None
    provider: str
    model: str
    prompt_version: str
    reason: FallbackReason | None = None
    """Why it is no provider's."""
    is_cached: bool = False
    cost_micro: int = 0
    is_wanted: bool = False
    """A provider may improve it later: a row was left."""
    local: T | None = None
    """What this machine says, also where a provider has answered; for tags only."""


@dataclass(frozen=True, slots=True)
class PostVectors:
    """Those that could be made, all by one model. A post that is missing has none: policy forbids it, or nobody could now."""

    model: str
    vectors: Mapping[PostId, Vector]
    reasons: Mapping[PostId, FallbackReason]
    """Why the others have none."""


def count_result[T](purpose: str, result: Understood[T]) -> Understood[T]:
    origin = "none" if result.tier is None else "cache" if result.is_cached else result.tier.value
    AI_RESULTS.labels(purpose, origin, result.reason.value if result.reason else "").inc()
    return result


def key_of(*parts: str) -> bytes:
    """The same question has the same key, whatever stands at the border of two parts."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).digest()
