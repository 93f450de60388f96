"""Tenants' own questions to models: vectors of searches, answers, texts.

Requests reach a model only here, and never at another's cost.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from telegram_assistant.ai.gate_results import Understood, count_result
from telegram_assistant.ai.outputs import Prose
from telegram_assistant.ai.prices import Prices
from telegram_assistant.ai.prompting import Prompt
from telegram_assistant.ai.protocols import Hear, TextKind, Vector
from telegram_assistant.ai.provider_chain import ProviderChain
from telegram_assistant.ai.providers import ConfiguredProvider
from telegram_assistant.ai.questions import OVERHEAD_TOKENS, VECTORS, about_prose
from telegram_assistant.ai.vectors import VectorMaker
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.understanding.policy import (
    AiPolicy,
    Allowed,
    ModelTask,
    ProviderRequest,
    Urgency,
)
from telegram_assistant.domain.understanding.spending import Tokens

MAX_RECENT = 1000


@dataclass(slots=True)
class RecentResults:
    """A cache of this process's newest answers. API requests may not write to the cache of posts' results."""

    _answers: OrderedDict[bytes, str | None] = field(default_factory=OrderedDict)

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, str | None]:
        return {key: self._answers[key] for key in keys if key in self._answers}

    async def keep(self, _request: ProviderRequest, answers: Mapping[bytes, str | None]) -> None:
        self._answers |= answers
        while len(self._answers) > MAX_RECENT:
            self._answers.popitem(last=False)


@dataclass(frozen=True, slots=True)
class WritingOffer:
    """The model that would write, and the most that it may cost in millionths of the unit."""

    provider: str
    model: str
    highest_micro: int
    unit: str


class TenantQuestions:
    """One per process."""

    def __init__(
        self,
        sources: Sequence[ConfiguredProvider],
        *,
        maker: VectorMaker,
        chain: ProviderChain,
        prices: Prices,
        has_consented: Callable[[TenantId], Awaitable[bool]],
    ) -> None:
        self._writers = [source for source in sources if ModelTask.CHAT in source.models]
        self._maker = maker
        self._chain = chain
        self._prices = prices
        self._has_consented = has_consented

    @property
    def has_writers(self) -> bool:
        """Whether any provider could write a text."""
        return bool(self._writers)

    async def vectors(
        self, questions: Sequence[str], *, tenant_id: TenantId
    ) -> Understood[tuple[Vector, ...]]:
        """Vectors by the same model as those of posts.

        A provider is called only with the owner's consent, and the tenant pays.
        """
        allowed_use = (
            await self._load_allowed(tenant_id) if self._maker.needs_provider else Allowed(AiPolicy.LOCAL)
        )
        return count_result(
            VECTORS, await self._maker.make(questions, TextKind.QUERY, allowed_use, Urgency.QUESTION)
        )

    async def offer(
        self, character_count: int, *, max_tokens: int, tenant_id: TenantId
    ) -> WritingOffer | None:
        """The highest price of a text about so many characters.

        None without a provider, or without the owner's consent.
        """
        if not self._writers or not await self._has_consented(tenant_id):
            return None
        max_spent = Tokens(character_count + OVERHEAD_TOKENS, max_tokens)
        prices = [
            self._prices.price_of(source.name, source.models[ModelTask.CHAT]).cost_of(max_spent)
            for source in self._writers
        ]
        first_writer = self._writers[0]
        return WritingOffer(
            first_writer.name, first_writer.models[ModelTask.CHAT], max(prices), self._prices.unit
        )

    async def write(
        self,
        prose_prompt: Prompt,
        data: str,
        *,
        tenant_id: TenantId,
        urgency: Urgency,
        max_tokens: int,
        hear: Hear | None = None,
        **blanks: str,
    ) -> Understood[Prose]:
        """Text about the data, at the tenant's cost.

        `hear` gets its pieces, unless the answer is known already. No local substitute.
        """
        question = about_prose(
            prose_prompt, data, tenant_id=tenant_id, max_tokens=max_tokens, hear=hear, **blanks
        )
        allowed_use = await self._load_allowed(tenant_id) if self._writers else Allowed(AiPolicy.PROVIDER)
        return count_result(prose_prompt.name, await self._chain.understand(question, allowed_use, urgency))

    async def _load_allowed(self, tenant_id: TenantId) -> Allowed:
        return (
            Allowed(AiPolicy.PROVIDER, (tenant_id,))
            if await self._has_consented(tenant_id)
            else Allowed(AiPolicy.LOCAL)
        )
