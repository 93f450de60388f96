"""A digest as programs get it: in answers of the API and in webhooks."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from telegram_assistant.domain.digests.digest import Digest, DigestStory, Novelty
from telegram_assistant.reasons import Reason


class DigestSentenceResponse(BaseModel, frozen=True):
    """A sentence and the posts that say it. `others_say`: numbers that other channels give instead."""

    text: str
    post_ids: list[str]
    others_say: list[str]


class DigestStoryResponse(BaseModel, frozen=True):
    """A story. `channels` tell it, the first seen first; the first of `post_ids` names the story."""

    novelty: Novelty
    headline: str
    link: str = Field(description="The page of the story.")
    sentences: list[DigestSentenceResponse]
    channels: list[str]
    first_posted_at: datetime
    post_ids: list[str]
    model: str = Field(
        description="The provider's model that wrote the sentences; empty if they stand in their first "
        "posts word for word."
    )
    replaced: int = Field(description="Doubtful sentences of the model, shown as the sentence of the post.")
    left_out: list[str] = Field(description="Why sentences of the model are not shown, one reason each.")


class DigestResponse(BaseModel, frozen=True):
    """A digest of the time from `since` to `until`.

    `beyond`: stories of less weight for which there was no room.
    """

    digest_id: UUID | None = Field(description="Null: it was composed for this answer and is not kept.")
    link: str | None = Field(description="The page of a digest that is kept.")
    since: datetime
    until: datetime
    items: list[DigestStoryResponse]
    beyond: int


def digest_response(
    digest: Digest, *, digest_id: UUID | None, here: str, say: Callable[[Reason], str]
) -> DigestResponse:
    """`here` is where the pages of the tenant begin, `say` puts reasons into the reader's language."""
    return DigestResponse(
        digest_id=digest_id,
        link=f"{here}/digest/{digest_id}" if digest_id else None,
        since=digest.since,
        until=digest.until,
        items=[_story_response(story, here, say) for story in digest.stories],
        beyond=digest.beyond,
    )


def _story_response(story: DigestStory, here: str, say: Callable[[Reason], str]) -> DigestStoryResponse:
    return DigestStoryResponse(
        novelty=story.novelty,
        headline=story.headline,
        link=f"{here}/story/{story.story_id}",
        sentences=[
            DigestSentenceResponse(
                text=sentence.text,
                post_ids=[str(post) for post in sentence.posts],
                others_say=list(sentence.others_say),
            )
            for sentence in story.sentences
        ],
        channels=list(story.channels),
        first_posted_at=story.first_posted_at,
        post_ids=[str(post) for post in story.posts],
        model=story.model,
        replaced=story.checks.replaced,
        left_out=[say(reason) for reason in story.checks.reasons],
    )
