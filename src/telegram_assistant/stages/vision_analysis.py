"""vision_analysis: look at the pictures of a post. posts.vision.uploaded -> posts.vision.analyzed, for every post with media."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from telegram_assistant.ai.answers import Understood
from telegram_assistant.ai.gate import Gate
from telegram_assistant.ai.outputs import PictureFacts
from telegram_assistant.ai.picture_readers import Opened, PictureReaders
from telegram_assistant.domain.lane import NEWS
from telegram_assistant.domain.seen import Seen, Sight, post_in_sum, status_of
from telegram_assistant.domain.understanding import Eye, Reason, Tier, Urgency
from telegram_assistant.domain.vision import MOST_BYTES, ShownFile, Verdict, decide, is_too_small
from telegram_assistant.errors import Busy, ProviderFailed, Rejected
from telegram_assistant.events import PostVisionAnalyzed, PostVisionUploaded, VisionStatus
from telegram_assistant.stores.files import Files
from telegram_assistant.stores.postgres.ai_policies import AiPolicies
from telegram_assistant.stores.postgres.enrichments import Enrichment, Enrichments, Kind
from telegram_assistant.stores.postgres.media_results import FileResult, MediaResults
from telegram_assistant.stores.postgres.posts import Posts
from telegram_assistant.stores.postgres.rows import StoredPost
from telegram_assistant.streams.stage import stage
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

LONGEST_SECONDS = 120.0
HISTORY = "history"
"""Nothing new is paid for it; what was paid for before is used."""
NO_READER = "nothing here can read it: tesseract is not installed"
NOT_READ = "nobody could read it now"


@dataclass(frozen=True, slots=True)
class Lookers:
    """Everything that a look takes."""

    media_results: MediaResults
    files: Files | None
    picture_readers: PictureReaders
    gate: Gate


@stage(consumes=PostVisionUploaded, emits=PostVisionAnalyzed, concurrency=8, timeout_seconds=150)
async def vision_analysis(
    event: PostVisionUploaded,
    *,
    posts: Posts,
    ai_policies: AiPolicies,
    enrichments: Enrichments,
    media_results: MediaResults,
    files: Files | None,
    picture_readers: PictureReaders,
    gate: Gate,
) -> PostVisionAnalyzed:
    """Total. A file is looked at once, however many posts show it and however often this event is delivered."""
    stored = next(iter(await posts.load([event.post])), None)
    status, grouped_id = VisionStatus.SKIPPED, None if stored is None else stored.post.grouped_id
    if stored is not None and stored.deleted_at is None:
        lookers = Lookers(media_results, files, picture_readers, gate)
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                sights, eye = await _look_at_all(stored, ai_policies, lookers)
            await enrichments.save(_rows(stored, sights, eye))
            status = VisionStatus(status_of(sights))
        except Busy:
            raise
        except Exception:
            log.exception("pictures_not_seen", post_id=event.post_id, what_to_do="the post goes on without them; report it")
            status = VisionStatus.FAILED
            await enrichments.save(_rows(stored, [Sight(0, "looking at it failed", is_failed=True)], None))
    return PostVisionAnalyzed.about(event.post, event.revision, occurred_at=event.occurred_at, status=status, grouped_id=grouped_id)


async def _look_at_all(stored: StoredPost, ai_policies: AiPolicies, lookers: Lookers) -> tuple[list[Sight], Eye | None]:
    """And the provider's eye that has looked, if one has."""
    shown = await lookers.media_results.shown_by(stored.post.id)
    allowed = await ai_policies.of_channel(stored.post.channel_id)
    verdicts = {
        file: decide(file, policy=allowed.policy, is_protected=shown.is_protected, has_place=lookers.files is not None) for file in shown.files
    }
    hashes = [file.sha256 for file, verdict in verdicts.items() if verdict.is_seen and file.sha256 is not None]
    known = await lookers.media_results.known(hashes) if hashes else {}
    looks = (_look_or_say_why(stored, file, verdict, known.get(file.sha256 or b"", {}), lookers) for file, verdict in verdicts.items())
    found = []
    for one in await asyncio.gather(*looks, return_exceptions=True):
        if isinstance(one, BaseException):
            raise one
        found.append(one)
    return [sight for sight, _ in found], next((eye for _, eye in found if eye is not None), None)


async def _look_or_say_why(
    stored: StoredPost, file: ShownFile, verdict: Verdict, known: Mapping[Tier, FileResult], lookers: Lookers
) -> tuple[Sight, Eye | None]:
    """A file that cannot be seen does not hide its neighbours."""
    sight = Sight(file.ordinal, verdict.value, file.sha256, is_document=verdict is Verdict.PAPER)
    if not verdict.is_seen or file.sha256 is None:
        return sight, None
    try:
        return await _look(stored, file.sha256, sight, may_leave=verdict is Verdict.LOOK, known=known, lookers=lookers)
    except (ProviderFailed, Rejected) as error:
        return replace(sight, why=str(error), is_failed=True), None


async def _look(
    stored: StoredPost, sha256: bytes, sight: Sight, *, may_leave: bool, known: Mapping[Tier, FileResult], lookers: Lookers
) -> tuple[Sight, Eye | None]:
    local, provider = known.get(Tier.LOCAL), known.get(Tier.PROVIDER) if may_leave else None
    if provider is not None and provider.eye not in lookers.gate.eyes:
        provider = None  # another model is asked now
    why, withheld = "", ""
    if local is None or (provider is None and may_leave):
        opened = await lookers.picture_readers.open(await _bytes(sha256, lookers.files))
        if is_too_small(opened.width, opened.height):
            return replace(sight, why=Verdict.TOO_SMALL.value), None
        await lookers.media_results.remember_look(sha256, opened.look)
        if local is None:
            read = await lookers.gate.text_in(opened.picture, channel_id=stored.post.channel_id)
            local, why = await _kept(sha256, Tier.LOCAL, read, lookers), "" if read.reason is None else read.reason.value
        if provider is None and may_leave:
            provider, withheld = await _asked(stored, sha256, opened, local, lookers)
    if local is None and provider is None:
        is_skipped = why in {Reason.NO_PROVIDER, Reason.POLICY}
        return replace(sight, why=NO_READER if is_skipped else NOT_READ, withheld=withheld, is_failed=not is_skipped), None
    seen = replace(sight, local=local.seen if local else None, provider=provider.seen if provider else None, withheld=withheld)
    return seen, provider.eye if provider else None


async def _asked(stored: StoredPost, sha256: bytes, opened: Opened, local: FileResult | None, lookers: Lookers) -> tuple[FileResult | None, str]:
    """A provider, unless it has seen the same picture in another file; and why none has. Without words that were read nobody can tell."""
    channel_id, eyes = stored.post.channel_id, lookers.gate.eyes
    if local is not None and eyes:
        same = await lookers.media_results.same_picture(sha256, opened.look, words=local.seen.text, channel_id=channel_id, eyes=eyes)
        if same is not None:
            await lookers.media_results.keep(sha256, Tier.PROVIDER, same)
            return same, ""
    if datetime.now(UTC) - stored.post.posted_at > NEWS:
        return None, HISTORY
    seen = await lookers.gate.picture(opened.picture, sha256=sha256, channel_id=channel_id, urgency=Urgency.LIVE, post_id=stored.post.id)
    return await _kept(sha256, Tier.PROVIDER, seen, lookers), "" if seen.reason is None else seen.reason.value


async def _kept(sha256: bytes, tier: Tier, understood: Understood[PictureFacts], lookers: Lookers) -> FileResult | None:
    facts = understood.value
    if facts is None:
        return None
    seen = Seen(facts.description, facts.text, facts.is_meme, facts.is_document)
    result = FileResult(seen, Eye(understood.provider, understood.model, understood.prompt_version))
    await lookers.media_results.keep(sha256, tier, result)
    return result


async def _bytes(sha256: bytes, files: Files | None) -> bytes:
    assert files is not None  # who has no place for files looks at none
    pieces, size = [], 0
    async for piece in files.read(sha256):
        size += len(piece)
        if size > MOST_BYTES:
            raise Rejected(Verdict.TOO_LARGE.value)
        pieces.append(piece)
    return b"".join(pieces)


def _rows(stored: StoredPost, sights: list[Sight], eye: Eye | None) -> list[Enrichment]:
    """What was seen here, or why nothing was; and beside it what a provider saw."""
    made = [Enrichment(stored.post.id, stored.revision, Kind.VISION, Tier.LOCAL, post_in_sum(sights, Tier.LOCAL))]
    if eye is not None:
        data = post_in_sum(sights, Tier.PROVIDER)
        made.append(Enrichment(stored.post.id, stored.revision, Kind.VISION, Tier.PROVIDER, data, eye.provider, eye.model, eye.prompt_version))
    return made
