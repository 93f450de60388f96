"""Receivers of alerts and digests: webhooks, e-mail addresses, and addresses of feeds."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import ConfigDict, Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import Moment, RequestModel, ResponseModel, Storable
from telegram_assistant.domain.receivers.delivery import AlertReceiver, ReceiverKind
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.watches.watch import MAX_NAME_LETTERS
from telegram_assistant.features.receivers import receivers, rss_feeds
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedAddress, FeedKind

area = Area(
    "Receivers",
    "Where alerts and digests go: signed webhooks, e-mail addresses, and secret addresses of RSS, "
    "Atom and JSON feeds.",
)

EXAMPLE = {
    "receiver_id": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f12",
    "kind": "webhook",
    "name": "Newsroom",
    "address": "https://desk.example/alerts",
    "created_by": "anna",
    "created_at": "2026-11-15T08:00:00Z",
    "confirmed_at": "2026-11-15T08:01:00Z",
    "failures": 0,
    "retry_at": None,
    "trouble": None,
    "paused_at": None,
    "delivered_at": "2026-11-15T09:30:00Z",
    "waiting": 0,
    "old_secret_until": None,
}
SECRET_EXAMPLE = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD5P8ms4l1uPo="  # noqa: S105 -- for the documentation
FEED_EXAMPLE = {
    "address_id": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f14",
    "kind": "watch",
    "subject": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f11",
    "name": "Snow in the underground",
    "created_by": "anna",
    "created_at": "2026-11-15T08:00:00Z",
}
ReceiverId = Annotated[
    UUID,
    Path(description="`receiver_id` of the receiver.", examples=["0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f12"]),
]
AddressId = Annotated[
    UUID,
    Path(description="`address_id` of the feed address.", examples=["0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f14"]),
]
ReceiverName = Annotated[Storable, Field(min_length=1, max_length=MAX_NAME_LETTERS)]


class ReceiverResponse(ResponseModel):
    """A receiver. `trouble` says why the last attempt failed, `waiting` how many alerts and digests it has
    not got yet.

    Until `confirmed_at`, it gets nothing but its code. Until `old_secret_until`, requests are also signed
    with the secret before the last one.
    """

    receiver_id: UUID
    kind: ReceiverKind
    name: str
    address: str
    created_by: str
    created_at: datetime
    confirmed_at: datetime | None
    failures: int
    retry_at: datetime | None
    trouble: str | None
    paused_at: datetime | None
    delivered_at: datetime | None
    waiting: int
    old_secret_until: datetime | None


class ReceiversResponse(ResponseModel):
    """All receivers of the tenant, by name."""

    items: list[ReceiverResponse]


class WebhookRequest(RequestModel):
    """A webhook. Its address must be on the public web."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "Newsroom", "url": "https://desk.example/alerts"}]}
    )

    name: ReceiverName
    url: Annotated[Storable, Field(min_length=1, max_length=2000)]


class EmailRequest(RequestModel):
    """An e-mail address. `language` is that of the mails."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "Anna", "address": "anna@desk.example"}]}
    )

    name: ReceiverName
    address: Annotated[Storable, Field(min_length=3, max_length=254)]
    language: Annotated[str, Field(pattern="^(en|ru)$")] = "en"


class CreatedWebhookResponse(ResponseModel):
    """A new webhook. `secret` signs its requests and is shown only once."""

    receiver: ReceiverResponse
    secret: str


class ConfirmRequest(RequestModel):
    """The code of the last message that the receiver got."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"code": "K7QXN2PA"}]})

    code: Annotated[Storable, Field(min_length=1, max_length=40)]


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

    `subject` is its id; of a folder, its name; of a story, the id of one of its posts; of all stories, `all`;
    of digests, `me`.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"kind": "folder", "subject": "City"}]})

    kind: FeedKind
    subject: Annotated[Storable, Field(min_length=1, max_length=200)]


class CreatedFeedResponse(ResponseModel):
    """A new address: `/feeds/{token}.atom`, `/feeds/{token}.rss` or `/feeds/{token}.json` (JSON Feed 1.1).

    The token is shown only once.
    """

    feed: FeedAddressResponse
    token: str


@area.get("/receivers", scope=KeyScope.READ, example={"items": [EXAMPLE]})
async def list_receivers(context: Context) -> ReceiversResponse:
    """List all receivers."""
    own_receivers = await receivers.list_receivers(stores=context.stores)
    return ReceiversResponse(items=[_response(receiver, context) for receiver in own_receivers])


@area.post(
    "/webhooks",
    scope=KeyScope.ADMIN,
    example={"receiver": EXAMPLE | {"confirmed_at": None}, "secret": SECRET_EXAMPLE},
    status=201,
    is_secret=True,
)
async def create_webhook(context: Context, body: WebhookRequest) -> CreatedWebhookResponse:
    """Create a webhook.

    Requests are signed as [Standard Webhooks](https://www.standardwebhooks.com) describes; only this response
    contains the secret. The first request has the type `receiver.confirmation` and carries a code. Nothing
    else is sent before you confirm the receiver with that code, or the receiver answers the request with the
    code alone or with `{"code": "…"}`.
    """
    context.note(name=body.name)
    created_receiver = await _create(context, ReceiverKind.WEBHOOK, body.name, body.url, context.language)
    return CreatedWebhookResponse(
        receiver=_response(created_receiver.receiver, context), secret=created_receiver.secret
    )


@area.post(
    "/emails",
    scope=KeyScope.ADMIN,
    example=EXAMPLE | {"kind": "email", "address": "anna@desk.example", "confirmed_at": None},
    status=201,
)
async def create_email(context: Context, body: EmailRequest) -> ReceiverResponse:
    """Add an e-mail address.

    It gets a mail with a link and a code; nothing else is sent before one of them is used.
    """
    context.note(name=body.name)
    return _response(
        (await _create(context, ReceiverKind.EMAIL, body.name, body.address, body.language)).receiver, context
    )


@area.post("/receivers/{receiver_id}/confirm", scope=KeyScope.ADMIN, example=EXAMPLE)
async def confirm_receiver(
    context: Context, receiver_id: ReceiverId, body: ConfirmRequest
) -> ReceiverResponse:
    """Confirm a receiver with the code that it got. After ten wrong codes a new one must be sent."""
    confirmed_receiver = await receivers.confirm_receiver(
        receiver_id, body.code, stores=context.stores, sealer=context.app.sealer
    )
    return _response(confirmed_receiver, context)


@area.post(
    "/receivers/{receiver_id}/code",
    scope=KeyScope.ADMIN,
    example=EXAMPLE | {"confirmed_at": None},
    status=202,
    also=(409,),
)
async def send_receiver_code(context: Context, receiver_id: ReceiverId) -> ReceiverResponse:
    """Send a new code to a receiver that is not confirmed. Earlier codes end."""
    return _response(await receivers.send_code_again(receiver_id, stores=context.stores), context)


@area.post(
    "/receivers/{receiver_id}/secret",
    scope=KeyScope.ADMIN,
    example={"receiver": EXAMPLE | {"old_secret_until": "2026-11-16T10:00:00Z"}, "secret": SECRET_EXAMPLE},
    is_secret=True,
)
async def replace_webhook_secret(context: Context, receiver_id: ReceiverId) -> CreatedWebhookResponse:
    """Make a new secret for a webhook.

    For a day, requests are signed with the old one, too: `webhook-signature` holds both.
    """
    replaced_receiver = await receivers.replace_secret(
        receiver_id, stores=context.stores, sealer=context.app.sealer
    )
    return CreatedWebhookResponse(
        receiver=_response(replaced_receiver.receiver, context), secret=replaced_receiver.secret
    )


@area.post(
    "/receivers/{receiver_id}/pause",
    scope=KeyScope.ADMIN,
    example=EXAMPLE | {"paused_at": "2026-11-15T10:00:00Z"},
)
async def pause_receiver(context: Context, receiver_id: ReceiverId) -> ReceiverResponse:
    """Pause a receiver. Its alerts wait."""
    return _response(await receivers.pause_receiver(receiver_id, stores=context.stores), context)


@area.post("/receivers/{receiver_id}/resume", scope=KeyScope.ADMIN, example=EXAMPLE)
async def resume_receiver(context: Context, receiver_id: ReceiverId) -> ReceiverResponse:
    """Try a receiver again at once, and end its pause. Waiting alerts and digests are delivered in order."""
    return _response(await receivers.resume_receiver(receiver_id, stores=context.stores), context)


@area.post("/receivers/{receiver_id}/replay", scope=KeyScope.ADMIN, example={"replayed": 14}, status=202)
async def replay_receiver(context: Context, receiver_id: ReceiverId, body: ReplayRequest) -> ReplayResponse:
    """Deliver again what a receiver has got since then, in order and with the same ids."""
    return ReplayResponse(
        replayed=await receivers.replay_receiver(receiver_id, stores=context.stores, since=body.since)
    )


@area.delete("/receivers/{receiver_id}", scope=KeyScope.ADMIN)
async def delete_receiver(context: Context, receiver_id: ReceiverId) -> None:
    """Delete a receiver with what waits for it."""
    await receivers.delete_receiver(receiver_id, stores=context.stores)


@area.get("/feed-addresses", scope=KeyScope.READ, example={"items": [FEED_EXAMPLE]})
async def list_feed_addresses(context: Context) -> FeedAddressesResponse:
    """List the addresses of feeds, without their secrets."""
    feeds = await rss_feeds.list_feeds(stores=context.stores)
    return FeedAddressesResponse(items=[_feed_response(feed) for feed in feeds])


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
    created_feed = await rss_feeds.create_feed(
        body.kind,
        body.subject,
        stores=context.stores,
        created_by=context.caller.actor,
        user_id=context.caller.user_id,
        language=context.language,
    )
    return CreatedFeedResponse(feed=_feed_response(created_feed.address), token=created_feed.token)


@area.delete("/feed-addresses/{address_id}", scope=KeyScope.WRITE)
async def revoke_feed_address(context: Context, address_id: AddressId) -> None:
    """Revoke a feed address. It stops working at once."""
    await rss_feeds.revoke_feed(address_id, stores=context.stores)


async def _create(
    context: Context, kind: ReceiverKind, name: str, address: str, language: str
) -> receivers.CreatedReceiver:
    return await receivers.create_receiver(
        kind,
        name,
        address,
        stores=context.stores,
        sealer=context.app.sealer,
        guard=context.app.webhook_guard,
        language=language,
        created_by=context.caller.actor,
    )


def _response(receiver: AlertReceiver, context: Context) -> ReceiverResponse:
    return ReceiverResponse(
        receiver_id=receiver.receiver_id,
        kind=receiver.kind,
        name=receiver.name,
        address=receiver.address,
        created_by=receiver.created_by,
        created_at=receiver.created_at,
        confirmed_at=receiver.confirmed_at,
        failures=receiver.failures,
        retry_at=receiver.retry_at,
        trouble=context.translate(receiver.trouble),
        paused_at=receiver.paused_at,
        delivered_at=receiver.delivered_at,
        waiting=receiver.waiting,
        old_secret_until=receiver.old_secret_until,
    )


def _feed_response(address: FeedAddress) -> FeedAddressResponse:
    return FeedAddressResponse.model_validate(address, from_attributes=True)
