"""Ingest: from a simulator in a process of its own through the real client to committed rows, beside bare
Telethon.

Ours is the program's own way through the past: jobs claimed from PostgreSQL, Redis locks, pages read and
translated, landed with ledger and outbox in one transaction, kept raw. Bare is unmodified Telethon that asks
for the same pages and does nothing with them. Both read the same channels, as many at a time; they take
turns. Budgets are not waited for.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import asyncpg
import telethon
from pydantic import SecretStr
from telethon import TelegramClient
from telethon.sessions import StringSession
from telethon.tl.functions.messages import GetHistoryRequest
from telethon.tl.types import InputPeerChannel

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.accounts.account import AccountState, Lease
from telegram_assistant.domain.channels.channel import FoundChannel
from telegram_assistant.domain.ids import AccountId, TenantId
from telegram_assistant.ingest.polling.account_loop import AccountLoop
from telegram_assistant.ingest_role import OwnedAccount, build_account_dependencies
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.telegram.account_client import Clock
from telegram_assistant.telegram.client import open_account_client
from telegram_assistant.telegram.reader import ChannelReader
from telegram_assistant.telemetry.health import Health
from telegram_simulator.control.client import ControlClient
from telegram_simulator.world.load import FIRST_CHANNEL
from testkit.harness import Versions, arguments, at_least, finish, median, own_cpu_seconds, own_database
from testkit.simulators import simulator
from testkit.waits import Skipping

POSTS = 2000
LIMITS = at_least(0.35, "ratio")


@dataclass(frozen=True)
class Seat:
    """One account: ours, and a bare client of its own."""

    account_id: AccountId
    mine: OwnedAccount
    reader: ChannelReader
    reading: AccountLoop
    bare: TelegramClient
    joined: dict[int, FoundChannel]


@asynccontextmanager
async def seats(
    app: App, control: ControlClient, tenant_id: TenantId, count: int, rounds: int
) -> AsyncIterator[list[Seat]]:
    async with AsyncExitStack() as stack:
        turns = [[FIRST_CHANNEL + turn * count + number for turn in range(rounds)] for number in range(count)]
        yield [
            await open_seat(
                stack, app, control, tenant_id, f"7999{number:07}", joined, clock=Skipping().clock
            )
            for number, joined in enumerate(turns)
        ]


async def open_seat(
    stack: AsyncExitStack,
    app: App,
    control: ControlClient,
    tenant_id: TenantId,
    phone: str,
    joined: list[int],
    *,
    clock: Clock,
) -> Seat:
    system = app.system
    account_id = await system.accounts.add(tenant_id)
    await system.accounts.set_state(account_id, AccountState.ACTIVE)
    mine = OwnedAccount(account_id, account_id, Lease(begun_at=time.monotonic() + 3600))
    line = await stack.enter_async_context(
        open_account_client(
            app.settings.telegram,
            control.session(phone, joined=joined),
            mine.lease,
            account_id=account_id,
            limits=system.limits,
            clock=clock,
        )
    )
    reader = ChannelReader(line)
    desk = build_account_dependencies(
        app, mine, reader, slots=asyncio.Semaphore(100), stopping=asyncio.Event()
    )
    bare = TelegramClient(
        StringSession(control.session(f"{phone}1")), 1, "x", flood_sleep_threshold=0, receive_updates=False
    )
    await bare.connect()
    stack.push_async_callback(bare.disconnect)
    memberships, _ = await reader.load_joined()
    return Seat(
        account_id,
        mine,
        reader,
        AccountLoop(desk, asyncio.Event(), health=Health(probes={})),
        bare,
        {membership.channel.channel_id: membership for membership in memberships},
    )


async def prepare(app: App, seat: Seat, tenant_id: TenantId, channel_id: int) -> None:
    """Followed with all of its past, and its newest page read."""
    joined_channel, system = seat.joined[channel_id], app.system
    await system.channels.open_to(
        seat.account_id,
        joined_channel.channel,
        joined_channel.access_hash,
        has_joined=True,
        read_at=datetime.now(UTC),
    )
    await system.channels.subscribe(
        tenant_id, Subscription(channel_id=joined_channel.channel.channel_id, history_days=EVERYTHING_DAYS)
    )
    await system.planning.give_accounts()
    await seat.reading.turn()


async def ours(seat: Seat) -> None:
    while await seat.reading.turn():
        pass


async def bare(seat: Seat, name: str) -> int:
    channel = await seat.bare.get_input_entity(name)
    assert isinstance(channel, InputPeerChannel)
    posts = offset = 0
    while True:
        page = await seat.bare(GetHistoryRequest(channel, offset, None, 0, 100, 0, 0, 0))
        if not page.messages:
            return posts
        posts, offset = posts + len(page.messages), page.messages[-1].id


async def run(rounds: int, at_once: int) -> dict[str, object]:
    load = ("load", "--channels", str((rounds + 1) * at_once), "--posts", str(POSTS))
    with simulator(*load) as running, running.control() as control:
        async with own_database("tga_bench_ingest") as settings:
            telegram = TelegramSettings(api_id=1, api_hash=SecretStr("x"))
            async with assemble(settings.model_copy(update={"telegram": telegram})) as app:
                admin = await asyncpg.connect(
                    (settings.database.admin_url or settings.database.url).get_secret_value()
                )
                tenant = await app.system.tenants.ensure("bench", is_operator=True)
                sides: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": []}
                async with seats(app, control, tenant.tenant_id, at_once, rounds + 1) as crew:
                    for number in range(rounds + 1):
                        await one_round(app, crew, tenant.tenant_id, number * at_once, admin, sides)
                stored = await admin.fetchval("SELECT count(*) FROM posts")
                versions = await Versions.read(admin)
                await admin.close()
    mine, theirs = sides["ours"][1:], sides["bare"][1:]
    return {
        "bench": "ingest",
        "ratio": round(median([own / other for (own, _), (other, _) in zip(mine, theirs, strict=True)]), 3),
        "ours_per_s": round(median([rate for rate, _ in mine])),
        "bare_per_s": round(median([rate for rate, _ in theirs])),
        "extra_cpu_us_per_post": round(
            median([own - other for (_, own), (_, other) in zip(mine, theirs, strict=True)]), 1
        ),
        "bare_cpu_us_per_post": round(median([cpu for _, cpu in theirs]), 1),
        "posts_stored": stored,
        "at_once": at_once,
        "rounds": rounds,
        "telethon": telethon.__version__,
        **versions.as_json(),
    }


async def one_round(
    app: App,
    crew: Sequence[Seat],
    tenant_id: TenantId,
    first: int,
    admin: "asyncpg.Connection[asyncpg.Record]",
    sides: dict[str, list[tuple[float, float]]],
) -> None:
    names = [f"load_{first + number}" for number in range(len(crew))]
    await asyncio.gather(
        *(bare(seat, name) for seat, name in zip(crew, names, strict=True))
    )  # so that the simulator has its pages ready
    for number, seat in enumerate(crew):
        await prepare(app, seat, tenant_id, FIRST_CHANNEL + first + number)
    await admin.execute("UPDATE poll_schedule SET next_poll_at = 'infinity'")
    await app.system.planning.want_history()
    before, began, used = (
        await admin.fetchval("SELECT count(*) FROM posts"),
        time.perf_counter(),
        own_cpu_seconds(),
    )
    await asyncio.gather(*(ours(seat) for seat in crew))
    took, cpu = time.perf_counter() - began, own_cpu_seconds() - used
    posts = await admin.fetchval("SELECT count(*) FROM posts") - before
    sides["ours"].append((posts / took, cpu / posts * 1e6))
    began, used = time.perf_counter(), own_cpu_seconds()
    read = sum(await asyncio.gather(*(bare(seat, name) for seat, name in zip(crew, names, strict=True))))
    took, cpu = time.perf_counter() - began, own_cpu_seconds() - used
    sides["bare"].append((read / took, cpu / read * 1e6))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--at-once", type=int, default=4)
    options = parser.parse_args()
    finish(asyncio.run(run(options.rounds, options.at_once)), options, *LIMITS)


if __name__ == "__main__":
    main()
