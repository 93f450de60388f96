"""A digest of a tenant's stories."""

from datetime import time, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import Moment, RequestModel, ResponseModel, Storable
from telegram_assistant.domain.digests.plan import EVERY_DAY, MAX_TIMES, DigestLength, DigestPlan, make_plan
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.digests import digests
from telegram_assistant.features.digests.composing import compose
from telegram_assistant.features.digests.digest_response import DigestResponse, digest_response

area = Area(
    "Digest",
    "What changed in the channels of a tenant, story by story, each sentence with the posts that say it.",
)

DAY = timedelta(days=1)
EXAMPLE = {
    "novelty": "new",
    "headline": "The bridge is open again",
    "before": "The bridge is closed to trucks until April",
    "link": "https://news.example/t/0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f10/story/1234567890/42",
    "sentences": [
        {
            "text": "Cars cross it since six in the morning.",
            "post_ids": ["1234567890/42"],
            "conflicting_values": [],
        }
    ],
    "channels": ["City news", "Traffic"],
    "first_posted_at": "2026-11-16T06:10:00Z",
    "post_ids": ["1234567890/42", "1234567891/7"],
    "model": "",
    "folder": "City",
    "replaced_count": 0,
    "rejected_reasons": [],
}


PLAN_EXAMPLE: JsonDict = {
    "times": ["08:00", "19:30"],
    "weekdays": [1, 2, 3, 4, 5],
    "length": "normal",
    "zone": "Europe/Moscow",
    "receivers": ["0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f12"],
}


class DigestPlanRequest(RequestModel):
    """When digests come: times of day in `zone` on days from 1 (Monday) to 7, none for no digests;
    and the receivers that get them.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [PLAN_EXAMPLE]})

    times: Annotated[list[time], Field(max_length=MAX_TIMES)]
    weekdays: Annotated[tuple[Annotated[int, Field(ge=1, le=7)], ...], Field(min_length=1, max_length=7)] = (
        tuple(sorted(EVERY_DAY))
    )
    length: DigestLength = DigestLength.NORMAL
    zone: Annotated[Storable, Field(max_length=100)] = "UTC"
    receivers: Annotated[tuple[UUID, ...], Field(max_length=50)] = ()


class DigestPlanResponse(ResponseModel):
    """When digests come, and which receivers get them."""

    times: list[str]
    weekdays: list[int]
    length: DigestLength
    zone: str
    receivers: list[UUID]


@area.get(
    "/digest",
    scope=KeyScope.READ,
    example={
        "digest_id": None,
        "link": None,
        "since": "2026-11-15T08:00:00Z",
        "until": "2026-11-16T08:00:00Z",
        "minutes": 1,
        "items": [EXAMPLE],
        "more_count": 3,
    },
    is_expensive=True,
)
async def get_digest(
    context: Context,
    since: Annotated[
        Moment | None,
        Query(description="What happened since this time, at most a week ago. Default: the last day."),
    ] = None,
    length: Annotated[
        DigestLength, Query(description="`short`: 5 stories. `normal`: 12. `long`: 25.")
    ] = DigestLength.NORMAL,
) -> DigestResponse:
    """Compose a digest. Nothing is kept: digests at fixed times belong to people, on the pages.

    No provider is asked: stories are told in its words where it has summed them up before, otherwise in the
    posts' own words.
    """
    digest = await compose(since or context.now - DAY, stores=context.stores, now=context.now, length=length)
    tenant_url = f"{context.app.settings.pages_url}/t/{context.caller.tenant}"
    return digest_response(digest, digest_id=None, tenant_url=tenant_url, say=context.translate)


@area.get("/digest/plan", scope=KeyScope.READ, example=PLAN_EXAMPLE)
async def get_digest_plan(context: Context) -> DigestPlanResponse:
    """Get when your digests come, and where they go. Needs a key of a person."""
    return plan_response(await digests.get_plan(digests=context.own.digests))


@area.put("/digest/plan", scope=KeyScope.WRITE, example=PLAN_EXAMPLE, also=(404,))
async def set_digest_plan(context: Context, body: DigestPlanRequest) -> DigestPlanResponse:
    """Choose when your digests come, and where they go. Needs a key of a person.

    A digest reaches each receiver with the same delivery id in every attempt. One that has nothing to tell is
    not sent.
    """
    context.note(times=[f"{clock_time:%H:%M}" for clock_time in body.times], receivers=len(body.receivers))
    plan = make_plan(
        body.times, weekdays=body.weekdays, length=body.length, zone=body.zone, receivers=body.receivers
    )
    return plan_response(await digests.set_plan(plan, stores=context.stores, digests=context.own.digests))


def plan_response(plan: DigestPlan) -> DigestPlanResponse:
    return DigestPlanResponse(
        times=[f"{clock_time:%H:%M}" for clock_time in plan.times],
        weekdays=sorted(plan.weekdays),
        length=plan.length,
        zone=plan.zone,
        receivers=list(plan.receivers),
    )
