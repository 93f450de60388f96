"""A database of its own, and the ingest processes that share it."""

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.settings import read_settings
from telegram_assistant.telegram.vault import make_key
from telegram_simulator.control.client import ControlClient
from telegram_simulator.world.load import FIRST_CHANNEL
from testkit.programs import INGEST, add_account, load_texts, program
from testkit.servers import OwnServers
from tests.conftest import Admin, redis_url, scratch_database

CHANNELS_EACH = 2
SLOW_SECONDS = 1.5


@dataclass
class Installation:
    """A database, and the ingest processes that share it; each brings an account with channels of its own."""

    environ: dict[str, str]
    telegram: ControlClient
    folder: Path
    app: App
    admin: Admin
    programs: ExitStack
    first_channel: int
    running: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    accounts: dict[str, AccountId] = field(default_factory=dict)

    def start(self, name: str, **more: str) -> None:
        environ = {**self.environ, "HOSTNAME": name, **more}
        self.running[name] = self.programs.enter_context(
            program(*INGEST, environ=environ, log=self.folder / f"{name}.log")
        )

    async def add_account(self, name: str) -> None:
        session = self.telegram.session(self.phone_of(name), joined=self.channels_of(name))
        self.accounts[name] = await add_account(
            name, session, key=self.environ["SESSION_ENCRYPTION_KEY"], app=self.app
        )

    def phone_of(self, name: str) -> str:
        return f"7999{self.first_channel + self._place(name)}"

    def channels_of(self, *names: str) -> list[ChannelId]:
        firsts = [self.first_channel + CHANNELS_EACH * self._place(name) for name in names]
        return [ChannelId(first + number) for first in firsts for number in range(CHANNELS_EACH)]

    def _place(self, name: str) -> int:
        return list(self.accounts).index(name) if name in self.accounts else len(self.accounts)

    def say(self, *names: str, text: str) -> None:
        for channel_id in self.channels_of(*names):
            self.telegram.post(channel_id, text)

    async def is_read(self, *names: str) -> bool:
        """Every post of these channels is stored as it is, and no other."""
        channels = self.channels_of(*names)
        rows = await self.admin.fetch(
            "SELECT channel_id, message_id, text FROM posts WHERE channel_id = ANY($1)", channels
        )
        return {(row["channel_id"], row["message_id"]): row["text"] for row in rows} == load_texts(
            self.telegram, channels
        )

    async def poll_now(self, *names: str) -> None:
        for channel_id in self.channels_of(*names):
            await self.app.system.schedule.ask(channel_id, mode=None, first=True)

    async def load_holder(self, name: str) -> str:
        """The process that has the account of that one now."""
        owner = await self.admin.fetchval(
            "SELECT lease_owner FROM telegram_accounts WHERE account_id = $1", self.accounts[name]
        )
        return str(owner).partition("#")[0]

    async def is_held_by(self, name: str, *accounts: str) -> bool:
        return [await self.load_holder(account) for account in accounts] == [name] * len(accounts)

    def log_of(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8")

    async def let_it_ask(self, name: str, text: str) -> None:
        """Its channels have a new post, and the process has asked for a page,
        which comes slowly until `hurry`.
        """
        self.telegram.ask("POST", "/trouble", latency_seconds=SLOW_SECONDS)
        self.say(name, text=text)
        asked_at = time.time()
        await self.poll_now(name)
        await until(lambda: self._has_asked(name, asked_at), f"the {name} asks for a page")

    async def _has_asked(self, name: str, since: float) -> bool:
        calls = self.telegram.ask("GET", "/trace?limit=100")
        return any(
            (call["phone"], call["method"]) == (self.phone_of(name), "messages.getHistory")
            and call["at"] > since
            for call in calls
        )

    def hurry(self) -> None:
        self.telegram.ask("POST", "/trouble", latency_seconds=0.0)

    async def reconnect(self) -> None:
        """After PostgreSQL was away."""
        await self.admin.close(timeout=5)
        self.admin = await asyncpg.connect(self.environ["DATABASE_ADMIN_URL"])

    async def has_one_connection(self, name: str) -> bool:
        """Whether the account has exactly one connection: the process that used it before has hung up."""
        connections = self.telegram.state()["connections_now"]
        return (
            len([connection for connection in connections if connection["phone"] == self.phone_of(name)]) == 1
        )


async def until(happened: Callable[[], Awaitable[bool]], what: str, *, seconds: float = 60) -> float:
    """How many seconds it took."""
    began = time.monotonic()
    while not await happened():
        assert time.monotonic() - began < seconds, f"it did not happen in {seconds:.0f} s: {what}"
        await asyncio.sleep(0.1)
    return time.monotonic() - began


@asynccontextmanager
async def open_installation(
    servers: OwnServers, telegram: ControlClient, folder: Path, *, number: int, **more: str
) -> AsyncIterator[Installation]:
    """The programs end before what they use. `tga` is migrated when a server starts, and nobody uses it."""
    common = {
        "TELEGRAM_API_ID": "1",
        "TELEGRAM_API_HASH": "any",
        "SESSION_ENCRYPTION_KEY": make_key(),
        "INGEST_PORT": "0",
    }
    async with scratch_database(servers.environ(), f"ingest_{number}", template="tga") as environ:
        environ |= {
            "REDIS_URL": more.get("REDIS_URL") or redis_url(environ, number),
            "PARSER_SCHEDULER_INTERVAL_SEC": "5",
            **common,
            **more,
        }
        settings = read_settings(environ)
        admin = await asyncpg.connect(environ["DATABASE_ADMIN_URL"])
        async with assemble(settings, with_accounts=True) as app:
            with ExitStack() as programs:
                crew = Installation(
                    environ, telegram, folder, app, admin, programs, FIRST_CHANNEL + 10 * number
                )
                yield crew
        await crew.admin.close()
