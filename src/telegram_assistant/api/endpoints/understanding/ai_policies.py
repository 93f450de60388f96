"""AI policies: what may analyse the posts of your channels."""

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import ConfigDict, Field, TypeAdapter

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    CursorText,
    Id,
    Limit,
    PageResponse,
    RequestModel,
    ResponseModel,
    read_cursor,
    write_cursor,
)
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.features.understanding import ai_policies
from telegram_assistant.features.understanding.ai_policies import PolicyInForce
from telegram_assistant.features.understanding.history import (
    MAX_DAYS,
    HistoryPrice,
    price_history,
    understand_history,
)
from telegram_assistant.stores.postgres.understanding.ai_choices import AiDefaults

area = Area(
    "Understanding",
    "What may analyse posts: nothing (`off`), this installation (`local`), or an AI provider (`provider`), "
    "which needs an owner's consent.",
)

CURSOR = TypeAdapter(tuple[Id])


class ConsentResponse(ResponseModel):
    """An owner's consent that texts may be sent to a provider."""

    given_by: str
    given_at: datetime


class AiDefaultsResponse(ResponseModel):
    """The policy of newly followed channels, and the consent; null: none was given."""

    default: AiPolicy
    consent: ConsentResponse | None


class PolicyResponse(ResponseModel):
    """The chosen policy of a channel and the one in force: without consent `provider` becomes `local`;
    a channel blocked by the operator is `off`.
    """

    channel_id: int
    title: str
    chosen: AiPolicy
    in_force: AiPolicy


class PoliciesResponse(PageResponse):
    """A page of channels, ordered by id."""

    items: list[PolicyResponse]


class AiDefaultRequest(RequestModel):
    """The policy of channels that are followed from now on, unless the request to follow them names one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"policy": "local"}]})

    policy: AiPolicy


class PoliciesRequest(RequestModel):
    """One policy for several channels. Either all of them change or none."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"channel_ids": [1234567890], "policy": "off"}]}
    )

    channel_ids: Annotated[list[Id], Field(min_length=1, max_length=1000)]
    policy: AiPolicy


class ChannelPriceResponse(ResponseModel):
    """Posts of a channel without today's tags.

    `micro`: what a provider takes for them at most; null without a provider.
    """

    channel_id: int
    title: str
    local: int
    by_provider: int
    micro: int | None


class PriceResponse(ResponseModel):
    """The highest price, in millionths of `unit`. `local` posts are tagged on this machine for nothing."""

    items: list[ChannelPriceResponse]
    local: int
    by_provider: int
    micro: int
    unit: str
    provider: str | None


class UnderstandHistoryRequest(RequestModel):
    """The days to understand, and whether a provider may be paid for them."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"days": 7, "paid": False}]})

    days: Annotated[int, Field(ge=1, le=MAX_DAYS)]
    paid: bool = False


class UnderstandHistoryResponse(ResponseModel):
    """How many posts will be tagged: on this machine, and by a provider."""

    local: int
    by_provider: int


PRICE_EXAMPLE = {
    "items": [
        {"channel_id": 1234567890, "title": "City news", "local": 120, "by_provider": 80, "micro": 3_100_000}
    ],
    "local": 120,
    "by_provider": 80,
    "micro": 3_100_000,
    "unit": "RUB",
    "provider": "gigachat",
}
STANCE_EXAMPLE = {"default": "local", "consent": {"given_by": "anna", "given_at": "2026-11-15T08:00:00Z"}}
POLICY_EXAMPLE = {
    "channel_id": 1234567890,
    "title": "City news",
    "chosen": "provider",
    "in_force": "provider",
}


@area.get("/ai", scope=KeyScope.READ, example=STANCE_EXAMPLE)
async def get_understanding(context: Context) -> AiDefaultsResponse:
    """Get the policy of newly followed channels, and an owner's consent to a provider."""
    return _stance(await ai_policies.stance(stores=context.stores))


@area.put("/ai/default", scope=KeyScope.ADMIN, example=STANCE_EXAMPLE)
async def choose_default_policy(context: Context, body: AiDefaultRequest) -> AiDefaultsResponse:
    """Set the policy of channels that are followed from now on."""
    context.note(policy=body.policy)
    return _stance(await ai_policies.choose_default(body.policy, stores=context.stores))


@area.get("/ai/policies", scope=KeyScope.READ, example={"items": [POLICY_EXAMPLE], "next": None})
async def list_policies(context: Context, limit: Limit = 50, cursor: CursorText = None) -> PoliciesResponse:
    """List the chosen policy of each followed channel, and the one in force."""
    position = read_cursor(cursor, CURSOR)
    page = await ai_policies.policies(
        stores=context.stores, limit=limit, after=ChannelId(position[0]) if position else None
    )
    return PoliciesResponse(
        items=[_policy(policy) for policy in page.policies],
        next=write_cursor(page.next) if page.next else None,
    )


@area.put(
    "/ai/policies", scope=KeyScope.ADMIN, example={"items": [POLICY_EXAMPLE], "next": None}, also=(404,)
)
async def choose_policies(context: Context, body: PoliciesRequest) -> PoliciesResponse:
    """Set the policy of several channels.

    `provider` needs an owner's consent first (409). If you do not follow one of the channels (404), none of
    them changes.
    """
    context.note(policy=body.policy, channels=len(body.channel_ids))
    chosen_forces = await ai_policies.choose_policy(
        [ChannelId(channel_id) for channel_id in body.channel_ids], body.policy, stores=context.stores
    )
    return PoliciesResponse(items=[_policy(policy) for policy in chosen_forces], next=None)


@area.put("/ai/consent", scope=KeyScope.ADMIN, example=STANCE_EXAMPLE)
async def give_consent(context: Context) -> AiDefaultsResponse:
    """Record an owner's consent to a provider.

    Texts of channels with the policy `provider` may then be sent to the configured provider. If consent was
    already given, its original record stays.
    """
    return _stance(await ai_policies.consent(by=context.caller.actor, stores=context.stores))


@area.delete("/ai/consent", scope=KeyScope.ADMIN)
async def withdraw_consent(context: Context) -> None:
    """Withdraw the consent to a provider.

    From now on no texts are sent, whatever the policies of channels.
    """
    await ai_policies.withdraw_consent(stores=context.stores)


@area.get("/ai/history", scope=KeyScope.READ, example=PRICE_EXAMPLE, is_expensive=True)
async def get_history_price(
    context: Context,
    days: Annotated[int, Query(ge=1, le=MAX_DAYS, description="How many days back to look.")] = 7,
) -> PriceResponse:
    """Get the highest price of understanding the posts of the last days.

    It assumes one token per character and no duplicate texts. Copies and known answers make it cheaper.
    Nothing is spent.
    """
    return _price(
        await price_history(days, stores=context.stores, settings=context.app.settings, now=context.now)
    )


@area.post(
    "/ai/history",
    scope=KeyScope.ADMIN,
    example={"local": 120, "by_provider": 80},
    status=202,
    is_expensive=True,
)
async def understand_own_history(
    context: Context, body: UnderstandHistoryRequest
) -> UnderstandHistoryResponse:
    """Have the posts of the last days understood, after all new ones.

    With `paid` a provider reads those of channels with the policy `provider`, as long as the budget lasts. A
    repeated request queues nothing twice.
    """
    order = await understand_history(body.days, is_paid=body.paid, stores=context.stores, now=context.now)
    context.note(days=body.days, posts=order.local, paid_posts=order.by_provider)
    return UnderstandHistoryResponse(local=order.local, by_provider=order.by_provider)


def _stance(stance: AiDefaults) -> AiDefaultsResponse:
    return AiDefaultsResponse.model_validate(stance, from_attributes=True)


def _policy(policy: PolicyInForce) -> PolicyResponse:
    return PolicyResponse(
        channel_id=policy.channel.channel_id,
        title=policy.channel.title,
        chosen=policy.channel.chosen,
        in_force=policy.in_force,
    )


def _price(price: HistoryPrice) -> PriceResponse:
    items = [
        ChannelPriceResponse(
            channel_id=channel.outdated.channel_id,
            title=channel.outdated.title,
            local=channel.outdated.local,
            by_provider=channel.outdated.provider,
            micro=channel.micro,
        )
        for channel in price.channels
    ]
    return PriceResponse(
        items=items,
        local=price.local,
        by_provider=price.by_provider,
        micro=price.micro,
        unit=price.unit,
        provider=price.provider,
    )
