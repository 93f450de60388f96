"""A digest as programs get it: in answers of the API and in webhooks."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel, Field

from telegram_assistant.domain.digests.digest import Digest, DigestStory
from telegram_assistant.reasons import Reason


class StoryNovelty(StrEnum):
    """Why a story is in a digest. Stored digests call the second one `grown`."""

    NEW = "new"
    UPDATED = "updated"
    CORRECTED = "corrected"


class DigestSentenceResponse(BaseModel, frozen=True):
    """A sentence and the posts that say it."""

    text: str
    post_ids: list[str]
    conflicting_values: list[str] = Field(description="Numbers that other channels give instead.")


class DigestStoryResponse(BaseModel, frozen=True):
    """A story. `channels` tell it, the first seen first; the first of `post_ids` names the story."""

    novelty: StoryNovelty
    headline: str
    before: str = Field(
        description="The headline until now; empty unless an earlier digest told the story and `headline` is "
        "what is new."
    )
    link: str = Field(description="The page of the story.")
    sentences: list[DigestSentenceResponse]
    channels: list[str]
    first_posted_at: datetime
    post_ids: list[str]
    model: str = Field(
        description="The provider's model that wrote the sentences; empty if they stand in their first "
        "posts word for word."
    )
    replaced_count: int = Field(
        description="Doubtful sentences of the model, shown as the sentence of the post."
    )
    folder: str | None = Field(
        description="The section of the digest: the folder of most channels. Null: they are in no folder."
    )
    rejected_reasons: list[str] = Field(
        description="Why sentences of the model are not shown, one reason each."
    )


class DigestResponse(BaseModel, frozen=True):
    """A digest of the time from `since` to `until`."""

    digest_id: UUID | None = Field(description="Null: it was composed for this answer and is not kept.")
    link: str | None = Field(description="The page of a digest that is kept.")
    since: datetime
    until: datetime
    minutes: int = Field(description="To read it.")
    items: list[DigestStoryResponse]
    more_count: int = Field(description="Stories of less weight for which there was no room.")


def digest_response(
    digest: Digest, *, digest_id: UUID | None, tenant_url: str, say: Callable[[Reason], str]
) -> DigestResponse:
    """`tenant_url` is the address of the tenant's pages, `say` puts reasons into the reader's language."""
    return DigestResponse(
        digest_id=digest_id,
        link=f"{tenant_url}/digest/{digest_id}" if digest_id else None,
        since=digest.since,
        until=digest.until,
        minutes=digest.minutes,
        items=[_story_response(story, tenant_url, say) for story in digest.stories],
        more_count=digest.beyond,
    )


def _story_response(story: DigestStory, tenant_url: str, say: Callable[[Reason], str]) -> DigestStoryResponse:
    return DigestStoryResponse(
        novelty=StoryNovelty[story.novelty.name],
        headline=story.headline,
        before=story.before,
        link=f"{tenant_url}/story/{story.story_id}",
        sentences=[
            DigestSentenceResponse(
                text=sentence.text,
                post_ids=[str(post_id) for post_id in sentence.posts],
                conflicting_values=list(sentence.others_say),
            )
            for sentence in story.sentences
        ],
        channels=list(story.channels),
        first_posted_at=story.first_posted_at,
        post_ids=[str(post_id) for post_id in story.posts],
        model=story.model,
        replaced_count=story.checks.replaced,
        folder=story.folder or None,
        rejected_reasons=[say(reason) for reason in story.checks.reasons],
    )
