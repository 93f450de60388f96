"""Our programs in processes of their own, a Telegram for them, and accounts that they may use."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from telegram_assistant.assembly import App
from telegram_assistant.domain.channels.channel_requests import RequestKind
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.ingest import accounts
from telegram_assistant.stores.postgres.channels.channel_requests import NewRequest
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, NOT_KNOWN_YET, Subscription
from telegram_assistant.telegram.vault import vault_of
from telegram_simulator.control.client import ControlClient
from testkit.simulators import simulator as running_simulator

INGEST = ("telegram_assistant", "run", "--roles", "ingest")
WORKER = ("telegram_assistant", "run", "--roles", "worker")


@contextmanager
def program(*command: str, environ: dict[str, str], log: Path) -> Iterator[subprocess.Popen[str]]:
    with log.open("a", encoding="utf-8") as lines:
        running = subprocess.Popen(
            [sys.executable, "-m", *command], env=environ, stdout=lines, stderr=lines, text=True
        )
    try:
        yield running
    finally:
        running.send_signal(signal.SIGCONT)  # who is frozen hears nothing else
        running.send_signal(signal.SIGTERM)
        running.wait(timeout=30)


@contextmanager
def simulator(*world: str) -> Iterator[ControlClient]:
    """With Telegram's own limits."""
    with running_simulator(*world, limits="telegram") as running, running.control() as control:
        yield control


def tga(*arguments: str, environ: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "telegram_assistant", *arguments]
    return subprocess.run(
        command, env=environ, cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )


def kill(running: subprocess.Popen[str]) -> None:
    running.kill()
    running.wait(timeout=10)


def until(happened: Callable[[], bool], what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"it did not happen in {seconds:.0f} s: {what}"
        time.sleep(0.1)


async def add_account(name: str, session: str, *, key: str, app: App) -> AccountId:
    """An account of the tenant of that name, who wants to follow everything that the account has joined."""
    assert app.ingest is not None
    system = app.system
    tenant_id = (await system.tenants.ensure(name)).tenant_id
    account_id = await accounts.add_account(
        session, tenant_id, accounts=app.ingest.accounts, vault=vault_of(key)
    )
    wanted = Subscription(channel_id=NOT_KNOWN_YET, history_days=EVERYTHING_DAYS)
    await app.tenant(tenant_id).requests.add([NewRequest(RequestKind.DIALOGS, "", wanted, account_id)])
    return account_id


def load_texts(telegram: ControlClient, channel_ids: Sequence[int]) -> dict[tuple[int, int], str]:
    """The texts of all posts of these channels that are not deleted."""
    posts = (row for channel_id in channel_ids for row in telegram.truth(channel_id))
    return {(row["channel_id"], row["message_id"]): row["text"] for row in posts if row["deleted_at"] is None}
