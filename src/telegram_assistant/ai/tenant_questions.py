"""Vectors of tenants' questions. API requests reach a model only through this module, and never at another tenant's cost."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from telegram_assistant.ai.answers import Understood, count_result
from telegram_assistant.ai.protocols import TextKind, Vector
from telegram_assistant.ai.questions import VECTORS
from telegram_assistant.ai.vectors import VectorMaker
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.understanding.policy import AiPolicy, Allowed, ProviderRequest, Urgency

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


class TenantQuestions:
    """One per process."""

    def __init__(self, maker: VectorMaker, *, has_consented: Callable[[TenantId], Awaitable[bool]]) -> None:
        self._maker = maker
        self._has_consented = has_consented

    async def vectors(self, questions: Sequence[str], *, tenant_id: TenantId) -> Understood[tuple[Vector, ...]]:
        """Vectors by the same model as those of posts. A provider is called only with the owner's consent, and the tenant pays."""
        may_pay = self._maker.needs_provider and await self._has_consented(tenant_id)
        allowed = Allowed(AiPolicy.PROVIDER, (tenant_id,)) if may_pay else Allowed(AiPolicy.LOCAL)
        return count_result(VECTORS, await self._maker.make(questions, TextKind.QUERY, allowed, Urgency.QUESTION))
