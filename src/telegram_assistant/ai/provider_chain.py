"""Asks the providers in order: cached answers first, then one call,
with one repair if the answer has the wrong shape.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from telegram_assistant.ai.gate_results import Results, Understood
from telegram_assistant.ai.outputs import Output, Prose, parse
from telegram_assistant.ai.paid_call import CallOrder, Progress, ProviderCaller, Withheld
from telegram_assistant.ai.prompting import prompt
from telegram_assistant.ai.protocols import Reply
from telegram_assistant.ai.providers import ConfiguredProvider
from telegram_assistant.ai.questions import ProviderAnswer, Question, chat, highest_of
from telegram_assistant.ai.single_flight import SingleFlight
from telegram_assistant.domain.understanding.policy import (
    WORTH_TRYING_AGAIN,
    AiPolicy,
    Allowed,
    Failure,
    FallbackReason,
    ModelTask,
    ProviderFailed,
    ProviderRequest,
    Tier,
    Urgency,
    reason_of,
)
from telegram_assistant.domain.understanding.spending import Tokens

TRIAL_SECONDS = 1.5
"""How long live work waits for the trial call to a provider that was unavailable;
the trial itself continues.
"""


class ProviderChain:
    """Asks providers. The caller has already checked the policy."""

    def __init__(
        self,
        sources: Sequence[ConfiguredProvider],
        *,
        caller: ProviderCaller,
        flights: SingleFlight,
        results: Results,
        wait_seconds: Mapping[Urgency, float],
    ) -> None:
        self._sources = sources
        self._caller = caller
        self._flights = flights
        self._results = results
        self._wait_seconds = wait_seconds

    async def understand[T: Output](
        self, question: Question[T], allowed: Allowed, urgency: Urgency
    ) -> Understood[T]:
        """The answer with its origin, or why there is none: the policy, the budget, or the provider."""
        answer: ProviderAnswer[T] | FallbackReason = FallbackReason.POLICY
        if allowed.policy is AiPolicy.PROVIDER:
            answer = await self.ask(question, allowed, urgency)
        if isinstance(answer, FallbackReason):
            return Understood(None, None, "", "", question.prompt.label, reason=answer)
        source = answer.source
        return Understood(
            answer.value,
            Tier.PROVIDER,
            source.name,
            source.models[question.work],
            question.prompt.label,
            None,
            answer.is_cached,
            answer.cost_micro,
        )

    async def ask[T: Output](
        self,
        question: Question[T],
        allowed: Allowed,
        urgency: Urgency,
        *,
        cached: Mapping[bytes, str | None] | None = None,
        only_known: bool = False,
    ) -> ProviderAnswer[T] | FallbackReason:
        """The answer of the first provider that gives one, or why none did.

        `cached` are cached answers, if already loaded.
        """
        now = asyncio.get_running_loop().time()
        until = now + self._wait_seconds[urgency]
        sources = {question.key(source): source for source in self._sources if question.work in source.models}
        if cached is None:
            cached = await self._results.find(list(sources))
        for key, source in sources.items():
            if (cached_answer := cached.get(key)) is not None:
                return ProviderAnswer(
                    question.take(question.shape.model_validate_json(cached_answer)),
                    source,
                    is_cached=True,
                    cost_micro=0,
                )
        if only_known and sources:
            return FallbackReason.HISTORY
        reasons = []
        for key, source in sources.items():
            if key in cached:
                reasons.append(FallbackReason.BLACKLIST)
                continue
            order = CallOrder(
                source, question.work, question.prompt.name, question.highest, allowed.payers, urgency
            )
            try:
                leave_at = (
                    min(until, now + TRIAL_SECONDS)
                    if urgency is Urgency.LIVE and self._caller.breaker(order).has_tripped
                    else until
                )
                value, cost = await self._flights.join(
                    key, order, partial(self._fly, question, order, key), until=leave_at
                )
                return ProviderAnswer(question.take(value), source, is_cached=False, cost_micro=cost)
            except Withheld as withheld:
                reasons.append(withheld.reason)
            except ProviderFailed as error:
                reasons.append(reason_of(error.failure))
        return next(
            (reason for reason in reasons if reason in WORTH_TRYING_AGAIN),
            reasons[-1] if reasons else FallbackReason.NO_PROVIDER,
        )

    async def _fly[T: Output](
        self, question: Question[T], order: CallOrder, key: bytes, progress: Progress
    ) -> T:
        """Makes the call; JSON of the wrong shape is repaired once, by the same model."""
        request = ProviderRequest(order.work, order.source.name, order.model, question.prompt.label)

        async def find_cached() -> Reply | None:
            cached_answers = await self._results.find([key])
            return (
                Reply(cached_answers[key] or "", Tokens(), is_blacklisted=cached_answers[key] is None)
                if key in cached_answers
                else None
            )

        async def send(timeout_seconds: float) -> Reply:
            return await question.send(order.source, question.instruction, timeout_seconds)

        reply = await self._caller.call(order, send, progress=progress, find_known_answer=find_cached)
        if reply.is_blacklisted:
            await self._results.keep(request, {key: None})
            raise ProviderFailed(Failure.BLACKLIST, "it does not speak about this")
        try:
            value = parse(question.shape, reply.text, prompt=question.prompt.text)
        except ProviderFailed:
            if issubclass(question.shape, Prose):
                raise
            value = await self._repair(question, order, reply.text, progress)
        value = question.accept(value)
        await self._results.keep(request, {key: value.model_dump_json()})
        return value

    async def _repair[T: Output](
        self, question: Question[T], order: CallOrder, answer: str, progress: Progress
    ) -> T:
        schema = json.dumps(question.shape.model_json_schema(), ensure_ascii=False)
        instruction = prompt("repair").instruct(
            answer, max_tokens=question.instruction.max_tokens, schema=schema
        )
        repair_order = replace(order, work=ModelTask.CHAT, purpose="repair", highest=highest_of(instruction))

        async def send(timeout_seconds: float) -> Reply:
            return await chat(order.source, instruction, timeout_seconds)

        reply = await self._caller.call(repair_order, send, progress=progress)
        return parse(question.shape, reply.text, prompt=f"{question.prompt.text}\n{prompt('repair').text}")
