"""The gate in front of every call to a model.

    policy -> cache -> breaker -> budget -> stream -> provider -> bill
                                            on failure: the next provider, then the local result

Stages and features call models only through the gate. They always get a result in time, with its origin and
reason:

    understood = await gate.picture(picture, sha256=file.sha256, channel_id=post.channel_id, post_id=post.id)
    if understood.value is not None:
        print(understood.value.description, understood.tier, understood.model)

Live work waits eight seconds for a provider. Then it continues with the local result, and if `post_id` is
given the gate writes a `provider_wanted` row for later. Only our own stores raise errors (Busy); a provider
never does.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from telegram_assistant.ai.gate_results import (
    Copies,
    ImprovementQueue,
    Material,
    Policies,
    PostVectors,
    Results,
    Understood,
    count_result,
)
from telegram_assistant.ai.local.tagging import LOCAL_MODEL
from telegram_assistant.ai.local.understanding import LocalModels
from telegram_assistant.ai.outputs import Output, PictureFacts, Tags
from telegram_assistant.ai.paid_call import ProviderCaller
from telegram_assistant.ai.prompting import prompt
from telegram_assistant.ai.protocols import Embeddings, Instruction, Picture, Reply, TextKind, Vector
from telegram_assistant.ai.provider_chain import ProviderChain
from telegram_assistant.ai.providers import ConfiguredProvider
from telegram_assistant.ai.questions import (
    TAGGING,
    VECTORS,
    VISION,
    ProviderAnswer,
    Question,
    about_tags,
    highest_of,
    keep_answer,
    list_by_topic,
)
from telegram_assistant.ai.single_flight import SingleFlight
from telegram_assistant.ai.vectors import VectorMaker
from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.understanding.policy import (
    WORTH_TRYING_AGAIN,
    AiPolicy,
    Allowed,
    Failure,
    FallbackReason,
    ModelTask,
    PendingImprovement,
    ProviderFailed,
    Tier,
    Urgency,
    VisionModel,
)
from telegram_assistant.domain.understanding.vocabulary import Vocabulary, language_for
from telegram_assistant.telemetry.outages import OutageLog

WAIT_SECONDS = {
    Urgency.QUESTION: 60.0,
    Urgency.DIGEST: 120.0,
    Urgency.LIVE: 8.0,
    Urgency.RETAGGING: 30.0,
    Urgency.BACKFILL: 60.0,
}
PICTURE_TOKENS = 1000
PICTURE_SHOWN = "Here is the picture."
OCR = "tesseract"
SEEN_TOKENS = 4000
"""More tokens than any model counts for one picture."""


class Gate:
    """One per process."""

    def __init__(  # noqa: PLR0913 -- everything behind the gate meets here
        self,
        sources: Sequence[ConfiguredProvider],
        *,
        local: LocalModels,
        embeddings: Embeddings,
        local_model: str | None,
        caller: ProviderCaller,
        policies: Policies,
        results: Results,
        later: ImprovementQueue,
        copies: Copies,
        wait_seconds: Mapping[Urgency, float] = WAIT_SECONDS,
    ) -> None:
        """`embeddings` computes the vectors with `local_model`, which is None if a provider does."""
        self.sources = tuple(sources)
        self._local = local
        self._policies = policies
        self._results = results
        self._later = later
        self._copies = copies
        self._picture_outage = OutageLog("local reading of pictures")
        self._flights = SingleFlight(caller)
        self._asker = ProviderChain(
            self.sources, caller=caller, flights=self._flights, results=results, wait_seconds=wait_seconds
        )
        self._vectors = VectorMaker(
            next((source for source in self.sources if ModelTask.EMBEDDINGS in source.models), None),
            local=embeddings,
            local_model=local_model,
            caller=caller,
            flights=self._flights,
            results=results,
            wait_seconds=wait_seconds,
        )

    async def close(self) -> None:
        await self._flights.close()

    async def read_pictures_until(self, stopping: asyncio.Event) -> None:
        """From then on only the picture in hand is read to its end."""
        await stopping.wait()
        self._local.stop_reading()

    async def tags(
        self, materials: Sequence[Material], *, vocabulary: Vocabulary, urgency: Urgency = Urgency.LIVE
    ) -> list[Understood[Tags]]:
        """Tags posts within the vocabulary: by a provider if the policy wants one, and locally in any case.

        All posts wait as long as one of them may. Copies of one text, in this call or an earlier one, are one
        question.
        """
        policies_by_channel = await self._policies.of_channels(
            list({material.channel_id for material in materials})
        )
        policies = [policies_by_channel[material.channel_id].policy for material in materials]
        allowed_places = [
            policy_index for policy_index, policy in enumerate(policies) if policy is not AiPolicy.OFF
        ]
        local_tags = (
            await self._local.tags(
                [materials[policy_index] for policy_index in allowed_places], vocabulary=vocabulary
            )
            if allowed_places
            else []
        )
        local: Mapping[int, Tags] = dict(zip(allowed_places, local_tags, strict=True))
        paid_indexes = [
            policy_index
            for policy_index in allowed_places
            if policies[policy_index] is AiPolicy.PROVIDER
            and materials[policy_index].text_for(Tier.PROVIDER).strip()
        ]
        paid_answers = (
            await self._tags_by_provider(
                [materials[policy_index] for policy_index in paid_indexes],
                policies_by_channel,
                vocabulary,
                urgency,
            )
            if paid_indexes
            else []
        )
        answers: Mapping[int, ProviderAnswer[Tags] | FallbackReason] = dict(
            zip(paid_indexes, paid_answers, strict=True)
        )
        results = [
            _best(local.get(policy_index), answers.get(policy_index, FallbackReason.POLICY))
            for policy_index in range(len(materials))
        ]
        return await self._queue_retries(results, materials)

    async def _tags_by_provider(
        self,
        materials: Sequence[Material],
        policies_by_channel: Mapping[ChannelId, Allowed],
        vocabulary: Vocabulary,
        urgency: Urgency,
    ) -> list[ProviderAnswer[Tags] | FallbackReason]:
        """Asks providers about all materials, with one lookup of copies and one of cached answers."""
        texts = [material.text_for(Tier.PROVIDER) for material in materials]
        contents = await self._copies.originals(texts)
        tags_by_language = {
            language: list_by_topic(vocabulary.tags_of(language))
            for language in set(map(language_for, texts))
        }
        inputs = zip(materials, texts, contents, strict=True)
        questions = [
            about_tags(text, content, vocabulary, tags_by_language, channel_id=material.channel_id)
            for material, text, content in inputs
        ]
        chats = [source for source in self.sources if ModelTask.CHAT in source.models]
        cached_answers = (
            await self._results.find(
                list({question.key(source) for question in questions for source in chats})
            )
            if chats
            else {}
        )
        asking = (
            self._asker.ask(
                question,
                policies_by_channel[material.channel_id],
                urgency,
                cached=cached_answers,
                only_known=material.is_history,
            )
            for material, question in zip(materials, questions, strict=True)
        )
        return await asyncio.gather(*asking)

    async def picture(
        self,
        picture: Picture,
        *,
        sha256: bytes,
        channel_id: ChannelId,
        urgency: Urgency = Urgency.LIVE,
        post_id: PostId | None = None,
    ) -> Understood[PictureFacts]:
        """Analyses a JPEG or PNG with a provider, once per file whichever posts show it. `sha256` is that of
        the original file.

        There is no local substitute; `text_in` reads text locally. No value if no provider may be asked or
        none answered.
        """
        vision_prompt = prompt(VISION)

        async def look(source: ConfiguredProvider, instruction: Instruction, timeout_seconds: float) -> Reply:
            return await source.provider.look(
                instruction, picture, model=source.models[ModelTask.VISION], timeout_seconds=timeout_seconds
            )

        instruction = Instruction(vision_prompt.text.format(), PICTURE_SHOWN, PICTURE_TOKENS)
        highest = highest_of(instruction, SEEN_TOKENS)
        question = Question(
            ModelTask.VISION,
            vision_prompt,
            instruction,
            sha256.hex(),
            PictureFacts,
            keep_answer,
            keep_answer,
            highest,
            look,
        )
        return await self._understand(question, await self._policies.of_channel(channel_id), urgency, post_id)

    @property
    def vision_models(self) -> frozenset[VisionModel]:
        """The models that `picture` uses now."""
        label = prompt(VISION).label
        return frozenset(
            VisionModel(source.name, source.models[ModelTask.VISION], label)
            for source in self.sources
            if ModelTask.VISION in source.models
        )

    async def text_in(self, picture: Picture, *, channel_id: ChannelId) -> Understood[PictureFacts]:
        """Reads the text in a JPEG or PNG locally.

        No value if the policy forbids it or no OCR is available.
        """
        understood_facts: Understood[PictureFacts] = Understood(
            None, None, "", "", "", reason=FallbackReason.POLICY
        )
        if (await self._policies.of_channel(channel_id)).policy is not AiPolicy.OFF:
            try:
                understood_facts = Understood(
                    await self._local.picture(picture), Tier.LOCAL, "local", OCR, ""
                )
                self._picture_outage.log_recovery()
            except ProviderFailed as error:
                self._picture_outage.log_failure(error, is_routine=True)
                understood_facts = replace(
                    understood_facts,
                    reason=FallbackReason.NO_PROVIDER
                    if error.failure == Failure.REFUSED
                    else FallbackReason.FAILED,
                )
        return count_result("text_in", understood_facts)

    async def vectors(
        self,
        texts: Sequence[str],
        *,
        channel_id: ChannelId,
        urgency: Urgency = Urgency.LIVE,
        post_id: PostId | None = None,
    ) -> Understood[tuple[Vector, ...]]:
        """Vectors by the installation's one model.

        If a provider computes them there is no local substitute: they would not be comparable.
        """
        embedded_texts = await self._vectors.make(
            texts, TextKind.DOCUMENT, await self._policies.of_channel(channel_id), urgency
        )
        return count_result(VECTORS, await self._queue_retry(embedded_texts, VECTORS, post_id))

    async def post_vectors(
        self, texts: Mapping[PostId, str], *, urgency: Urgency = Urgency.LIVE
    ) -> PostVectors:
        """Vectors of many posts, each by the policy of its channel;
        posts that a provider may process later are queued.
        """
        policies_by_channel = await self._policies.of_channels({post_id.channel_id for post_id in texts})
        posts_by_terms: dict[Allowed, list[PostId]] = {}
        for post_id in texts:
            posts_by_terms.setdefault(
                self._vectors.terms(policies_by_channel[post_id.channel_id]), []
            ).append(post_id)
        model, vectors, reasons = "", dict[PostId, Vector](), dict[PostId, FallbackReason]()
        for terms, post_ids in posts_by_terms.items():
            embedded_texts = count_result(
                VECTORS,
                await self._vectors.make(
                    [texts[post_id] for post_id in post_ids], TextKind.DOCUMENT, terms, urgency
                ),
            )
            if embedded_texts.value is not None:
                model = embedded_texts.model
                vectors |= zip(post_ids, embedded_texts.value, strict=True)
            elif embedded_texts.reason is not None:
                reasons |= dict.fromkeys(post_ids, embedded_texts.reason)
        if improvements := [
            PendingImprovement(post_id, VECTORS)
            for post_id, reason in reasons.items()
            if reason in WORTH_TRYING_AGAIN
        ]:
            await self._later.add(*improvements)
        return PostVectors(model, vectors, reasons)

    async def _understand[T: Output](
        self, question: Question[T], allowed: Allowed, urgency: Urgency, post_id: PostId | None
    ) -> Understood[T]:
        result = await self._asker.understand(question, allowed, urgency)
        return count_result(
            question.prompt.name, await self._queue_retry(result, question.prompt.name, post_id)
        )

    async def _queue_retry[T](
        self, result: Understood[T], purpose: str, post_id: PostId | None
    ) -> Understood[T]:
        if post_id is None or result.reason not in WORTH_TRYING_AGAIN:
            return result
        await self._later.add(PendingImprovement(post_id, purpose))
        return replace(result, is_wanted=True)

    async def _queue_retries(
        self, results: list[Understood[Tags]], materials: Sequence[Material]
    ) -> list[Understood[Tags]]:
        improvable_posts = {
            material_index: material.post_id
            for material_index, material in enumerate(materials)
            if material.post_id is not None and results[material_index].reason in WORTH_TRYING_AGAIN
        }
        if improvable_posts:
            await self._later.add(
                *(PendingImprovement(post_id, TAGGING) for post_id in improvable_posts.values())
            )
        return [
            count_result(TAGGING, replace(result, is_wanted=material_index in improvable_posts))
            for material_index, result in enumerate(results)
        ]


def _best(local_tags: Tags | None, answer: ProviderAnswer[Tags] | FallbackReason) -> Understood[Tags]:
    tagging_label = prompt(TAGGING).label
    if isinstance(answer, FallbackReason):
        answered_by = ("local", LOCAL_MODEL) if local_tags is not None else ("", "")
        return Understood(
            local_tags,
            None if local_tags is None else Tier.LOCAL,
            *answered_by,
            tagging_label,
            answer,
            local=local_tags,
        )
    tags = answer.value
    if local_tags is not None:
        tags = tags.model_copy(
            update={"is_ad": tags.is_ad or local_tags.is_ad, "kind": tags.kind or local_tags.kind}
        )
    return Understood(
        tags,
        Tier.PROVIDER,
        answer.source.name,
        answer.source.models[ModelTask.CHAT],
        tagging_label,
        None,
        answer.is_cached,
        answer.cost_micro,
        local=local_tags,
    )
