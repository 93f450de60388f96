"""A digest of a tenant's stories."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import Query

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import Moment, ResponseModel
from telegram_assistant.domain.people.digest import DigestStory, Novelty
from telegram_assistant.domain.people.digest_plan import DigestLength
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.digests.composing import compose

area = Area("Digest", "What changed in the channels of a tenant, story by story, each sentence with the posts that say it.")

DAY = timedelta(days=1)
EXAMPLE = {
    "novelty": "new",
    "headline": "The bridge is open again",
    "sentences": [{"text": "Cars cross it since six in the morning.", "post_ids": ["1234567890/42"], "others_say": []}],
    "channels": ["City news", "Traffic"],
    "first_posted_at": "2026-11-16T06:10:00Z",
    "post_ids": ["1234567890/42", "1234567891/7"],
}


class DigestSentenceResponse(ResponseModel):
    """A sentence, word for word from the first of these posts. `others_say`: numbers that other channels give instead."""

    text: str
    post_ids: list[str]
    others_say: list[str]


class DigestStoryResponse(ResponseModel):
    """A story. `channels` tell it, the first seen first; the first of `post_ids` names the story."""

    novelty: Novelty
    headline: str
    sentences: list[DigestSentenceResponse]
    channels: list[str]
    first_posted_at: datetime
    post_ids: list[str]


class DigestResponse(ResponseModel):
    """A digest of the time from `since` to `until`. `beyond`: stories of less weight for which there was no room."""

    since: datetime
    until: datetime
    items: list[DigestStoryResponse]
    beyond: int


@area.get(
    "/digest",
    scope=KeyScope.READ,
    example={"since": "2026-11-15T08:00:00Z", "until": "2026-11-16T08:00:00Z", "items": [EXAMPLE], "beyond": 3},
)
async def get_digest(
    context: Context,
    since: Annotated[Moment | None, Query(description="What happened since this time, at most a week ago. Default: the last day.")] = None,
    length: Annotated[DigestLength, Query(description="`short`: 5 stories. `normal`: 12. `long`: 25.")] = DigestLength.NORMAL,
) -> DigestResponse:
    """Compose a digest. Nothing is kept: digests at fixed times belong to people, on the pages."""
    digest = await compose(since or context.now - DAY, stores=context.stores, now=context.now, length=length)
    return DigestResponse(since=digest.since, until=digest.until, items=[_story(one) for one in digest.stories], beyond=digest.beyond)


def _story(one: DigestStory) -> DigestStoryResponse:
    return DigestStoryResponse(
        novelty=one.novelty,
        headline=one.headline,
        sentences=[
            DigestSentenceResponse(text=said.text, post_ids=[str(post) for post in said.posts], others_say=list(said.others_say))
            for said in one.sentences
        ],
        channels=list(one.channels),
        first_posted_at=one.first_posted_at,
        post_ids=[str(post) for post in one.posts],
    )
