"""Where alerts and digests go: webhooks, e-mail addresses, and addresses of feeds."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import ConfigDict, Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import Moment, RequestModel, ResponseModel, Storable
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.watches.delivery import AlertReceiver, ReceiverKind
from telegram_assistant.domain.watches.watch import MAX_NAME_LETTERS
from telegram_assistant.features.watches import feeds, receivers
from telegram_assistant.stores.postgres.watches.feed_addresses import FeedAddress, FeedKind

area = Area("Receivers", "Where alerts and digests go: signed webhooks, e-mail addresses, and secret addresses of RSS, Atom and JSON feeds.")

EXAMPLE = {
    "receiver_id": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f12",
    "kind": "webhook",
    "name": "Newsroom",
    "address": "https://desk.example/alerts",
    "created_by": "anna",
    "created_at": "2026-11-15T08:00:00Z",
    "failures": 0,
    "retry_at": None,
    "trouble": None,
    "paused_at": None,
    "delivered_at": "2026-11-15T09:30:00Z",
    "waiting": 0,
}
FEED_EXAMPLE = {
    "address_id": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f14",
    "kind": "watch",
    "subject": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f11",
    "name": "Snow in the underground",
    "created_by": "anna",
    "created_at": "2026-11-15T08:00:00Z",
}
ReceiverId = Annotated[UUID, Path(description="`receiver_id` of the receiver.", examples=["0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f12"])]
AddressId = Annotated[UUID, Path(description="`address_id` of the feed address.", examples=["0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f14"])]
ReceiverName = Annotated[Storable, Field(min_length=1, max_length=MAX_NAME_LETTERS)]


class ReceiverResponse(ResponseModel):
    """A receiver. `trouble` says why the last attempt failed, `waiting` how many alerts and digests it has not got yet."""

    receiver_id: UUID
    kind: ReceiverKind
    name: str
    address: str
    created_by: str
    created_at: datetime
    failures: int
    retry_at: datetime | None
    trouble: str | None
    paused_at: datetime | None
    delivered_at: datetime | None
    waiting: int


class ReceiversResponse(ResponseModel):
    """All receivers of the tenant, by name."""

    items: list[ReceiverResponse]


class WebhookRequest(RequestModel):
    """A webhook. Its address must be on the public web."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Newsroom", "url": "https://desk.example/alerts"}]})

    name: ReceiverName
    url: Annotated[Storable, Field(min_length=1, max_length=2000)]


class EmailRequest(RequestModel):
    """An e-mail address. `language` is that of the mails."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Anna", "address": "anna@desk.example"}]})

    name: ReceiverName
    address: Annotated[Storable, Field(min_length=3, max_length=254)]
    language: Annotated[str, Field(pattern="^(en|ru)$")] = "en"


class CreatedWebhookResponse(ResponseModel):
    """A new webhook. `secret` signs its requests and is shown only once."""

    receiver: ReceiverResponse
    secret: str


class ReplayRequest(RequestModel):
    """Since when deliveries are repeated."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"since": "2026-11-15T08:00:00Z"}]})

    since: Moment


class ReplayResponse(ResponseModel):
    """How many deliveries are repeated."""

    replayed: int


class FeedAddressResponse(ResponseModel):
    """An address of a feed, without its secret."""

    address_id: UUID
    kind: FeedKind
    subject: str
    name: str
    created_by: str
    created_at: datetime


class FeedAddressesResponse(ResponseModel):
    """All feed addresses of the tenant, newest first."""

    items: list[FeedAddressResponse]


class FeedRequest(RequestModel):
    """A feed of a watch, a folder, a saved search, a story, all stories, or of your digests.

    `subject` is its id; of a folder, its name; of a story, the id of one of its posts; of all stories, `all`; of digests, `me`.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"kind": "folder", "subject": "City"}]})

    kind: FeedKind
    subject: Annotated[Storable, Field(min_length=1, max_length=200)]


class CreatedFeedResponse(ResponseModel):
    """A new address: `/feeds/{token}.atom`, `/feeds/{token}.rss` or `/feeds/{token}.json` (JSON Feed 1.1). The token is shown only once."""

    feed: FeedAddressResponse
    token: str


@area.get("/receivers", scope=KeyScope.READ, example={"items": [EXAMPLE]})
async def list_receivers(context: Context) -> ReceiversResponse:
    """List all receivers."""
    found = await context.stores.receivers.all()
    return ReceiversResponse(items=[_response(one, context) for one in found])


@area.post(
    "/webhooks",
    scope=KeyScope.ADMIN,
    example={"receiver": EXAMPLE, "secret": "whsec_hK3f9aYw0Xr8m1cJ2vQ6sT4nB7pL5dZxGuEiOaRk3Fh"},
    status=201,
    is_secret=True,
)
async def create_webhook(context: Context, body: WebhookRequest) -> CreatedWebhookResponse:
    """Create a webhook.

    Only this response contains the secret that signs its requests: `Webhook-Signature` is `v1=` and the hexadecimal HMAC-SHA256 of
    `Webhook-Timestamp`, a full stop and the body.
    """
    context.note(name=body.name)
    created = await receivers.create_receiver(
        ReceiverKind.WEBHOOK,
        body.name,
        body.url,
        stores=context.stores,
        language=context.language,
        created_by=context.caller.actor,
        guard=context.app.webhook_guard,
    )
    return CreatedWebhookResponse(receiver=_response(created.receiver, context), secret=created.secret)


@area.post("/emails", scope=KeyScope.ADMIN, example=EXAMPLE | {"kind": "email", "address": "anna@desk.example"}, status=201)
async def create_email(context: Context, body: EmailRequest) -> ReceiverResponse:
    """Add an e-mail address."""
    context.note(name=body.name)
    created = await receivers.create_receiver(
        ReceiverKind.EMAIL, body.name, body.address, stores=context.stores, language=body.language, created_by=context.caller.actor
    )
    return _response(created.receiver, context)


@area.post("/receivers/{receiver_id}/pause", scope=KeyScope.ADMIN, example=EXAMPLE | {"paused_at": "2026-11-15T10:00:00Z"})
async def pause_receiver(context: Context, receiver_id: ReceiverId) -> ReceiverResponse:
    """Pause a receiver. Its alerts wait."""
    return _response(await receivers.pause_receiver(receiver_id, stores=context.stores), context)


@area.post("/receivers/{receiver_id}/resume", scope=KeyScope.ADMIN, example=EXAMPLE)
async def resume_receiver(context: Context, receiver_id: ReceiverId) -> ReceiverResponse:
    """Try a receiver again at once, and end its pause. What waits for it is delivered in order."""
    return _response(await receivers.resume_receiver(receiver_id, stores=context.stores), context)


@area.post("/receivers/{receiver_id}/replay", scope=KeyScope.ADMIN, example={"replayed": 14}, status=202)
async def replay_receiver(context: Context, receiver_id: ReceiverId, body: ReplayRequest) -> ReplayResponse:
    """Deliver again what a receiver has got since then, in order and with the same ids."""
    return ReplayResponse(replayed=await receivers.replay_receiver(receiver_id, stores=context.stores, since=body.since))


@area.delete("/receivers/{receiver_id}", scope=KeyScope.ADMIN)
async def delete_receiver(context: Context, receiver_id: ReceiverId) -> None:
    """Delete a receiver with what waits for it."""
    await receivers.delete_receiver(receiver_id, stores=context.stores)


@area.get("/feed-addresses", scope=KeyScope.READ, example={"items": [FEED_EXAMPLE]})
async def list_feed_addresses(context: Context) -> FeedAddressesResponse:
    """List the addresses of feeds, without their secrets."""
    return FeedAddressesResponse(items=[_feed_response(one) for one in await context.stores.feed_addresses.all()])


@area.post(
    "/feed-addresses",
    scope=KeyScope.WRITE,
    example={"feed": FEED_EXAMPLE, "token": "feed_hK3f9aYw0Xr8m1cJ2vQ6sT4nB7pL5dZxGuEiOaRk3Fh"},
    status=201,
    also=(404,),
    is_secret=True,
)
async def create_feed_address(context: Context, body: FeedRequest) -> CreatedFeedResponse:
    """Make a secret address of a feed, which works without a login until it is revoked."""
    context.note(kind=body.kind, subject=body.subject)
    created = await feeds.create_feed(
        body.kind,
        body.subject,
        stores=context.stores,
        created_by=context.caller.actor,
        user_id=context.caller.user_id,
        language=context.language,
    )
    return CreatedFeedResponse(feed=_feed_response(created.address), token=created.token)


@area.delete("/feed-addresses/{address_id}", scope=KeyScope.WRITE)
async def revoke_feed_address(context: Context, address_id: AddressId) -> None:
    """Revoke a feed address. It stops working at once."""
    await feeds.revoke_feed(address_id, stores=context.stores)


def _response(receiver: AlertReceiver, context: Context) -> ReceiverResponse:
    return ReceiverResponse(
        receiver_id=receiver.receiver_id,
        kind=receiver.kind,
        name=receiver.name,
        address=receiver.address,
        created_by=receiver.created_by,
        created_at=receiver.created_at,
        failures=receiver.failures,
        retry_at=receiver.retry_at,
        trouble=context.say(receiver.trouble),
        paused_at=receiver.paused_at,
        delivered_at=receiver.delivered_at,
        waiting=receiver.waiting,
    )


def _feed_response(address: FeedAddress) -> FeedAddressResponse:
    return FeedAddressResponse.model_validate(address, from_attributes=True)
