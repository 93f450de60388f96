"""What interests a person: topics with weights and reasons."""

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import ConfigDict, Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import RequestModel, ResponseModel, Storable
from telegram_assistant.domain.people.interests import MAX_TOPIC_LETTERS, MAX_WEIGHT, OWN_WEIGHT, InterestSource
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.digests import interests

area = Area("Interests", "What interests you: topics that bring stories forward in your digests, or back. Needs a key of a person.")

EXAMPLE = {"topic": "bridges", "weight": 1.0, "source": "own", "why": "", "changed_at": "2026-11-16T06:10:00Z"}
Topic = Annotated[Storable, Field(min_length=1, max_length=MAX_TOPIC_LETTERS)]


class InterestResponse(ResponseModel):
    """A topic. `why` is the headline from which it was learnt; empty if you wrote it down."""

    topic: str
    weight: float
    source: InterestSource
    why: str
    changed_at: datetime


class InterestsResponse(ResponseModel):
    """Everything that is known of your interests, the weightiest first."""

    items: list[InterestResponse]


class InterestRequest(RequestModel):
    """A topic in your own words. A story that touches it weighs 2 to the power of `weight` as much; a negative weight is a dislike."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"topic": "bridges", "weight": 1.0}]})

    topic: Topic
    weight: Annotated[float, Field(ge=-MAX_WEIGHT, le=MAX_WEIGHT, allow_inf_nan=False)] = OWN_WEIGHT


@area.get("/interests", scope=KeyScope.READ, example={"items": [EXAMPLE]})
async def list_interests(context: Context) -> InterestsResponse:
    """List all your interests with their reasons. This is also their export: nothing else is kept."""
    found = await context.own.interests.all()
    return InterestsResponse(items=[InterestResponse.model_validate(one, from_attributes=True) for one in found])


@area.put("/interests", scope=KeyScope.READ, example=None, status=204, also=(409,))
async def put_interest(context: Context, body: InterestRequest) -> None:
    """Add a topic, or change its weight."""
    await interests.write_down(body.topic, interests=context.own.interests, weight=body.weight)


@area.delete("/interests", scope=KeyScope.READ, also=(404,))
async def remove_interest(context: Context, topic: Annotated[Topic, Query(description="The topic, as the list shows it.")]) -> None:
    """Remove a topic."""
    await interests.remove(topic, interests=context.own.interests)


@area.post("/interests/reset", scope=KeyScope.READ, example=None, status=204)
async def reset_interests(context: Context) -> None:
    """Forget everything: what you wrote down, and what was learnt."""
    await context.own.interests.reset()
