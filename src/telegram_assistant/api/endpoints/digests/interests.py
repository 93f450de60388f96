"""A person's interests: topics with weights and reasons."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query
from pydantic import ConfigDict, Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ChannelNumber, MessageNumber, RequestModel, ResponseModel, Storable
from telegram_assistant.domain.digests.interests import (
    MAX_TOPIC_LETTERS,
    MAX_WEIGHT,
    OWN_WEIGHT,
    Feedback,
    Interest,
    InterestSource,
    StoryFeedback,
)
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.digests import interests

area = Area(
    "Interests",
    "What interests you: topics that bring stories forward in your digests, or back, "
    "and what you said about stories. Needs a key of a person.",
)

FEEDBACK_EXAMPLE = {
    "story_id": "1234567890/42",
    "feedback": "more",
    "headline": "The bridge in Halbrook is closed to trucks",
    "topics": ["Halbrook"],
    "said_at": "2026-11-16T06:10:00Z",
}
EXAMPLE = {
    "topic": "Halbrook",
    "weight": 0.5,
    "source": "learnt",
    "why": "The bridge in Halbrook is closed to trucks",
    "changed_at": "2026-11-16T06:10:00Z",
    "reasons": [FEEDBACK_EXAMPLE],
}
AboutStory = Literal[Feedback.MORE, Feedback.LESS, Feedback.MUTED]
Topic = Annotated[Storable, Field(min_length=1, max_length=MAX_TOPIC_LETTERS)]


class FeedbackResponse(ResponseModel):
    """Your feedback about a story, and the topics that were learnt from it.

    `saved` is about a post that you saved.
    """

    story_id: str
    feedback: Feedback
    headline: str
    topics: list[str]
    said_at: datetime


class InterestResponse(ResponseModel):
    """A topic.

    `why` is the headline from which it was learnt; empty if you wrote it down. `reasons`: what you said, the
    newest first.
    """

    topic: str
    weight: float
    source: InterestSource
    why: str
    changed_at: datetime
    reasons: list[FeedbackResponse]


class InterestsResponse(ResponseModel):
    """Everything that is known of your interests, the weightiest first, and what you said about stories,
    the newest first.
    """

    items: list[InterestResponse]
    feedback: list[FeedbackResponse]


class FeedbackRequest(RequestModel):
    """`more` or `less` like this story, or `muted`: you no longer see it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"feedback": "more"}]})

    feedback: AboutStory


class LearntResponse(ResponseModel):
    """The names that were learnt from the story. Empty: it has none, or you wrote them down yourself."""

    topics: list[str]


class InterestRequest(RequestModel):
    """A topic in your own words.

    A story that touches it weighs 2 to the power of `weight` as much; a negative weight is a dislike.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"topic": "bridges", "weight": 1.0}]})

    topic: Topic
    weight: Annotated[float, Field(ge=-MAX_WEIGHT, le=MAX_WEIGHT, allow_inf_nan=False)] = OWN_WEIGHT


@area.get("/interests", scope=KeyScope.READ, example={"items": [EXAMPLE], "feedback": [FEEDBACK_EXAMPLE]})
async def list_interests(context: Context) -> InterestsResponse:
    """List all your interests with their reasons, and the stories that you muted.

    This is also their export: nothing else is kept.
    """
    own_interests, opinions = await interests.load_interests(context.own.interests)
    return InterestsResponse(
        items=[_interest(interest) for interest in own_interests],
        feedback=[_feedback(opinion) for opinion in opinions],
    )


@area.put("/interests", scope=KeyScope.READ, example=None, status=204, also=(409,))
async def put_interest(context: Context, body: InterestRequest) -> None:
    """Add a topic, or change its weight."""
    await interests.write_down(body.topic, interests=context.own.interests, weight=body.weight)


@area.delete("/interests", scope=KeyScope.READ, also=(404,))
async def remove_interest(
    context: Context, topic: Annotated[Topic, Query(description="The topic, as the list shows it.")]
) -> None:
    """Remove a topic."""
    await interests.remove(topic, interests=context.own.interests)


@area.post("/interests/reset", scope=KeyScope.READ, example=None, status=204)
async def reset_interests(context: Context) -> None:
    """Forget everything: what you wrote down, what was learnt, and what you said about stories.

    Muted stories come back.
    """
    await interests.reset_interests(interests=context.own.interests)


@area.put(
    "/stories/{channel_id}/{message_id}/feedback", scope=KeyScope.READ, example={"topics": ["Halbrook"]}
)
async def say_about_story(
    context: Context, channel_id: ChannelNumber, message_id: MessageNumber, body: FeedbackRequest
) -> LearntResponse:
    """Ask for more or less like the story of this post, or mute it for yourself.

    Repeated feedback counts once.
    """
    post_id = PostId(ChannelId(channel_id), MessageId(message_id))
    topics = await interests.say(
        post_id, body.feedback, stores=context.stores, interests=context.own.interests
    )
    return LearntResponse(topics=list(topics))


@area.delete("/stories/{channel_id}/{message_id}/feedback", scope=KeyScope.READ)
async def take_back_feedback(
    context: Context,
    channel_id: ChannelNumber,
    message_id: MessageNumber,
    feedback: Annotated[AboutStory, Query(description="What you have said about the story.")],
) -> None:
    """Take back what you said about the story of this post, with what was learnt from it."""
    post_id = PostId(ChannelId(channel_id), MessageId(message_id))
    await interests.take_back(post_id, feedback, stores=context.stores, interests=context.own.interests)


def _interest(interest: Interest) -> InterestResponse:
    return InterestResponse(
        topic=interest.topic,
        weight=interest.weight,
        source=interest.source,
        why=interest.why,
        changed_at=interest.changed_at,
        reasons=[_feedback(reason) for reason in interest.reasons],
    )


def _feedback(opinion: StoryFeedback) -> FeedbackResponse:
    return FeedbackResponse(
        story_id=str(opinion.post_id),
        feedback=opinion.feedback,
        headline=opinion.headline,
        topics=list(opinion.topics),
        said_at=opinion.said_at,
    )
