"""The gate in front of every call to a model.

    policy -> cache -> breaker -> budget -> stream -> provider -> bill        and where that fails: the next provider, then local

Stages and features ask here and nowhere else. They always get an answer in time; it says where it came from and why:

    understood = await gate.tags(post.text, channel_id=post.channel_id, vocabulary=TAGS, urgency=Urgency.LIVE, post_id=post.post_id)
    if understood.value is not None:
        await enrichments.save(post, understood.value.tags, tier=understood.tier, model=understood.model)

Live work waits eight seconds for a provider. Then the local result goes on, and where a post is named a `provider_wanted` row is
left for later. Only our own stores raise (Busy); a provider never does.
"""

import asyncio
import base64
import hashlib
import json
from array import array
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from telegram_assistant.ai.calling import Caller, Order, Progress, Withheld
from telegram_assistant.ai.flights import Flights
from telegram_assistant.ai.local.understanding import Local
from telegram_assistant.ai.outputs import Output, PictureFacts, Tags, parse
from telegram_assistant.ai.prompting import Prompt, harmless, prompt
from telegram_assistant.ai.protocols import Embedded, Instruction, Picture, Reply, TextKind, Vector
from telegram_assistant.ai.providers import Source
from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.spending import Tokens
from telegram_assistant.domain.understanding import WORTH_TRYING_AGAIN, AiPolicy, Allowed, Asked, Failure, Reason, Tier, Urgency, Wanted, Work
from telegram_assistant.errors import ProviderFailed, Rejected
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import AI_RESULTS

log = get_logger()

WAIT_SECONDS = {Urgency.QUESTION: 60.0, Urgency.DIGEST: 120.0, Urgency.LIVE: 8.0, Urgency.RETAGGING: 30.0, Urgency.BACKFILL: 60.0}
TAGS_TOKENS = 400
PICTURE_TOKENS = 1000
SEEN_TOKENS = 4000
"""More than any model counts for one picture."""
OVERHEAD_TOKENS = 100
"""What a provider adds around a prompt."""


class Policies(Protocol):
    """stores.postgres.ai_policies."""

    async def of_channel(self, channel_id: ChannelId) -> Allowed: ...

    async def of_tenant(self, tenant_id: TenantId) -> Allowed: ...


class Results(Protocol):
    """stores.postgres.ai_results."""

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, str | None]: ...

    async def keep(self, asked: Asked, answers: Mapping[bytes, str | None]) -> None: ...


class Later(Protocol):
    """stores.postgres.provider_wanted."""

    async def add(self, wanted: Wanted) -> None: ...


@dataclass(frozen=True, slots=True)
class Understood[T]:
    """A result and where it came from. No value: policy forbids it, or nobody could."""

    value: T | None
    tier: Tier | None
    provider: str
    model: str
    prompt_version: str
    reason: Reason | None = None
    """Why it is no provider's."""
    is_cached: bool = False
    cost_micro: int = 0
    is_wanted: bool = False
    """A provider may improve it later: a row was left."""


@dataclass(frozen=True, slots=True)
class _Question[T: Output]:
    """What is asked, whoever answers it."""

    work: Work
    prompt: Prompt
    instruction: Instruction
    content: str
    shape: type[T]
    check: Callable[[T], T]
    highest: Tokens
    send: Callable[[Source, Instruction, float], Awaitable[Reply]]

    def key(self, source: Source) -> bytes:
        return key_of(self.work.value, source.name, source.models[self.work], self.prompt.label, self.instruction.system, self.content)


@dataclass(frozen=True, slots=True)
class _Found[T]:
    value: T
    source: Source
    is_cached: bool
    cost_micro: int


class Gate:
    """One per process."""

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        local: Local,
        local_model: str | None,
        caller: Caller,
        policies: Policies,
        results: Results,
        later: Later,
        wait_seconds: Mapping[Urgency, float] = WAIT_SECONDS,
    ) -> None:
        """`local_model` makes the vectors; None when a provider does."""
        self.sources = tuple(sources)
        self._local = local
        self._local_model = local_model
        self._caller = caller
        self._policies = policies
        self._results = results
        self._later = later
        self._wait_seconds = wait_seconds
        self._flights = Flights(caller)
        self._loading: asyncio.Task[object] | None = None

    async def close(self) -> None:
        await self._flights.close()
        if self._loading is not None:
            await self._loading

    async def tags(
        self, text: str, *, channel_id: ChannelId, vocabulary: Sequence[str], urgency: Urgency = Urgency.LIVE, post_id: PostId | None = None
    ) -> Understood[Tags]:
        """What a post is about, within the vocabulary. Locally, without a vocabulary: its keywords."""
        written = prompt("tagging")
        instruction = written.instruct(text, most_tokens=TAGS_TOKENS, vocabulary=", ".join(vocabulary))
        question = _Question(
            work=Work.CHAT,
            prompt=written,
            instruction=instruction,
            content=harmless(text),
            shape=Tags,
            check=lambda said: said.within(vocabulary, text),
            highest=_highest(instruction),
            send=_chat,
        )
        if not text.strip():
            return Understood(Tags(tags=()), Tier.LOCAL, "local", "", written.label)
        allowed = await self._policies.of_channel(channel_id)
        return await self._understand(question, allowed, urgency, lambda: self._local.tags(text, vocabulary=vocabulary), post_id)

    async def picture(
        self, picture: Picture, *, caption: str, channel_id: ChannelId, urgency: Urgency = Urgency.LIVE, post_id: PostId | None = None
    ) -> Understood[PictureFacts]:
        """What a picture shows and what is written in it; locally only the latter."""
        written = prompt("vision")
        instruction = written.instruct(caption, most_tokens=PICTURE_TOKENS)

        async def look(source: Source, told: Instruction, timeout_seconds: float) -> Reply:
            return await source.provider.look(told, picture, model=source.models[Work.VISION], timeout_seconds=timeout_seconds)

        question = _Question(
            work=Work.VISION,
            prompt=written,
            instruction=instruction,
            content=hashlib.sha256(picture.data).hexdigest() + harmless(caption),
            shape=PictureFacts,
            check=lambda said: said,
            highest=_highest(instruction, SEEN_TOKENS),
            send=look,
        )
        allowed = await self._policies.of_channel(channel_id)
        return await self._understand(question, allowed, urgency, lambda: self._local.picture(picture), post_id)

    async def answer[T: Output](
        self, written: Prompt, data: str, shape: type[T], *, tenant_id: TenantId, urgency: Urgency, most_tokens: int = 1000, **blanks: str
    ) -> Understood[T]:
        """A tenant's own question, at its own cost: digests, answers. There is no local answer; the feature does without."""
        instruction = written.instruct(data, most_tokens=most_tokens, **blanks)
        question = _Question(Work.CHAT, written, instruction, harmless(data), shape, lambda said: said, _highest(instruction), _chat)
        return await self._understand(question, await self._policies.of_tenant(tenant_id), urgency, None, None)

    async def vectors(
        self,
        texts: Sequence[str],
        *,
        kind: TextKind = TextKind.DOCUMENT,
        channel_id: ChannelId | None = None,
        tenant_id: TenantId | None = None,
        urgency: Urgency = Urgency.LIVE,
        post_id: PostId | None = None,
    ) -> Understood[tuple[Vector, ...]]:
        """By the one model of this installation. Where a provider makes them there is no local substitute: they could not be compared."""
        assert (channel_id is None) != (tenant_id is None), "either a channel's posts or a tenant's question"
        allowed = await (self._policies.of_channel(channel_id) if channel_id is not None else self._policies.of_tenant(TenantId(tenant_id or 0)))
        nothing: Understood[tuple[Vector, ...]] = Understood(None, None, "", "", "", reason=Reason.POLICY)
        if allowed.policy is AiPolicy.OFF:
            return _counted("vectors", nothing)
        if self._local_model is not None:
            return _counted("vectors", await self._local_vectors(texts, kind, self._local_model))
        if allowed.policy is not AiPolicy.PROVIDER:
            return _counted("vectors", nothing)
        source = next((one for one in self.sources if Work.EMBEDDINGS in one.models), None)
        if source is None:
            return _counted("vectors", replace(nothing, reason=Reason.NO_PROVIDER))
        try:
            return _counted("vectors", await self._provider_vectors(texts, kind, source, allowed, urgency))
        except Withheld as withheld:
            reason = withheld.reason
        except ProviderFailed:
            reason = Reason.FAILED
        return _counted("vectors", await self._left_for_later(replace(nothing, reason=reason), "vectors", post_id))

    async def _understand[T: Output](
        self, question: _Question[T], allowed: Allowed, urgency: Urgency, locally: Callable[[], Awaitable[T]] | None, post_id: PostId | None
    ) -> Understood[T]:
        written, purpose = question.prompt.label, question.prompt.name
        if allowed.policy is AiPolicy.OFF:
            return _counted(purpose, Understood(None, None, "", "", written, reason=Reason.POLICY))
        found: _Found[T] | Reason = Reason.POLICY
        if allowed.policy is AiPolicy.PROVIDER:
            if self._loading is None:  # the local result must not have to wait for its dictionaries after the provider was waited for
                self._loading = asyncio.create_task(self._local.load())
            found = await self._by_provider(question, allowed, urgency)
        if isinstance(found, _Found):
            model = found.source.models[question.work]
            told = Understood(found.value, Tier.PROVIDER, found.source.name, model, written, None, found.is_cached, found.cost_micro)
            return _counted(purpose, told)
        result: Understood[T] = Understood(None, None, "", "", written, reason=found)
        if locally is not None:
            try:
                result = Understood(await locally(), Tier.LOCAL, "local", "", written, reason=found)
            except ProviderFailed as error:
                log.info("not_understood_locally", purpose=purpose, why=str(error))
        return _counted(purpose, await self._left_for_later(result, purpose, post_id))

    async def _by_provider[T: Output](self, question: _Question[T], allowed: Allowed, urgency: Urgency) -> _Found[T] | Reason:
        until = asyncio.get_running_loop().time() + self._wait_seconds[urgency]
        sources = {question.key(source): source for source in self.sources if question.work in source.models}
        kept = await self._results.find(list(sources))
        for key, source in sources.items():
            if (known := kept.get(key)) is not None:
                return _Found(question.shape.model_validate_json(known), source, is_cached=True, cost_micro=0)
        reasons = []
        for key, source in sources.items():
            if key in kept:
                reasons.append(Reason.BLACKLIST)
                continue
            order = Order(source, question.work, question.prompt.name, question.highest, allowed.payers, urgency)
            try:
                value, cost = await self._flights.join(key, order, _flight(self, question, order, key), until=until)
                return _Found(value, source, is_cached=False, cost_micro=cost)
            except Withheld as withheld:
                reasons.append(withheld.reason)
            except ProviderFailed as error:
                reasons.append(Reason.BLACKLIST if error.failure == Failure.BLACKLIST else Reason.FAILED)
        return next((reason for reason in reasons if reason in WORTH_TRYING_AGAIN), reasons[-1] if reasons else Reason.NO_PROVIDER)

    async def _fly[T: Output](self, question: _Question[T], order: Order, key: bytes, progress: Progress) -> T:
        """Ask; an answer of the wrong shape is mended once, by the same model."""
        asked = Asked(order.work, order.source.name, order.model, question.prompt.label)

        async def known() -> Reply | None:
            kept = await self._results.find([key])
            return Reply(kept[key] or "", Tokens(), is_blacklisted=kept[key] is None) if key in kept else None

        async def send(timeout_seconds: float) -> Reply:
            return await question.send(order.source, question.instruction, timeout_seconds)

        reply = await self._caller.call(order, send, progress=progress, known=known)
        if reply.is_blacklisted:
            await self._results.keep(asked, {key: None})
            raise ProviderFailed(Failure.BLACKLIST, "it does not speak about this")
        try:
            value = parse(question.shape, reply.text, ours=question.instruction.system)
        except ProviderFailed:
            value = await self._mended(question, order, reply.text, progress)
        value = question.check(value)
        await self._results.keep(asked, {key: value.model_dump_json()})
        return value

    async def _mended[T: Output](self, question: _Question[T], order: Order, said: str, progress: Progress) -> T:
        schema = json.dumps(question.shape.model_json_schema(), ensure_ascii=False)
        told = prompt("repair").instruct(said, most_tokens=question.instruction.most_tokens, schema=schema)
        again = replace(order, work=Work.CHAT, purpose="repair", highest=_highest(told))

        async def send(timeout_seconds: float) -> Reply:
            return await _chat(order.source, told, timeout_seconds)

        reply = await self._caller.call(again, send, progress=progress)
        return parse(question.shape, reply.text, ours=question.instruction.system)

    async def _local_vectors(self, texts: Sequence[str], kind: TextKind, model: str) -> Understood[tuple[Vector, ...]]:
        try:
            embedded = await self._local.embed(texts, kind, model=model, timeout_seconds=0)
        except Rejected as error:
            log.warning("no_vectors", why=str(error))
            return Understood(None, None, "local", model, "", reason=Reason.NO_PROVIDER)
        return Understood(embedded.vectors, Tier.LOCAL, "local", model, "")

    async def _provider_vectors(
        self, texts: Sequence[str], kind: TextKind, source: Source, allowed: Allowed, urgency: Urgency
    ) -> Understood[tuple[Vector, ...]]:
        model = source.models[Work.EMBEDDINGS]
        keys = [key_of("vector", source.name, model, kind.value, text) for text in texts]
        have = {key: _unpacked(data) for key, data in (await self._results.find(keys)).items() if data is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in have}
        cost = 0
        if missing:
            order = Order(source, Work.EMBEDDINGS, "vectors", Tokens(sum(map(len, missing.values())) + OVERHEAD_TOKENS), allowed.payers, urgency)
            until = asyncio.get_running_loop().time() + self._wait_seconds[urgency]

            async def send(timeout_seconds: float) -> Embedded:
                return await source.provider.embed(list(missing.values()), kind, model=model, timeout_seconds=timeout_seconds)

            async def fly(progress: Progress) -> dict[bytes, Vector]:
                embedded = await self._caller.call(order, send, progress=progress)
                new = dict(zip(missing, embedded.vectors, strict=True))
                await self._results.keep(Asked(Work.EMBEDDINGS, source.name, model, ""), {key: _packed(vector) for key, vector in new.items()})
                return new

            new, cost = await self._flights.join(b"".join(missing), order, fly, until=until)
            have |= new
        return Understood(tuple(have[key] for key in keys), Tier.PROVIDER, source.name, model, "", is_cached=not missing, cost_micro=cost)

    async def _left_for_later[T](self, result: Understood[T], purpose: str, post_id: PostId | None) -> Understood[T]:
        if post_id is None or result.reason not in WORTH_TRYING_AGAIN:
            return result
        await self._later.add(Wanted(post_id, purpose))
        return replace(result, is_wanted=True)


def _flight[T: Output](gate: Gate, question: _Question[T], order: Order, key: bytes) -> Callable[[Progress], Awaitable[T]]:
    return lambda progress: gate._fly(question, order, key, progress)  # noqa: SLF001 -- a closure over one of several sources


async def _chat(source: Source, told: Instruction, timeout_seconds: float) -> Reply:
    return await source.provider.chat(told, model=source.models[Work.CHAT], timeout_seconds=timeout_seconds)


def key_of(*parts: str) -> bytes:
    """The same question has the same key, whatever stands at the border of two parts."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).digest()


def _highest(told: Instruction, besides: int = 0) -> Tokens:
    """No text of ours has more tokens than characters."""
    return Tokens(len(told.system) + len(told.user) + OVERHEAD_TOKENS + besides, told.most_tokens)


def _counted[T](purpose: str, result: Understood[T]) -> Understood[T]:
    origin = "none" if result.tier is None else "cache" if result.is_cached else result.tier.value
    AI_RESULTS.labels(purpose, origin, result.reason.value if result.reason else "").inc()
    return result


def _packed(vector: Vector) -> str:
    return json.dumps(base64.b64encode(array("f", vector).tobytes()).decode())


def _unpacked(data: str) -> Vector:
    return tuple(array("f", base64.b64decode(json.loads(data))))
