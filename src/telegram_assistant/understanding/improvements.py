"""Improvements by a provider later: tags, vision results, vectors.

Each is computed, saved and announced like an immediate result.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from telegram_assistant.ai.gate import Gate
from telegram_assistant.ai.questions import TAGGING, VECTORS, VISION
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.media.vision_results import FileVision, status_of
from telegram_assistant.domain.understanding.embedding_text import text_of
from telegram_assistant.domain.understanding.policy import WORTH_TRYING_AGAIN, FallbackReason, Tier, Urgency
from telegram_assistant.errors import Busy
from telegram_assistant.events import (
    Event,
    PostEnriched,
    PostTagged,
    PostVisionAnalyzed,
    Trigger,
    VisionStatus,
)
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.stores.postgres.posts.post_states import PostStates
from telegram_assistant.stores.postgres.posts.rows import StoredPost
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.understanding.post_pictures import PictureAnalyzer
from telegram_assistant.understanding.post_tags import Tagger

log = get_logger()


@dataclass(frozen=True, slots=True)
class Improved:
    """The result for a post: the event to announce if a provider has answered, otherwise the reason."""

    reason: FallbackReason | None = None
    event: Event | None = None


@dataclass(frozen=True, slots=True)
class Improvement:
    """A kind of work, a value of `provider_wanted.work`, and the function that does it."""

    work: str
    at_once: int
    make: Callable[[Sequence[StoredPost], Urgency], Awaitable[Mapping[PostId, Improved]]]


def better_tags(tagger: Tagger) -> Improvement:
    async def make(stored_posts: Sequence[StoredPost], urgency: Urgency) -> Mapping[PostId, Improved]:
        understood_tags = await tagger.tag(stored_posts, urgency=urgency, pays_for_history=True)
        improved_tags = {}
        for stored_post in stored_posts:
            result = understood_tags[stored_post.post.id]
            tags = result.local.tags if result.local is not None else ()
            event = (
                _event(PostTagged, stored_post, trigger=Trigger.PROVIDER_RETAG, tags=tags)
                if result.tier is Tier.PROVIDER
                else None
            )
            improved_tags[stored_post.post.id] = Improved(result.reason, event)
        return improved_tags

    return Improvement(TAGGING, 20, make)


def better_vision_results(picture_analyzer: PictureAnalyzer) -> Improvement:
    """Announces vision results only when no question about the post is left,
    so that it is tagged again once.
    """

    async def look(stored_post: StoredPost, urgency: Urgency) -> Improved:
        try:
            file_visions = await picture_analyzer.look(stored_post, urgency=urgency, pays_for_history=True)
        except Busy:
            raise
        except Exception:
            log.exception(
                "pictures_not_analyzed",
                post_id=str(stored_post.post.id),
                what_to_do="what was read here stays; report it",
            )
            return Improved(FallbackReason.FAILED)
        reason = _why_not(file_visions)
        if reason in WORTH_TRYING_AGAIN or not any(file_vision.provider for file_vision in file_visions):
            return Improved(reason)
        status = VisionStatus(status_of(file_visions))
        return Improved(
            reason,
            _event(PostVisionAnalyzed, stored_post, status=status, grouped_id=stored_post.post.grouped_id),
        )

    async def make(stored_posts: Sequence[StoredPost], urgency: Urgency) -> Mapping[PostId, Improved]:
        results = await asyncio.gather(*(look(stored_post, urgency) for stored_post in stored_posts))
        return {
            stored_post.post.id: result for stored_post, result in zip(stored_posts, results, strict=True)
        }

    return Improvement(VISION, 5, make)


def better_vectors(gate: Gate, states: PostStates) -> Improvement:
    """Computes and pays for vectors; the event makes the index load the cached answer."""

    async def make(stored_posts: Sequence[StoredPost], urgency: Urgency) -> Mapping[PostId, Improved]:
        known_states = await states.load([stored_post.post.id for stored_post in stored_posts])
        texts = {
            post_id: text
            for post_id, state in known_states.items()
            if state.is_shown and (text := text_of(state.stored.post, state.facts))
        }
        vector_results = await gate.post_vectors(texts, urgency=urgency)
        return {
            stored_post.post.id: Improved(
                event=_event(PostEnriched, stored_post, trigger=Trigger.PROVIDER_RETAG)
            )
            if stored_post.post.id in vector_results.vectors
            else Improved(vector_results.reasons.get(stored_post.post.id))
            for stored_post in stored_posts
        }

    return Improvement(VECTORS, 50, make)


def _why_not(file_visions: Sequence[FileVision]) -> FallbackReason | None:
    """The reason of a post: that of a file worth another try, if there is one."""
    reasons = [FallbackReason(file_vision.withheld) for file_vision in file_visions if file_vision.withheld]
    return next(
        (reason for reason in reasons if reason in WORTH_TRYING_AGAIN), reasons[0] if reasons else None
    )


def _event[E: Event](event: type[E], stored_post: StoredPost, **facts: object) -> E:
    post_id, revision = stored_post.post.id, stored_post.revision
    return event.about(
        post_id,
        revision,
        occurred_at=datetime.now(UTC),
        trace_id=trace_of(post_id, revision),
        **facts,  # type: ignore[arg-type]  # facts are the event's own
    )
