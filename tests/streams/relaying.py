"""Posts that land, and a relay that announces them."""

from collections.abc import Sequence

from redis.asyncio import Redis

from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import PostParsed
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.streams.relay import Relay
from telegram_assistant.streams.stage import AnyStage, stage
from telegram_assistant.telemetry.health import Health
from testkit.factories import make_channel, make_page, make_post


@stage(consumes=PostParsed)
async def nothing(_event: PostParsed) -> None: ...


def relay_of(
    redis: Redis, system: SystemStores, *, stages: Sequence[AnyStage] = (nothing,), max_entries: int = 200_000
) -> Relay:
    return Relay(
        system.outbox, stages, redis=redis, health=Health(probes={}), partitions=1, max_entries=max_entries
    )


async def land(
    system: SystemStores, count: int, *, lane: Lane = Lane.LIVE, requested_by: int | None = None
) -> ChannelId:
    channel_id = await make_channel(system)
    posts = [make_post(channel_id=channel_id, message_id=number) for number in range(1, count + 1)]
    by = None if requested_by is None else TenantId(requested_by)
    await system.landing.land(make_page(*posts, lane=lane, requested_by=by), Claim(channel_id, 0))
    return channel_id
