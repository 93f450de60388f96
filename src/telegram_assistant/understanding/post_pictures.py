"""What vision_analysis and improving share: from a post with media to what is stored about its pictures."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from telegram_assistant.ai.answers import Understood
from telegram_assistant.ai.gate import Gate
from telegram_assistant.ai.outputs import PictureFacts
from telegram_assistant.ai.picture_readers import OpenedPicture, PictureReaders
from telegram_assistant.domain.lane import NEWS
from telegram_assistant.domain.media.vision import MAX_BYTES, VisionDecision, VisionFile, decide, is_too_small
from telegram_assistant.domain.media.vision_results import FileVision, Seen, summarize_post
from telegram_assistant.domain.understanding.policy import FallbackReason, ProviderFailed, Tier, Urgency, VisionModel
from telegram_assistant.errors import Rejected
from telegram_assistant.stores.files import Files
from telegram_assistant.stores.postgres.media.vision_results import FileResult, MediaResults
from telegram_assistant.stores.postgres.posts.rows import StoredPost
from telegram_assistant.stores.postgres.understanding.ai_policies import AiPolicies
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Enrichments, Kind

MAX_SECONDS = 120.0
HISTORY = "history"
"""Nothing new is paid for it; what was paid for before is used."""
NO_READER = "nothing here can read it: tesseract or its data for a language is not installed"
NOT_READ = "nobody could read it now"


@dataclass(frozen=True, slots=True)
class PictureAnalyzer:
    """Everything that a look takes."""

    ai_policies: AiPolicies
    enrichments: Enrichments
    media_results: MediaResults
    files: Files | None
    picture_readers: PictureReaders
    gate: Gate

    async def look(self, stored: StoredPost, *, urgency: Urgency, pays_for_history: bool = False) -> list[FileVision]:
        """Look at all files of a post and save what was seen. What was seen before is not looked at again."""
        pays = pays_for_history or datetime.now(UTC) - stored.post.posted_at <= NEWS
        async with asyncio.timeout(MAX_SECONDS):
            found = await _Look(stored, self, urgency, pays=pays).at_all()
        sights = [sight for sight, _ in found]
        await self.enrichments.save(_rows(stored, sights, next((eye for _, eye in found if eye is not None), None)))
        return sights

    async def save_failure(self, stored: StoredPost) -> None:
        await self.enrichments.save(_rows(stored, [FileVision(0, "looking at it failed", is_failed=True)], None))


@dataclass(frozen=True, slots=True)
class _Look:
    """One post."""

    stored: StoredPost
    by: PictureAnalyzer
    urgency: Urgency
    pays: bool

    async def at_all(self) -> list[tuple[FileVision, VisionModel | None]]:
        """And the provider's eye that has looked at each, if one has."""
        results, post = self.by.media_results, self.stored.post
        shown = await results.shown_by(post.id)
        allowed = await self.by.ai_policies.of_channel(post.channel_id)
        verdicts = {
            file: decide(file, policy=allowed.policy, is_protected=shown.is_protected, has_place=self.by.files is not None) for file in shown.files
        }
        hashes = [file.sha256 for file, verdict in verdicts.items() if verdict.is_seen and file.sha256 is not None]
        known = await results.known(hashes) if hashes else {}
        looks = (self._look_or_say_why(file, verdict, known.get(file.sha256 or b"", {})) for file, verdict in verdicts.items())
        found = []
        for one in await asyncio.gather(*looks, return_exceptions=True):
            if isinstance(one, BaseException):
                raise one
            found.append(one)
        return found

    async def _look_or_say_why(
        self, file: VisionFile, verdict: VisionDecision, known: Mapping[Tier, FileResult]
    ) -> tuple[FileVision, VisionModel | None]:
        """A file that cannot be seen does not hide its neighbours."""
        sight = FileVision(file.ordinal, verdict.value, file.sha256, is_document=verdict is VisionDecision.PAPER)
        if not verdict.is_seen or file.sha256 is None:
            return sight, None
        try:
            return await self._look(file.sha256, sight, may_leave=verdict is VisionDecision.LOOK, known=known)
        except (ProviderFailed, Rejected) as error:
            return replace(sight, why=str(error), is_failed=True), None

    async def _look(
        self, sha256: bytes, sight: FileVision, *, may_leave: bool, known: Mapping[Tier, FileResult]
    ) -> tuple[FileVision, VisionModel | None]:
        gate, results = self.by.gate, self.by.media_results
        local, provider = known.get(Tier.LOCAL), known.get(Tier.PROVIDER) if may_leave else None
        if provider is not None and provider.eye not in gate.eyes:
            provider = None  # another model is asked now
        why, withheld = "", ""
        if local is None or (provider is None and may_leave):
            opened = await self.by.picture_readers.open(await _bytes(sha256, self.by.files))
            if is_too_small(opened.width, opened.height):
                return replace(sight, why=VisionDecision.TOO_SMALL.value), None
            await results.remember_look(sha256, opened.look)
            if local is None:
                read = await gate.text_in(opened.picture, channel_id=self.stored.post.channel_id)
                local, why = await _kept(sha256, Tier.LOCAL, read, results), "" if read.reason is None else read.reason.value
            if provider is None and may_leave:
                provider, withheld = await self._asked(sha256, opened, local)
        if local is None and provider is None:
            is_skipped = why in {FallbackReason.NO_PROVIDER, FallbackReason.POLICY}
            return replace(sight, why=NO_READER if is_skipped else NOT_READ, withheld=withheld, is_failed=not is_skipped), None
        seen = replace(sight, local=local.seen if local else None, provider=provider.seen if provider else None, withheld=withheld)
        return seen, provider.eye if provider else None

    async def _asked(self, sha256: bytes, opened: OpenedPicture, local: FileResult | None) -> tuple[FileResult | None, str]:
        """A provider, unless it has seen the same picture in another file; and why none has. Without words that were read nobody can tell."""
        gate, results, post = self.by.gate, self.by.media_results, self.stored.post
        if local is not None and gate.eyes:
            same = await results.same_picture(sha256, opened.look, words=local.seen.text, channel_id=post.channel_id, eyes=gate.eyes)
            if same is not None:
                await results.keep(sha256, Tier.PROVIDER, same)
                return same, ""
        if not self.pays:
            return None, HISTORY
        seen = await gate.picture(opened.picture, sha256=sha256, channel_id=post.channel_id, urgency=self.urgency, post_id=post.id)
        return await _kept(sha256, Tier.PROVIDER, seen, results), "" if seen.reason is None else seen.reason.value


async def _kept(sha256: bytes, tier: Tier, understood: Understood[PictureFacts], results: MediaResults) -> FileResult | None:
    facts = understood.value
    if facts is None:
        return None
    seen = Seen(facts.description, facts.text, facts.is_meme, facts.is_document)
    result = FileResult(seen, VisionModel(understood.provider, understood.model, understood.prompt_version))
    await results.keep(sha256, tier, result)
    return result


async def _bytes(sha256: bytes, files: Files | None) -> bytes:
    assert files is not None  # who has no place for files looks at none
    pieces, size = [], 0
    async for piece in files.read(sha256):
        size += len(piece)
        if size > MAX_BYTES:
            raise Rejected(VisionDecision.TOO_LARGE.value)
        pieces.append(piece)
    return b"".join(pieces)


def _rows(stored: StoredPost, sights: list[FileVision], eye: VisionModel | None) -> list[Enrichment]:
    """What was seen here, or why nothing was; and beside it what a provider saw."""
    made = [Enrichment(stored.post.id, stored.revision, Kind.VISION, Tier.LOCAL, summarize_post(sights, Tier.LOCAL))]
    if eye is not None:
        data = summarize_post(sights, Tier.PROVIDER)
        made.append(Enrichment(stored.post.id, stored.revision, Kind.VISION, Tier.PROVIDER, data, eye.provider, eye.model, eye.prompt_version))
    return made
