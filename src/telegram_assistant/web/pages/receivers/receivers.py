"""Receivers of alerts and digests: webhooks, e-mail addresses and feeds."""

import asyncio
from datetime import timedelta
from uuid import UUID

from starlette.responses import Response

from telegram_assistant.domain.receivers.delivery import ReceiverKind
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.features.feed.person_feed import feed_surroundings
from telegram_assistant.features.receivers import receivers, rss_feeds
from telegram_assistant.features.search.saved import list_searches
from telegram_assistant.features.watches.watches import list_watches
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedKind
from telegram_assistant.web.views import FORM_DAMAGED, Content, TenantView, go, uuid_of

REPLAYED = timedelta(days=1)


async def show(view: TenantView) -> Content:
    return await _content(view)


async def create(view: TenantView) -> Content:
    try:
        kind = ReceiverKind(view.text("kind"))
    except ValueError as error:
        raise Rejected(FORM_DAMAGED) from error
    created_receiver = await receivers.create_receiver(
        kind,
        view.text("name"),
        view.text("address"),
        stores=view.stores,
        sealer=view.app.sealer,
        guard=view.app.webhook_guard,
        language=view.language.value,
        created_by=view.person.name,
    )
    view.note(name=created_receiver.receiver.name, kind=kind.value)
    return {**await _content(view), "created": created_receiver}


async def confirm(view: TenantView) -> Content | Response:
    try:
        await receivers.confirm_receiver(
            _id(view), view.text("code"), stores=view.stores, sealer=view.app.sealer
        )
    except Rejected as error:
        if isinstance(error, Missing):
            raise
        return {**await _content(view), "error": error.reason, "unconfirmed": _id(view)}
    return go(view.url("/receivers"))


async def send_code(view: TenantView) -> Response:
    await receivers.send_code_again(_id(view), stores=view.stores)
    return go(view.url("/receivers"))


async def replace_secret(view: TenantView) -> Content:
    replaced_receiver = await receivers.replace_secret(_id(view), stores=view.stores, sealer=view.app.sealer)
    return {**await _content(view), "replaced": replaced_receiver}


async def resume(view: TenantView) -> Response:
    await receivers.resume_receiver(_id(view), stores=view.stores)
    return go(view.url("/receivers"))


async def pause(view: TenantView) -> Response:
    await receivers.pause_receiver(_id(view), stores=view.stores)
    return go(view.url("/receivers"))


async def replay(view: TenantView) -> Response:
    view.note(
        replayed=await receivers.replay_receiver(_id(view), stores=view.stores, since=view.now - REPLAYED)
    )
    return go(view.url("/receivers"))


async def delete(view: TenantView) -> Response:
    await receivers.delete_receiver(_id(view), stores=view.stores)
    return go(view.url("/receivers"))


async def create_feed(view: TenantView) -> Content:
    kind, _, subject = view.text("feed").partition(":")
    if kind not in set(FeedKind):
        raise Rejected(FORM_DAMAGED)
    created_feed = await rss_feeds.create_feed(
        FeedKind(kind), subject, stores=view.stores, created_by=view.person.name, language=view.language.value
    )
    view.note(kind=kind, name=created_feed.address.name)
    base = view.app.settings.web.base_url or str(view.request.base_url).rstrip("/")
    return {**await _content(view), "feed_address": f"{base}/feeds/{created_feed.token}"}


async def revoke_feed(view: TenantView) -> Response:
    await rss_feeds.revoke_feed(uuid_of(view.request.path_params["address"]), stores=view.stores)
    return go(view.url("/receivers"))


async def _content(view: TenantView) -> Content:
    stores = view.stores
    per_hour = view.app.settings.delivery.per_hour
    own_receivers, feeds, watches, surroundings, searches, hour_ends = await asyncio.gather(
        receivers.list_receivers(stores=stores),
        rss_feeds.list_feeds(stores=stores),
        list_watches(stores=stores),
        feed_surroundings(own=view.own),
        list_searches(stores=stores),
        receivers.find_end_of_limit(stores=stores, per_hour=per_hour, now=view.now),
    )
    return {
        "receivers": own_receivers,
        "per_hour": per_hour,
        "hour_ends": hour_ends,
        "feeds": feeds,
        "watches": watches,
        "folders": surroundings.folders,
        "searches": searches,
        "has_mail": bool(view.app.settings.mail.host),
        "has_secret_key": view.app.sealer.is_usable,
        "created": None,
        "replaced": None,
        "error": None,
        "unconfirmed": None,
        "feed_address": None,
    }


def _id(view: TenantView) -> UUID:
    return uuid_of(view.request.path_params["receiver"])
