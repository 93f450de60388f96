"""Watches, alerts, receivers and feed addresses of a tenant, method by method:
the rest of the cases in cases.py.

It is long because every method has its case.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.people.person import new_token
from telegram_assistant.domain.receivers.delivery import AlertReceiver, ReceiverKind
from telegram_assistant.domain.search.query import Query, Term
from telegram_assistant.domain.watches.watch import (
    AlertKind,
    WatchConditions,
    WatchKind,
    WatchOptions,
    WatchTarget,
)
from telegram_assistant.reasons import quote
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedKind
from telegram_assistant.stores.postgres.receivers.receivers import NewReceiver
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.watches.previews import PreviewedAlert
from testkit.factories import World
from tests.conftest import Admin

type Case = Callable[[TenantStores, World], Awaitable[set[ChannelId]]]

TARGET = WatchTarget(kind=WatchKind.WORDS, query="снег")
SNOW = WatchConditions(query=Query(alternatives=((Term("снег"),),)))
SINCE = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = datetime(2026, 11, 15, 8, tzinfo=UTC)


def _channel_id_in(name: str) -> ChannelId:
    return ChannelId(int(name.split(maxsplit=1)[0]))


async def _watches_all(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {_channel_id_in(watch.name) for watch in await stores.watches.all() if watch.alerts == 1}


async def _watches_one(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        watch for tenant in (world.stores_a, world.stores_b) for watch in await tenant.watches.all()
    ]
    return {
        _channel_id_in(own_watch.name)
        for everybody in everybodys
        if (own_watch := await stores.watches.one(everybody.watch_id))
    }


async def _watches_create(stores: TenantStores, world: World) -> set[ChannelId]:
    for watch in await stores.watches.all():
        assert await stores.watches.create(
            f"{watch.name} again", TARGET, WatchOptions(), SNOW, created_by="test"
        )
    return await _watches_all(stores, world)


async def _watches_change(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        watch for tenant in (world.stores_a, world.stores_b) for watch in await tenant.watches.all()
    ]
    return {
        _channel_id_in(everybody.name)
        for everybody in everybodys
        if await stores.watches.change(
            everybody.watch_id, f"{everybody.name} x", TARGET, WatchOptions(), SNOW
        )
    }


async def _watches_pause(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        watch for tenant in (world.stores_a, world.stores_b) for watch in await tenant.watches.all()
    ]
    return {
        _channel_id_in(everybody.name)
        for everybody in everybodys
        if await stores.watches.pause(everybody.watch_id, is_paused=True)
    }


async def _watches_delete(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        watch for tenant in (world.stores_a, world.stores_b) for watch in await tenant.watches.all()
    ]
    return {
        _channel_id_in(everybody.name)
        for everybody in everybodys
        if await stores.watches.delete(everybody.watch_id)
    }


def _make_conditions(world: World) -> WatchConditions:
    return WatchConditions(
        query=Query(alternatives=((Term(f"изоляция{world.a}"),),)), channel_ids=world.channels
    )


async def _previews_posts(stores: TenantStores, world: World) -> set[ChannelId]:
    conditions = [
        replace(_make_conditions(world), channel_ids=(channel_id,)) for channel_id in world.channels
    ]  # together they are one story
    previews = [await stores.watch_previews.posts(sought, since=SINCE) for sought in conditions]
    return {alert.channel_id for previewed in previews for alert in previewed.alerts}


async def _previews_mentions(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        alert.channel_id
        for alert in (await stores.watch_previews.mentions(_make_conditions(world), since=SINCE)).alerts
    }


async def _previews_changes(stores: TenantStores, world: World) -> set[ChannelId]:
    """The second post of every channel was deleted."""
    return {
        alert.channel_id
        for alert in (
            await stores.watch_previews.changes(WatchConditions(channel_ids=world.channels), since=SINCE)
        ).alerts
    }


async def _previews_silences(stores: TenantStores, world: World) -> set[ChannelId]:
    sought, later = WatchConditions(channel_ids=world.channels), datetime.now(UTC) + timedelta(days=9)
    return {
        alert.channel_id
        for alert in (await stores.watch_previews.silences(sought, hours=96, since=SINCE, now=later)).alerts
    }


async def _previews_stories(stores: TenantStores, world: World) -> set[ChannelId]:
    conditions = [WatchConditions(channel_ids=(channel_id,)) for channel_id in world.channels]
    previews = [
        await stores.watch_previews.stories(sought, min_posts=1, since=SINCE) for sought in conditions
    ]
    return {alert.channel_id for previewed in previews for alert in previewed.alerts}


async def _previews_of_posts(stores: TenantStores, world: World) -> set[ChannelId]:
    post_ids = [PostId(channel_id, MessageId(1)) for channel_id in world.channels]
    return {alert.channel_id for alert in (await stores.watch_previews.of_posts(post_ids)).alerts}


async def _previews_texts(stores: TenantStores, world: World) -> set[ChannelId]:
    alerts = tuple(
        PreviewedAlert(AlertKind.POSTED, channel_id, MessageId(1), SINCE) for channel_id in world.channels
    )
    texts = await stores.watch_previews.texts(alerts)
    return {alert.channel_id for alert, text in zip(alerts, texts, strict=True) if text.text and text.channel}


async def _alerts_newest(stores: TenantStores, _world: World) -> set[ChannelId]:
    """Each shows the text of its post, because the tenant follows the channel."""
    return {
        alert.channel_id
        for alert in await stores.alerts.newest(limit=1000)
        if alert.text and _channel_id_in(alert.watch) == alert.channel_id
    }


async def _alerts_by_event(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {alert.channel_id for alert in await stores.alerts.by_event(limit=1000) if alert.text}


async def _alerts_some(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        alert.alert_id
        for tenant in (world.stores_a, world.stores_b)
        for alert in await tenant.alerts.newest(limit=1000)
    ]
    return {alert.channel_id for alert in (await stores.alerts.some(everybodys)).values()}


async def _alerts_mark_seen(stores: TenantStores, world: World) -> set[ChannelId]:
    channel_ids = await _alerts_newest(stores, world)
    everybodys = [
        alert.alert_id
        for tenant in (world.stores_a, world.stores_b)
        for alert in await tenant.alerts.newest(limit=1000)
    ]
    assert await stores.alerts.mark_seen(
        everybodys, by="anna", until=datetime.now(UTC) + timedelta(days=1)
    ) == len(channel_ids)
    return channel_ids


async def _alerts_unread(stores: TenantStores, world: World) -> set[ChannelId]:
    channel_ids = await _alerts_newest(stores, world)
    assert await stores.alerts.count_unread() == len(channel_ids)
    newest, count = await stores.alerts.unread(limit=1)
    assert (len(newest), count) == (min(1, len(channel_ids)), len(channel_ids))
    assert {alert.channel_id for alert in (await stores.alerts.unread(limit=1000))[0]} == channel_ids
    return channel_ids


async def _receivers_all(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {_channel_id_in(receiver.name) for receiver in await stores.receivers.all()}


async def _receivers_create(stores: TenantStores, world: World) -> set[ChannelId]:
    for receiver in await stores.receivers.all():
        new = NewReceiver(
            receiver_id=(receiver_id := uuid4()),
            kind=ReceiverKind.EMAIL,
            name=f"{_channel_id_in(receiver.name)} {receiver_id}",
            address=f"{receiver_id}@desk.example",
            language="en",
            created_by="test",
        )
        assert await stores.receivers.create(new)
    return await _receivers_all(stores, world)


async def _everybodys_receivers(world: World) -> list[AlertReceiver]:
    return [
        receiver for tenant in (world.stores_a, world.stores_b) for receiver in await tenant.receivers.all()
    ]


async def _receivers_replace_secret(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        _channel_id_in(receiver.name)
        for receiver in await _everybodys_receivers(world)
        if await stores.receivers.replace_secret(receiver.receiver_id, "sealed", lifetime=timedelta(days=1))
    }


async def _receivers_take_code_attempt(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        _channel_id_in(receiver.name)
        for receiver in await _everybodys_receivers(world)
        if await stores.receivers.take_code_attempt(receiver.receiver_id) == receiver.code_number
    }


async def _receivers_confirm(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        _channel_id_in(receiver.name)
        for receiver in await _everybodys_receivers(world)
        if await stores.receivers.confirm(receiver.receiver_id, receiver.code_number)
    }


async def _receivers_send_code(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        _channel_id_in(receiver.name)
        for receiver in await _everybodys_receivers(world)
        if await stores.receivers.send_code(receiver.receiver_id)
    }


async def _receivers_of_mail(world: World) -> list[AlertReceiver]:
    """An e-mail address of each receiver, named after it."""
    for tenant in (world.stores_a, world.stores_b):
        await _receivers_create(tenant, world)
    return [
        receiver for receiver in await _everybodys_receivers(world) if receiver.kind is ReceiverKind.EMAIL
    ]


async def _receivers_unsubscribe(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        _channel_id_in(receiver.name)
        for receiver in await _receivers_of_mail(world)
        if await stores.receivers.unsubscribe(receiver.receiver_id, quote("enough")) == receiver.address
    }


async def _receivers_subscribe_again(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        _channel_id_in(receiver.name)
        for receiver in await _receivers_of_mail(world)
        if await stores.receivers.subscribe_again(receiver.receiver_id)
    }


async def _receivers_is_unsubscribed(stores: TenantStores, world: World) -> set[ChannelId]:
    receivers = await _receivers_of_mail(world)
    for tenant in (world.stores_a, world.stores_b):
        for receiver in receivers:
            await tenant.receivers.unsubscribe(receiver.receiver_id, quote("enough"))
    return {
        _channel_id_in(receiver.name)
        for receiver in receivers
        if await stores.receivers.is_unsubscribed(receiver.address)
    }


async def _receivers_attempts_in(stores: TenantStores, world: World) -> set[ChannelId]:
    """The hour is counted once for a tenant: all of its receivers, or none."""
    return await _receivers_all(stores, world) if await stores.receivers.attempts_in(HOUR) == 1 else set()


async def _receivers_resume(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        receiver for tenant in (world.stores_a, world.stores_b) for receiver in await tenant.receivers.all()
    ]
    return {
        _channel_id_in(everybody.name)
        for everybody in everybodys
        if await stores.receivers.resume(everybody.receiver_id)
    }


async def _receivers_pause(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        receiver for tenant in (world.stores_a, world.stores_b) for receiver in await tenant.receivers.all()
    ]
    return {
        _channel_id_in(everybody.name)
        for everybody in everybodys
        if await stores.receivers.pause(everybody.receiver_id)
    }


async def _receivers_replay(stores: TenantStores, world: World) -> set[ChannelId]:
    """The tenant replays its own receivers alone: one delivery each."""
    everybodys = [
        receiver for tenant in (world.stores_a, world.stores_b) for receiver in await tenant.receivers.all()
    ]
    return {
        _channel_id_in(everybody.name)
        for everybody in everybodys
        if await stores.receivers.replay(everybody.receiver_id, since=SINCE) == 1
    }


async def _receivers_delete(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        receiver for tenant in (world.stores_a, world.stores_b) for receiver in await tenant.receivers.all()
    ]
    return {
        _channel_id_in(everybody.name)
        for everybody in everybodys
        if await stores.receivers.delete(everybody.receiver_id)
    }


async def _feed_addresses_all(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {_channel_id_in(feed_address.name) for feed_address in await stores.feed_addresses.all()}


async def _feed_addresses_create(stores: TenantStores, world: World) -> set[ChannelId]:
    for feed_address in await stores.feed_addresses.all():
        assert await stores.feed_addresses.create(
            new_token(), FeedKind.FOLDER, "City", f"{feed_address.name} x", created_by="test"
        )
    return await _feed_addresses_all(stores, world)


async def _feed_addresses_revoke(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        feed_address
        for tenant in (world.stores_a, world.stores_b)
        for feed_address in await tenant.feed_addresses.all()
    ]
    return {
        _channel_id_in(everybody.name)
        for everybody in everybodys
        if await stores.feed_addresses.revoke(everybody.address_id)
    }


async def _feed_posts_load(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        post_id.channel_id
        for post_id in await stores.feed_posts.load(
            [PostId(channel_id, MessageId(1)) for channel_id in world.channels]
        )
    }


async def _feed_posts_is_covered(stores: TenantStores, world: World) -> set[ChannelId]:
    """Posts of which one of everybody's watches has told."""
    watches = [watch for tenant in (world.stores_a, world.stores_b) for watch in await tenant.watches.all()]
    wanted = [PostId(channel_id, MessageId(1)) for channel_id in world.channels]
    posts = [
        post
        for tenant in (world.stores_a, world.stores_b)
        for post in (await tenant.feed_posts.load(wanted)).values()
    ]
    return {
        post.post_id.channel_id
        for post in posts
        for watch in watches
        if await stores.feed_posts.is_covered(post, kind=FeedKind.WATCH, subject=str(watch.watch_id))
    }


WATCH_METHODS: dict[str, Case] = {
    "watches.all": _watches_all,
    "watches.one": _watches_one,
    "watches.create": _watches_create,
    "watches.change": _watches_change,
    "watches.pause": _watches_pause,
    "watches.delete": _watches_delete,
    "watch_previews.posts": _previews_posts,
    "watch_previews.mentions": _previews_mentions,
    "watch_previews.changes": _previews_changes,
    "watch_previews.silences": _previews_silences,
    "watch_previews.stories": _previews_stories,
    "watch_previews.of_posts": _previews_of_posts,
    "watch_previews.texts": _previews_texts,
    "alerts.newest": _alerts_newest,
    "alerts.by_event": _alerts_by_event,
    "alerts.some": _alerts_some,
    "alerts.mark_seen": _alerts_mark_seen,
    "alerts.count_unread": _alerts_unread,
    "alerts.unread": _alerts_unread,
    "receivers.all": _receivers_all,
    "receivers.create": _receivers_create,
    "receivers.replace_secret": _receivers_replace_secret,
    "receivers.take_code_attempt": _receivers_take_code_attempt,
    "receivers.confirm": _receivers_confirm,
    "receivers.send_code": _receivers_send_code,
    "receivers.is_unsubscribed": _receivers_is_unsubscribed,
    "receivers.unsubscribe": _receivers_unsubscribe,
    "receivers.subscribe_again": _receivers_subscribe_again,
    "receivers.attempts_in": _receivers_attempts_in,
    "receivers.resume": _receivers_resume,
    "receivers.pause": _receivers_pause,
    "receivers.replay": _receivers_replay,
    "receivers.delete": _receivers_delete,
    "feed_addresses.all": _feed_addresses_all,
    "feed_addresses.create": _feed_addresses_create,
    "feed_addresses.revoke": _feed_addresses_revoke,
    "feed_posts.load": _feed_posts_load,
    "feed_posts.is_covered": _feed_posts_is_covered,
}


async def watch_channels(admin: Admin, tenant_id: TenantId, own: set[ChannelId]) -> None:
    """A watch with an alert, a receiver that has got it,
    and a feed address for each of the tenant's channels, named after it.
    """
    await admin.execute(
        """
        WITH channels AS (SELECT c FROM unnest($2::bigint[]) c),
        watched AS (
            INSERT INTO watches (tenant_id, name, query, created_by) SELECT $1, c::text, 'snow', 'test'
            FROM channels RETURNING watch_id, name),
        raised AS (
            INSERT INTO alerts (tenant_id, watch_id, subject, channel_id, message, happened_at)
            SELECT $1, watch_id, 'post', name::bigint, 1, now() FROM watched RETURNING alert_id, channel_id),
        receiving AS (
            INSERT INTO receivers (tenant_id, name, address, created_by) SELECT $1, c::text,
                'https://example.com/' || c, 'test' FROM channels
            RETURNING receiver_id, name),
        shared AS (
            INSERT INTO delivery_shares (tenant_id, served_at, hour, attempts) VALUES ($1, now(), $3, 1)),
        delivered AS (
            INSERT INTO deliveries (tenant_id, receiver_id, alert_id, due_at, delivered_at)
            SELECT $1, r.receiver_id, a.alert_id, now(), now() FROM raised a
            JOIN receiving r ON r.name = a.channel_id::text)
        INSERT INTO feed_addresses (tenant_id, hash, subject, name, created_by)
        SELECT $1, sha256(concat($1::bigint, ' feed ', c)::bytea), 'City', c::text, 'test' FROM channels
        """,
        tenant_id,
        list(own),
        HOUR,
    )
