"""Computes vectors with the installation's one model: on this machine, on a server of the operator,
or at one provider.
"""

import asyncio
import base64
import json
from array import array
from collections.abc import Mapping, Sequence

from telegram_assistant.ai.gate_results import Results, Understood, key_of
from telegram_assistant.ai.paid_call import CallOrder, Progress, ProviderCaller, Withheld
from telegram_assistant.ai.protocols import Embedded, Embeddings, TextKind, Vector
from telegram_assistant.ai.providers import ConfiguredProvider
from telegram_assistant.ai.questions import OVERHEAD_TOKENS
from telegram_assistant.ai.single_flight import SingleFlight
from telegram_assistant.domain.understanding.policy import (
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
from telegram_assistant.errors import Rejected
from telegram_assistant.telemetry.outages import OutageLog

type Made = Understood[tuple[Vector, ...]]

OWN_SERVER_SECONDS = 30.0
"""How long a server of the operator may take for the texts of one call."""


class VectorMaker:
    """Computes vectors.

    If a provider does, there is no local substitute: vectors of two models are not comparable.
    """

    def __init__(
        self,
        source: ConfiguredProvider | None,
        *,
        local: Embeddings,
        local_model: str | None,
        caller: ProviderCaller,
        flights: SingleFlight,
        results: Results,
        wait_seconds: Mapping[Urgency, float],
    ) -> None:
        self._source = source
        self._local = local
        self._local_model = local_model
        self._caller = caller
        self._flights = flights
        self._results = results
        self._wait_seconds = wait_seconds
        self._outage = OutageLog("local vectors")

    @property
    def needs_provider(self) -> bool:
        return self._local_model is None

    def terms(self, allowed: Allowed) -> Allowed:
        """The terms by which texts are batched together. With a local model the payers do not matter."""
        return (
            allowed
            if self._local_model is None or allowed.policy is AiPolicy.OFF
            else Allowed(AiPolicy.LOCAL)
        )

    async def make(self, texts: Sequence[str], kind: TextKind, allowed: Allowed, urgency: Urgency) -> Made:
        if self._local_model is not None and allowed.policy is not AiPolicy.OFF:
            return await self._here(texts, kind, self._local_model)
        if allowed.policy is not AiPolicy.PROVIDER:
            return _none(FallbackReason.POLICY)
        if self._source is None:
            return _none(FallbackReason.NO_PROVIDER)
        try:
            return await self._there(texts, kind, self._source, allowed, urgency)
        except Withheld as withheld:
            return _none(withheld.reason)
        except ProviderFailed as error:
            return _none(reason_of(error.failure))

    async def _here(self, texts: Sequence[str], kind: TextKind, model: str) -> Made:
        try:
            embedded_texts = await self._local.embed(
                texts, kind, model=model, timeout_seconds=OWN_SERVER_SECONDS
            )
        except Rejected as error:
            self._outage.log_failure(error)
            return _none(FallbackReason.NO_PROVIDER)
        except ProviderFailed as error:
            self._outage.log_failure(error)
            return _none(reason_of(error.failure))
        self._outage.log_recovery()
        return Understood(embedded_texts.vectors, Tier.LOCAL, "local", model, "")

    async def _there(
        self,
        texts: Sequence[str],
        kind: TextKind,
        source: ConfiguredProvider,
        allowed: Allowed,
        urgency: Urgency,
    ) -> Made:
        """Computes vectors with a provider; cached ones are not paid for again."""
        model = source.models[ModelTask.EMBEDDINGS]
        keys = [key_of("vector", source.name, model + source.prefixes, kind.value, text) for text in texts]
        known_vectors = {
            key: _unpack_vector(data)
            for key, data in (await self._results.find(keys)).items()
            if data is not None
        }
        unknown_texts = {key: text for key, text in zip(keys, texts, strict=True) if key not in known_vectors}
        cost = 0
        if unknown_texts:
            order = CallOrder(
                source,
                ModelTask.EMBEDDINGS,
                "vectors",
                Tokens(sum(map(len, unknown_texts.values())) + OVERHEAD_TOKENS),
                allowed.payers,
                urgency,
            )

            async def send(timeout_seconds: float) -> Embedded:
                return await source.provider.embed(
                    list(unknown_texts.values()), kind, model=model, timeout_seconds=timeout_seconds
                )

            async def fly(progress: Progress) -> dict[bytes, Vector]:
                embedded_texts = await self._caller.call(order, send, progress=progress)
                if len(embedded_texts.vectors) != len(unknown_texts):
                    raise ProviderFailed(Failure.UNUSABLE, "another number of vectors than of texts")
                new_vectors = dict(zip(unknown_texts, embedded_texts.vectors, strict=True))
                await self._results.keep(
                    ProviderRequest(ModelTask.EMBEDDINGS, source.name, model, ""),
                    {key: _pack_vector(vector) for key, vector in new_vectors.items()},
                )
                return new_vectors

            until = asyncio.get_running_loop().time() + self._wait_seconds[urgency]
            fetched_vectors, cost = await self._flights.join(
                key_of(*(key.hex() for key in unknown_texts)), order, fly, until=until
            )
            known_vectors |= fetched_vectors
        return Understood(
            tuple(known_vectors[key] for key in keys),
            Tier.PROVIDER,
            source.name,
            model,
            "",
            is_cached=not unknown_texts,
            cost_micro=cost,
        )


def _none(reason: FallbackReason) -> Made:
    return Understood(None, None, "", "", "", reason=reason)


def _pack_vector(vector: Vector) -> str:
    return json.dumps(base64.b64encode(array("f", vector).tobytes()).decode())


def _unpack_vector(data: str) -> Vector:
    return tuple(array("f", base64.b64decode(json.loads(data))))
