"""Deliveries of many tenants beside one whose receivers were made to hold senders: who waits for whom.

The shipped senders run here; the receivers are real HTTP servers in a process of their own. Good tenants have
one receiver each. The bad tenant has fifty that drip headers, hang, redirect, or answer `100 Continue`
without end, and a suspended tenant has ten that are due before all others. Rounds with and without the bad
ones take turns. `p95_ratio` is the 95th percentile of the time from the outbox to the receiver with them,
beside the same without.
"""

import asyncio
import multiprocessing
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.digests.digest import Digest, DigestSentence, DigestStory, Novelty
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId, UserId
from telegram_assistant.domain.receivers.delivery import ReceiverKind
from telegram_assistant.features.receivers.sending import SENDERS, keep_sending
from telegram_assistant.settings import Settings
from testkit.factories import make_tenant
from testkit.harness import (
    Versions,
    arguments,
    at_most,
    finish,
    median,
    own_cpu_seconds,
    own_database,
    percentile,
)
from testkit.receiving import OPEN_GUARD, HostileWebhook, Misbehaviour, Webhook, make_receiver, serve

GOOD_TENANTS = 49
BAD_RECEIVERS = 50
SUSPENDED_RECEIVERS = 10
DRAIN_SECONDS = 120.0
HELD = "SELECT count(*) FROM receivers WHERE tenant_id = $1 AND leased_until > now()"
LIMITS = (
    *at_most(0, "lost", "repeated_with_another_id", "sent_to_suspended"),
    *at_most(2, "p95_ratio"),
    *at_most(0.25, "most_held_share"),
)

type Admin = "asyncpg.Connection[asyncpg.Record]"


@dataclass(frozen=True, slots=True)
class Town:
    """The tenants, by what their receivers do."""

    good: Sequence["Tenant"]
    bad: TenantId
    bad_reader: "Tenant"
    suspended: "Tenant"


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant, a person of it, and the receivers of that person's digests."""

    tenant_id: TenantId
    user_id: UserId
    receivers: tuple[UUID, ...]


def serve_receivers(pipe: "Connection[Any, Any]") -> None:
    """The process of the receivers: says where they are, and at the end what came when."""
    asyncio.run(_serve_receivers(pipe))


async def _serve_receivers(pipe: "Connection[Any, Any]") -> None:
    async with AsyncExitStack() as stack:
        webhook = await stack.enter_async_context(serve(Webhook()))
        kinds = [list(Misbehaviour)[number % len(Misbehaviour)] for number in range(BAD_RECEIVERS)]
        hostile = [await stack.enter_async_context(serve(HostileWebhook(kind))) for kind in kinds]
        pipe.send((webhook.url, [server.url for server in hostile]))
        await asyncio.to_thread(pipe.recv)
        pipe.send(
            [
                (request.headers["webhook-id"], request.data["data"]["digest_id"], request.at)
                for request in webhook.requests
            ]
        )


async def run(deliveries: int, per_second: float, rounds: int) -> dict[str, object]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve_receivers, args=(theirs,), daemon=True)
    process.start()
    try:
        address, hostile = await asyncio.to_thread(ours.recv)
        async with (
            own_database("tga_bench_deliveries") as settings,
            assemble(settings, guard=OPEN_GUARD) as app,
        ):
            admin = await asyncpg.connect(_admin_url(settings))
            town = await _build(app, admin, address, hostile)
            figures = await _measure(
                app, admin, town, deliveries=deliveries, per_second=per_second, rounds=rounds
            )
            ours.send(None)
            arrived = await asyncio.to_thread(ours.recv)
            versions = await Versions.read(admin)
            judged = await _judge(admin, town, arrived, figures.pop("rounds"))
            await admin.close()
        return {"bench": "deliveries", **judged, **figures, "versions": versions.as_json()}
    finally:
        process.kill()
        process.join()


def _admin_url(settings: Settings) -> str:
    return (settings.database.admin_url or settings.database.url).get_secret_value()


async def _build(app: App, admin: Admin, address: str, hostile: Sequence[str]) -> Town:
    suspended = await _make_tenant(
        app, [f"{address}/suspended/{number}" for number in range(SUSPENDED_RECEIVERS)]
    )
    good = [await _make_tenant(app, [f"{address}/{number}"]) for number in range(GOOD_TENANTS)]
    bad = await _make_tenant(app, hostile)
    await _deliver(app, suspended)
    await admin.execute("UPDATE tenants SET suspended_at = now() WHERE tenant_id = $1", suspended.tenant_id)
    return Town(good, bad.tenant_id, bad, suspended)


async def _make_tenant(app: App, addresses: Sequence[str]) -> Tenant:
    tenant_id = await make_tenant(app.system)
    user_id = (await app.system.users.join(tenant_id, f"reader {tenant_id}")).user_id
    stores = app.tenant(tenant_id)
    made = [
        await make_receiver(ReceiverKind.WEBHOOK, str(number), address, stores=stores, sealer=app.sealer)
        for number, address in enumerate(addresses)
    ]
    return Tenant(tenant_id, user_id, tuple(receiver.receiver_id for receiver in made))


async def _deliver(app: App, tenant: Tenant) -> UUID:
    digest_id, now = uuid4(), datetime.now(UTC)
    post = PostId(ChannelId(1), MessageId(1))
    story = DigestStory(
        Novelty.NEW, "The bridge is closed", (DigestSentence("It is.", (post,)),), ("City",), now, (post,), ()
    )
    digest = Digest(now - timedelta(days=1), now, (story,))
    await app.person(tenant.tenant_id, tenant.user_id).digests.save(
        digest_id, digest, receivers=tenant.receivers
    )
    return digest_id


async def _measure(
    app: App, admin: Admin, town: Town, *, deliveries: int, per_second: float, rounds: int
) -> dict[str, Any]:
    """Rounds without and with the bad tenant. Returns the digests of each, and what the senders cost."""
    made: dict[bool, list[list[UUID]]] = {False: [], True: []}
    most_held, used = 0, own_cpu_seconds()
    for number in range(2 * rounds):
        with_bad = number % 2 == 1
        await admin.execute(
            "UPDATE receivers SET paused_at = $2 WHERE tenant_id = $1",
            town.bad,
            None if with_bad else datetime.now(UTC),
        )
        await admin.execute(
            "UPDATE receivers SET retry_at = NULL, failing_since = NULL WHERE tenant_id = $1", town.bad
        )
        if with_bad:
            await _deliver(app, town.bad_reader)
        stopping = asyncio.Event()
        sending = asyncio.create_task(keep_sending(stopping, sender=app.sender))
        watching = asyncio.create_task(_most_held(_admin_url(app.settings), town.bad, stopping))
        made[with_bad].append(
            [digest async for digest in _deliver_at_pace(app, town.good, deliveries // rounds, per_second)]
        )
        await _drain(admin, [tenant.tenant_id for tenant in town.good])
        stopping.set()
        await sending
        most_held = max(most_held, await watching)
    return {
        "rounds": made,
        "most_held": most_held,
        "most_held_share": most_held / SENDERS,
        "cpu_ms_per_delivery": round((own_cpu_seconds() - used) * 1000 / (2 * deliveries), 2),
        "good_tenants": GOOD_TENANTS,
        "bad_receivers": BAD_RECEIVERS,
    }


async def _deliver_at_pace(app: App, tenants: Sequence[Tenant], count: int, per_second: float) -> Any:
    began = time.monotonic()
    for number in range(count):
        await asyncio.sleep(max(0.0, began + number / per_second - time.monotonic()))
        yield await _deliver(app, tenants[number % len(tenants)])


async def _most_held(admin_url: str, tenant_id: TenantId, stopping: asyncio.Event) -> int:
    most, own = 0, await asyncpg.connect(admin_url)
    while not stopping.is_set():
        most = max(most, await own.fetchval(HELD, tenant_id))
        await asyncio.sleep(0.1)
    await own.close()
    return most


async def _drain(admin: Admin, tenants: Sequence[TenantId]) -> None:
    ends = time.monotonic() + DRAIN_SECONDS
    while time.monotonic() < ends and await admin.fetchval(
        "SELECT count(*) FROM deliveries WHERE delivered_at IS NULL AND tenant_id = ANY ($1::bigint[])",
        list(tenants),
    ):
        await asyncio.sleep(0.2)


async def _judge(
    admin: Admin, town: Town, arrived: Sequence[tuple[str, str, float]], made: dict[bool, list[list[UUID]]]
) -> dict[str, object]:
    rows = await admin.fetch(
        "SELECT delivery_id, digest_id, tenant_id, created_at FROM deliveries WHERE digest_id IS NOT NULL "
        "AND tenant_id <> $1",
        town.bad,
    )
    queued_at = {str(row["delivery_id"]): row["created_at"].timestamp() for row in rows}
    suspended = {str(row["delivery_id"]) for row in rows if row["tenant_id"] == town.suspended.tenant_id}
    first_at: dict[str, float] = {}
    ids_of_digest: dict[str, set[str]] = defaultdict(set)
    for message_id, digest_id, at in arrived:
        first_at[message_id] = min(first_at.get(message_id, at), at)
        ids_of_digest[digest_id].add(message_id)
    id_of_digest = {str(row["digest_id"]): str(row["delivery_id"]) for row in rows}
    expected = queued_at.keys() - suspended
    waits = {
        with_bad: [
            [first_at[id_of_digest[str(digest)]] - queued_at[id_of_digest[str(digest)]] for digest in digests]
            for digests in per_round
        ]
        for with_bad, per_round in made.items()
        if not (expected - first_at.keys())
    }
    p95 = {
        with_bad: median([percentile(per_round, 0.95) for per_round in rounds])
        for with_bad, rounds in waits.items()
    }
    return {
        "deliveries": sum(map(len, made[True])),
        "lost": len(expected - first_at.keys()),
        "repeated_with_another_id": sum(len(ids) > 1 for ids in ids_of_digest.values()),
        "repeated_with_the_same_id": Counter(message_id for message_id, _, _ in arrived).total()
        - len(first_at),
        "sent_to_suspended": len(suspended & first_at.keys()),
        "p95_ratio": round(p95[True] / p95[False], 2) if p95 else None,
        "p95_ms": {"without": round(p95[False] * 1000), "with": round(p95[True] * 1000)} if p95 else None,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--deliveries",
        type=int,
        default=2000,
        help="of the good tenants, with the bad one; as many without it",
    )
    parser.add_argument("--per-second", type=float, default=25)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="300 deliveries, one round each")
    options = parser.parse_args()
    deliveries, rounds = (300, 1) if options.quick else (options.deliveries, options.rounds)
    finish(asyncio.run(run(deliveries, options.per_second, rounds)), options, *LIMITS)


if __name__ == "__main__":
    main()
