"""The accounts of this process: taken under a lease, used, renewed and released."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from telegram_assistant.domain.accounts.account import RENEW_SECONDS, AccountRefused, AccountState, Lease
from telegram_assistant.domain.ids import AccountId, TenantId
from telegram_assistant.errors import Busy, CannotStart, LeaseLost
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.accounts.accounts import AccountSessions, HeldAccount
from telegram_assistant.stores.postgres.tenants.tenants import Tenants
from telegram_assistant.supervision import HEALTHY_AFTER_SECONDS, cancel_and_wait, sleep_unless
from telegram_assistant.telegram.vault import Sealed, Vault
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.outages import OutageLog

log = get_logger()

PART = "accounts"
LOOK_SECONDS = 2.0
FINISH_SECONDS = 5.0
"""How long a task may finish the work in hand when the process stops.

Meanwhile another process waits for its account.
"""
FIRST_TENANT = "default"
LOGGED_OUT = Reason("logged_out_by_hand", "logged out by hand")


class UseAccount(Protocol):
    """Uses an account until `stopping` is set.

    Raises AccountRefused or CannotStart if the account cannot be used any more.
    """

    def __call__(
        self, held_account: HeldAccount, session: str, lease: Lease, stopping: asyncio.Event
    ) -> Awaitable[None]: ...


class LogOutAccount(Protocol):
    """Ends the session of an account at Telegram."""

    def __call__(self, held_account: HeldAccount, session: str, lease: Lease) -> Awaitable[None]: ...


async def adopt_session_string(
    session: str, *, accounts: AccountSessions, tenants: Tenants, vault: Vault
) -> None:
    """Create an account from TELEGRAM_SESSION_STRING, once.

    Ignored if the first tenant has an account already.
    """
    first_tenant = await tenants.ensure(FIRST_TENANT, is_operator=True)
    if any(account.tenant == first_tenant.name for account in await accounts.all()):
        log.info(
            "session_string_ignored", why="the first tenant has an account; TELEGRAM_SESSION_STRING can go"
        )
        return
    account_id = await add_account(session, first_tenant.tenant_id, accounts=accounts, vault=vault)
    log.info("session_string_adopted", account_id=account_id)


async def add_account(
    session: str, tenant_id: TenantId, *, accounts: AccountSessions, vault: Vault
) -> AccountId:
    """Add an account of that tenant with its session sealed, and activate it."""
    account_id = await accounts.add(tenant_id)
    sealed = vault.seal(session, account_id=account_id)
    await accounts.save_session(account_id, key_id=sealed.key_id, session=sealed.content)
    await accounts.set_state(account_id, AccountState.ACTIVE)
    return account_id


class Holder:
    """Takes every account that is free, and runs each in its own task."""

    def __init__(
        self,
        use: UseAccount,
        leave: LogOutAccount,
        *,
        owner: str,
        accounts: AccountSessions,
        vault: Vault,
        health: Health,
        look_seconds: float = LOOK_SECONDS,
        finish_seconds: float = FINISH_SECONDS,
    ) -> None:
        self._use = use
        self._leave = leave
        self._owner = owner
        self._accounts = accounts
        self._vault = vault
        self._health = health
        self._look_seconds = look_seconds
        self._finish_seconds = finish_seconds
        self._leases: dict[AccountId, Lease] = {}
        self._tasks: dict[AccountId, asyncio.Task[None]] = {}
        self._unreleased: set[AccountId] = set()
        self._outage = OutageLog(PART)
        self._account_outages: dict[AccountId, OutageLog] = {}
        """An account that ends at once is taken again at once, so its outages outlast its task."""

    async def run(self, stopping: asyncio.Event) -> None:
        renewed_at = time.monotonic()
        try:
            while not stopping.is_set():
                await self._unless_busy(lambda: self._take(stopping))
                await sleep_unless(stopping, self._look_seconds)
                if time.monotonic() - renewed_at >= RENEW_SECONDS:
                    renewed_at = time.monotonic()
                    await self._unless_busy(self._renew)
                await self._release([account_id for account_id, task in self._tasks.items() if task.done()])
            await self._finish()
        finally:
            await self._release(list(self._tasks))

    async def _unless_busy(self, step: Callable[[], Awaitable[None]]) -> None:
        """Run a step. While the database is unreachable, leases may be lost, but the loop goes on."""
        try:
            await step()
        except Busy as busy:
            self._outage.log_failure(busy)
            self._health.report(PART, State.FAILING, str(busy))
        else:
            self._outage.log_recovery()
            self._health.report(PART, State.OK, f"uses {len(self._tasks)}")

    async def _take(self, stopping: asyncio.Event) -> None:
        # Accounts with a lost lease end before they may be taken again: a login must not be used twice, not
        # even in one process.
        await self._release(
            [account_id for account_id, lease in self._leases.items() if lease.remaining_seconds <= 0]
        )
        for account_id in list(self._unreleased):
            await self._accounts.release(self._owner, account_id)
            self._unreleased.discard(account_id)
        begun_at = time.monotonic()
        for held_account in await self._accounts.take(self._owner):
            lease = self._leases[held_account.account_id] = Lease(begun_at=begun_at)
            self._tasks[held_account.account_id] = asyncio.create_task(
                self._work(held_account, lease, stopping)
            )

    async def _renew(self) -> None:
        begun_at = time.monotonic()
        renewed_account_ids = await self._accounts.renew(self._owner, self._leases.keys())
        for account_id in renewed_account_ids:
            self._leases[account_id].extend(begun_at)
        await self._release(
            [account_id for account_id in self._tasks if account_id not in renewed_account_ids]
        )

    async def _finish(self) -> None:
        """Wait for the tasks, which are stopping.

        Releases each account as soon as its task ends, and cancels late tasks.
        """
        deadline = time.monotonic() + self._finish_seconds
        while self._tasks and (remaining_seconds := deadline - time.monotonic()) > 0:
            await asyncio.wait(
                self._tasks.values(), timeout=remaining_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            await self._release([account_id for account_id, task in self._tasks.items() if task.done()])

    async def _release(self, account_ids: list[AccountId]) -> None:
        """Release accounts, each only after its task and therefore its connection has ended."""
        for account_id in account_ids:
            await cancel_and_wait([self._tasks.pop(account_id)])
            del self._leases[account_id]
            try:
                await self._accounts.release(self._owner, account_id)
            except Busy as busy:
                self._unreleased.add(account_id)
                log.warning(
                    "lease_not_released",
                    account_id=account_id,
                    why=f"{busy}; it is released later, or runs out by itself",
                )

    async def _work(self, held_account: HeldAccount, lease: Lease, stopping: asyncio.Event) -> None:
        account_id = held_account.account_id
        outage = self._account_outages.setdefault(
            account_id, OutageLog(f"account {account_id}", account_id=account_id)
        )
        recovery = asyncio.get_running_loop().call_later(HEALTHY_AFTER_SECONDS, outage.log_recovery)
        try:
            session = await self._open_session(held_account)
            if held_account.state is AccountState.LOGGING_OUT:
                await self._leave(held_account, session, lease)
                await self._accounts.forget_session(account_id, AccountState.LOGGED_OUT, LOGGED_OUT)
                log.info("account_logged_out", account_id=account_id)
            else:
                await self._use(held_account, session, lease, stopping)
        except AccountRefused as error:
            await self._park(account_id, error.state, error.reason)
        except CannotStart as error:
            await self._park(account_id, AccountState.QUARANTINED, error.reason)
        except LeaseLost:
            log.warning("lease_lost", account_id=account_id)
        except Busy as busy:
            outage.log_failure(busy)
        except Exception as error:  # noqa: BLE001 -- its traceback is logged, and the account is taken again
            outage.log_failure(f"{type(error).__name__}: {error}", error=error)
        finally:
            recovery.cancel()

    async def _open_session(self, held_account: HeldAccount) -> str:
        sealed = Sealed(held_account.key_id, held_account.session)
        session = self._vault.open(sealed, account_id=held_account.account_id)
        if self._vault.is_outdated(sealed):
            resealed_session = self._vault.seal(session, account_id=held_account.account_id)
            await self._accounts.save_session(
                held_account.account_id, key_id=resealed_session.key_id, session=resealed_session.content
            )
        return session

    async def _park(self, account_id: AccountId, state: AccountState, reason: Reason) -> None:
        """Set a state and a reason for a person to see.

        Retries until it is saved, because nothing else is tried with the account.
        """
        log.warning("account_parked", account_id=account_id, state=state.value, why=str(reason))
        while True:
            try:
                await self._accounts.set_state(account_id, state, reason)
            except Busy as busy:
                await asyncio.sleep(busy.retry_after_seconds)
            else:
                return
