"""What may understand your channels' posts."""

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import CursorText, Id, Limit, PageResponse, RequestModel, ResponseModel, cursor_text, read_cursor
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.features import ai_policies
from telegram_assistant.features.ai_policies import PolicyInForce
from telegram_assistant.stores.postgres.understanding.ai_choices import AiDefaults

area = Area("Understanding", "What may understand posts: nothing (off), this installation (local), or a provider, which needs an owner's consent.")

CURSOR = TypeAdapter(tuple[Id])


class ConsentResponse(ResponseModel):
    """An owner's word that texts may be sent to a provider."""

    given_by: str
    given_at: datetime


class AiDefaultsResponse(ResponseModel):
    """What holds for channels to come, and the consent, if there is one."""

    default: AiPolicy
    consent: ConsentResponse | None


class PolicyResponse(ResponseModel):
    """What was chosen for a channel, and what holds: without consent `provider` is `local`, and what the operator has blocked is off."""

    channel_id: int
    title: str
    chosen: AiPolicy
    in_force: AiPolicy


class PoliciesResponse(PageResponse):
    """A page of channels, in the order of their ids."""

    items: list[PolicyResponse]


class AiDefaultRequest(RequestModel):
    """For channels that are followed from now on without a word about it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"policy": "local"}]})

    policy: AiPolicy


class PoliciesRequest(RequestModel):
    """The same policy for all of these channels, or for none of them."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"channel_ids": [1234567890], "policy": "off"}]})

    channel_ids: Annotated[list[Id], Field(min_length=1, max_length=1000)]
    policy: AiPolicy


STANCE_EXAMPLE = {"default": "local", "consent": {"given_by": "anna", "given_at": "2026-11-15T08:00:00Z"}}
POLICY_EXAMPLE = {"channel_id": 1234567890, "title": "City news", "chosen": "provider", "in_force": "provider"}


@area.get("/ai", scope=KeyScope.READ, example=STANCE_EXAMPLE)
async def get_understanding(context: Context) -> AiDefaultsResponse:
    """What holds for channels to come, and whether an owner has consented to a provider."""
    return _stance(await ai_policies.stance(stores=context.stores))


@area.put("/ai/default", scope=KeyScope.ADMIN, example=STANCE_EXAMPLE)
async def choose_default_policy(context: Context, wish: AiDefaultRequest) -> AiDefaultsResponse:
    """Choose what may understand channels that are followed from now on."""
    context.note(policy=wish.policy)
    return _stance(await ai_policies.choose_default(wish.policy, stores=context.stores))


@area.get("/ai/policies", scope=KeyScope.READ, example={"items": [POLICY_EXAMPLE], "next": None})
async def list_policies(context: Context, limit: Limit = 50, cursor: CursorText = None) -> PoliciesResponse:
    """What was chosen for each followed channel, and what holds."""
    read = read_cursor(cursor, CURSOR)
    page = await ai_policies.policies(stores=context.stores, limit=limit, after=ChannelId(read[0]) if read else None)
    return PoliciesResponse(items=[_policy(one) for one in page.policies], next=cursor_text(page.next) if page.next else None)


@area.put("/ai/policies", scope=KeyScope.ADMIN, example={"items": [POLICY_EXAMPLE], "next": None}, also=(404,))
async def choose_policies(context: Context, wish: PoliciesRequest) -> PoliciesResponse:
    """Choose what may understand the posts of some channels.

    A provider needs an owner's consent first (409). A channel that is not followed (404) changes nothing for the others either.
    """
    context.note(policy=wish.policy, channels=len(wish.channel_ids))
    chosen = await ai_policies.choose_policy([ChannelId(one) for one in wish.channel_ids], wish.policy, stores=context.stores)
    return PoliciesResponse(items=[_policy(one) for one in chosen], next=None)


@area.put("/ai/consent", scope=KeyScope.ADMIN, example=STANCE_EXAMPLE)
async def give_consent(context: Context) -> AiDefaultsResponse:
    """Record an owner's consent: texts of channels with the policy `provider` may be sent to the configured provider.

    The first word stays on record.
    """
    return _stance(await ai_policies.consent(by=context.caller.actor, stores=context.stores))


@area.delete("/ai/consent", scope=KeyScope.ADMIN)
async def withdraw_consent(context: Context) -> None:
    """Withdraw the consent: from now on nothing is sent, whatever is chosen."""
    await ai_policies.withdraw_consent(stores=context.stores)


def _stance(stance: AiDefaults) -> AiDefaultsResponse:
    return AiDefaultsResponse.model_validate(stance, from_attributes=True)


def _policy(one: PolicyInForce) -> PolicyResponse:
    return PolicyResponse(channel_id=one.channel.channel_id, title=one.channel.title, chosen=one.channel.chosen, in_force=one.in_force)
