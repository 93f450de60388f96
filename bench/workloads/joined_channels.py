"""An ingest process whose accounts have joined channels of the simulator: benches that follow channels start
from here.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from telegram_assistant.assembly import App
from telegram_assistant.domain.accounts.account import Lease
from telegram_assistant.domain.channels.channel import FoundChannel
from telegram_assistant.domain.ids import AccountId, TenantId
from telegram_assistant.ingest.accounts import FIRST_TENANT, add_account
from telegram_assistant.ingest.scheduler import REQUESTS_PER_SECOND
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.telegram.client import open_account_client
from telegram_assistant.telegram.reader import ChannelReader
from telegram_assistant.telegram.vault import make_key, vault_of
from telegram_simulator.control.client import ControlClient
from telegram_simulator.world.load import FIRST_CHANNEL
from testkit.processes import last_words
from testkit.simulators import Running
from testkit.socks_proxy import Proxy

TICK_SECONDS = 30


@dataclass(frozen=True)
class Size:
    seconds: float
    channels: int
    accounts: int
    proxy: bool

    @property
    def requests_per_s(self) -> float:
        return REQUESTS_PER_SECOND * self.accounts

    @property
    def round_seconds(self) -> float:
        return self.channels / self.requests_per_s


async def furnish(app: App, control: ControlClient, size: Size) -> None:
    """Each account has joined its share of the channels, and knows them already:
    finding them is not what is measured.
    """
    tenant_id = (await app.system.tenants.ensure(FIRST_TENANT, is_operator=True)).tenant_id
    shares = [
        range(FIRST_CHANNEL + number, FIRST_CHANNEL + size.channels, size.accounts)
        for number in range(size.accounts)
    ]
    sessions = [control.session(f"7999000{number:04}", joined=share) for number, share in enumerate(shares)]
    await asyncio.gather(*(add_joined(app, tenant_id, session, history_days=0) for session in sessions))


async def add_joined(app: App, tenant_id: TenantId, session: str, *, history_days: int) -> None:
    """An account, and subscriptions to every channel that it has joined."""
    assert app.ingest is not None
    system = app.system
    vault = vault_of(app.settings.telegram.encryption_key.get_secret_value())
    account_id = await add_account(session, tenant_id, accounts=app.ingest.accounts, vault=vault)
    for membership in await _load_joined(app, account_id, session):
        await system.channels.open_to(
            account_id, membership.channel, membership.access_hash, has_joined=True, read_at=datetime.now(UTC)
        )
        await system.channels.subscribe(
            tenant_id,
            Subscription(
                channel_id=membership.channel.channel_id, history_days=history_days, wants_media=False
            ),
        )


async def _load_joined(app: App, account_id: AccountId, session: str) -> list[FoundChannel]:
    telegram, system, lease = app.settings.telegram, app.system, Lease(begun_at=time.monotonic())
    async with open_account_client(
        telegram, session, lease, account_id=account_id, limits=system.limits
    ) as line:
        reader = ChannelReader(line)
        page, cursor = await reader.load_joined()
        joined = list(page)
        while cursor is not None:
            page, cursor = await reader.load_joined(cursor)
            joined += page
    return joined


@asynccontextmanager
async def assistant(
    environ: dict[str, str], log: Path, *, roles: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    with log.open("wb") as lines:
        command = (sys.executable, "-m", "telegram_assistant", "run", "--roles", roles)
        process = await asyncio.create_subprocess_exec(*command, env=environ, stdout=lines, stderr=lines)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
        else:
            print("the assistant died:", last_words(log), file=sys.stderr)


def telegram_at(running: Running, proxy: Proxy | None) -> dict[str, str]:
    through = {"TELEGRAM_PROXY_ADDR": "127.0.0.1", "TELEGRAM_PROXY_PORT": str(proxy.port)} if proxy else {}
    return {
        "TELEGRAM_API_ID": "1",
        "TELEGRAM_API_HASH": "any",
        "TELEGRAM_DC_ADDR": running.where["host"],
        "TELEGRAM_DC_PORT": str(running.where["ports"]["2"]),
        "SESSION_ENCRYPTION_KEY": make_key(),
        "PARSER_SCHEDULER_INTERVAL_SEC": str(TICK_SECONDS),
        **through,
    }
