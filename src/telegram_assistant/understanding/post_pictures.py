"""Analysis of a post's pictures, shared by `vision_analysis` and `improving`."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from telegram_assistant.ai.gate import Gate
from telegram_assistant.ai.gate_results import Understood
from telegram_assistant.ai.outputs import PictureFacts
from telegram_assistant.ai.picture_readers import OpenedPicture, PictureReaders
from telegram_assistant.domain.lane import NEWS
from telegram_assistant.domain.media.vision import MAX_BYTES, VisionDecision, VisionFile, decide, is_too_small
from telegram_assistant.domain.media.vision_results import FileVision, Seen, summarize_post
from telegram_assistant.domain.understanding.policy import (
    FallbackReason,
    ProviderFailed,
    Tier,
    Urgency,
    VisionModel,
)
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.files import Files
from telegram_assistant.stores.postgres.media.vision_results import FileResult, MediaResults
from telegram_assistant.stores.postgres.posts.rows import StoredPost
from telegram_assistant.stores.postgres.understanding.ai_policies import AiPolicies
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Enrichments, Kind

MAX_SECONDS = 120.0
HISTORY = "history"
"""No new call is paid for; answers paid for before are used."""
NO_READER = Reason(
    "vision_no_reader", "no reader is available: tesseract or its data for a language is not installed"
)
NOT_READ = Reason("vision_not_read", "it could not be read now")
FAILED = Reason("vision_failed", "its analysis failed")


@dataclass(frozen=True, slots=True)
class PictureAnalyzer:
    """Analyses the pictures of posts."""

    ai_policies: AiPolicies
    enrichments: Enrichments
    media_results: MediaResults
    files: Files | None
    picture_readers: PictureReaders
    gate: Gate

    async def look(
        self, stored_post: StoredPost, *, urgency: Urgency, pays_for_history: bool = False
    ) -> list[FileVision]:
        """Analyses all files of a post and saves the results. Files with a result are not analysed again."""
        pays = pays_for_history or datetime.now(UTC) - stored_post.post.posted_at <= NEWS
        async with asyncio.timeout(MAX_SECONDS):
            looks = await _Look(stored_post, self, urgency, pays=pays).at_all()
        file_visions = [file_vision for file_vision, _ in looks]
        await self.enrichments.save(
            _rows(stored_post, file_visions, next((model for _, model in looks if model is not None), None))
        )
        return file_visions

    async def save_failure(self, stored_post: StoredPost) -> None:
        await self.enrichments.save(_rows(stored_post, [FileVision(0, FAILED, is_failed=True)], None))


@dataclass(frozen=True, slots=True)
class _Look:
    """The analysis of one post."""

    stored: StoredPost
    by: PictureAnalyzer
    urgency: Urgency
    pays: bool

    async def at_all(self) -> list[tuple[FileVision, VisionModel | None]]:
        """The result of each file, with the provider's model that analysed it, if any."""
        results, post = self.by.media_results, self.stored.post
        post_files = await results.load_post_files(post.id)
        allowed_use = await self.by.ai_policies.of_channel(post.channel_id)
        verdicts = {
            file: decide(
                file,
                policy=allowed_use.policy,
                is_protected=post_files.is_protected,
                has_place=self.by.files is not None,
            )
            for file in post_files.files
        }
        hashes = [
            file.sha256 for file, verdict in verdicts.items() if verdict.is_seen and file.sha256 is not None
        ]
        known_results = await results.load_results(hashes) if hashes else {}
        looks = (
            self._look_or_say_why(file, verdict, known_results.get(file.sha256 or b"", {}))
            for file, verdict in verdicts.items()
        )
        outcomes = []
        for outcome in await asyncio.gather(*looks, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
            outcomes.append(outcome)
        return outcomes

    async def _look_or_say_why(
        self, file: VisionFile, decision: VisionDecision, known_results: Mapping[Tier, FileResult]
    ) -> tuple[FileVision, VisionModel | None]:
        """Analyses one file; a file that fails does not affect the others."""
        file_vision = FileVision(
            file.ordinal, decision.words, file.sha256, is_document=decision is VisionDecision.PAPER
        )
        if not decision.is_seen or file.sha256 is None:
            return file_vision, None
        try:
            return await self._look(
                file.sha256,
                file_vision,
                may_leave=decision is VisionDecision.LOOK,
                known_results=known_results,
            )
        except ProviderFailed as error:
            return replace(
                file_vision,
                why=Reason("vision_not_opened", "it cannot be opened ({error})", error=str(error)),
                is_failed=True,
            ), None
        except Rejected as error:
            return replace(file_vision, why=error.reason, is_failed=True), None

    async def _look(
        self,
        sha256: bytes,
        file_vision: FileVision,
        *,
        may_leave: bool,
        known_results: Mapping[Tier, FileResult],
    ) -> tuple[FileVision, VisionModel | None]:
        gate, results = self.by.gate, self.by.media_results
        local, provider = (
            known_results.get(Tier.LOCAL),
            known_results.get(Tier.PROVIDER) if may_leave else None,
        )
        if provider is not None and provider.model not in gate.vision_models:
            provider = None  # the result is another model's: ask the current one
        why, withheld = "", ""
        if local is None or (provider is None and may_leave):
            opened_picture = await self.by.picture_readers.open(await _bytes(sha256, self.by.files))
            if is_too_small(opened_picture.width, opened_picture.height):
                return replace(file_vision, why=VisionDecision.TOO_SMALL.words), None
            await results.remember_look(sha256, opened_picture.look)
            if local is None:
                read = await gate.text_in(opened_picture.picture, channel_id=self.stored.post.channel_id)
                local, why = (
                    await _keep_result(sha256, Tier.LOCAL, read, results),
                    "" if read.reason is None else read.reason.value,
                )
            if provider is None and may_leave:
                provider, withheld = await self._ask_provider(sha256, opened_picture, local)
        if local is None and provider is None:
            is_skipped = why in {FallbackReason.NO_PROVIDER, FallbackReason.POLICY}
            return replace(
                file_vision,
                why=NO_READER if is_skipped else NOT_READ,
                withheld=withheld,
                is_failed=not is_skipped,
            ), None
        seen_vision = replace(
            file_vision,
            local=local.seen if local else None,
            provider=provider.seen if provider else None,
            withheld=withheld,
        )
        return seen_vision, provider.model if provider else None

    async def _ask_provider(
        self, sha256: bytes, opened_picture: OpenedPicture, local_result: FileResult | None
    ) -> tuple[FileResult | None, str]:
        """A provider's result, reused if another file shows the same picture, or why there is none.

        Sameness needs the locally read text.
        """
        gate, results, post = self.by.gate, self.by.media_results, self.stored.post
        if local_result is not None and gate.vision_models:
            reused_result = await results.same_picture(
                sha256,
                opened_picture.look,
                words=local_result.seen.text,
                channel_id=post.channel_id,
                models=gate.vision_models,
            )
            if reused_result is not None:
                await results.keep(sha256, Tier.PROVIDER, reused_result)
                return reused_result, ""
        if not self.pays:
            return None, HISTORY
        provider_result = await gate.picture(
            opened_picture.picture,
            sha256=sha256,
            channel_id=post.channel_id,
            urgency=self.urgency,
            post_id=post.id,
        )
        return await _keep_result(
            sha256, Tier.PROVIDER, provider_result, results
        ), "" if provider_result.reason is None else provider_result.reason.value


async def _keep_result(
    sha256: bytes, tier: Tier, understood_facts: Understood[PictureFacts], results: MediaResults
) -> FileResult | None:
    facts = understood_facts.value
    if facts is None:
        return None
    seen_facts = Seen(facts.description, facts.text, facts.is_meme, facts.is_document)
    result = FileResult(
        seen_facts,
        VisionModel(understood_facts.provider, understood_facts.model, understood_facts.prompt_version),
    )
    await results.keep(sha256, tier, result)
    return result


async def _bytes(sha256: bytes, files: Files | None) -> bytes:
    assert files is not None  # without a media store no file is analysed
    pieces, size = [], 0
    async for piece in files.read(sha256):
        size += len(piece)
        if size > MAX_BYTES:
            raise Rejected(VisionDecision.TOO_LARGE.words)
        pieces.append(piece)
    return b"".join(pieces)


def _rows(
    stored_post: StoredPost, file_visions: list[FileVision], model: VisionModel | None
) -> list[Enrichment]:
    """The local row, with the results or the reasons for none, and the provider's row if there is one."""
    rows = [
        Enrichment(
            stored_post.post.id,
            stored_post.revision,
            Kind.VISION,
            Tier.LOCAL,
            summarize_post(file_visions, Tier.LOCAL),
        )
    ]
    if model is not None:
        data = summarize_post(file_visions, Tier.PROVIDER)
        rows.append(
            Enrichment(
                stored_post.post.id,
                stored_post.revision,
                Kind.VISION,
                Tier.PROVIDER,
                data,
                model.provider,
                model.model,
                model.prompt_version,
            )
        )
    return rows
