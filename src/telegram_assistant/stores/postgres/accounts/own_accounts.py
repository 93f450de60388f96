"""A tenant's own accounts: their states, their work, and the methods that Telegram has blocked.

No secrets.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from telegram_assistant.domain.accounts.account import BEFORE, RESETTABLE, AccountState
from telegram_assistant.domain.accounts.budget import SavedMeter
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason, dump_reason, load_reason
from telegram_assistant.stores.postgres.database import Connection, TenantTransactions


@dataclass(frozen=True, slots=True)
class MethodLimit:
    """The saved limits of an account for one method."""

    method: str
    blocked_until: datetime | None
    meter: SavedMeter


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAccount:
    """An account as its tenant may see it. `lease_owner` is the process that uses it now."""

    public_id: UUID
    number: int
    """The account's number in commands."""
    phone_masked: str | None
    state: AccountState
    state_reason: Reason | None
    has_login: bool
    """Whether a session is stored."""
    lease_owner: str | None
    lease_until: datetime | None
    created_at: datetime
    channels: int
    """Followed channels that it can read; for an operator's account, those that it reads."""
    overdue: int
    """Channels that have been due for at least five minutes."""
    lost_channels: int
    """Channels that it can no longer open."""
    open_backfills: int
    requests_per_second: float | None
    """Requests that its channels need; None before the first plan."""
    limits: tuple[MethodLimit, ...]


ACCOUNTS = """
SELECT a.account_id, a.public_id, a.phone_masked, a.state, a.state_reason, a.key_id IS NOT NULL AS has_login,
    a.created_at,
       CASE WHEN a.lease_until > now() THEN a.lease_owner END AS lease_owner, CASE WHEN a.lease_until > now()
           THEN a.lease_until END AS lease_until,
       w.channels, w.overdue, w.lost_channels, w.open_backfills, w.requests_per_second
FROM telegram_accounts a JOIN work_of_accounts() w USING (account_id) ORDER BY a.account_id
"""
WAS_RESET = Reason("account_was_reset", "the login of the account was deleted")

WAKEABLE = frozenset({AccountState.PAUSED, AccountState.QUARANTINED})


@dataclass(frozen=True, slots=True)
class _KnownState:
    state: AccountState
    has_login: bool


class OwnAccounts:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def all(self) -> tuple[OwnAccount, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(ACCOUNTS)
            limits = await connection.fetch("SELECT * FROM limits_of_accounts() ORDER BY account_id, method")
        limits_by_account: dict[int, list[MethodLimit]] = defaultdict(list)
        for row in limits:
            limits_by_account[row["account_id"]].append(
                MethodLimit(
                    row["method"],
                    row["blocked_until"],
                    SavedMeter(
                        tokens=None if row["tokens"] is None else tuple(row["tokens"]),
                        tokens_age_seconds=row["tokens_age_seconds"],
                        pace=row["pace"],
                        pace_age_seconds=row["pace_age_seconds"],
                    ),
                )
            )
        return tuple(
            OwnAccount(
                **{
                    **values,
                    "state": AccountState(values["state"]),
                    "state_reason": load_reason(values["state_reason"]),
                },
                number=number,
                limits=tuple(limits_by_account[number]),
            )
            for row in rows
            if (values := dict(row)) and (number := values.pop("account_id"))
        )

    async def pause(self, public_id: UUID, *, why: Reason) -> bool:
        """Pauses an account; its holder releases it within 20 seconds.

        Returns False if the tenant has no such account.
        """
        return await self._change(public_id, AccountState.PAUSED, why, BEFORE[AccountState.PAUSED])

    async def resume(self, public_id: UUID) -> bool:
        """Resumes an account. Returns False if the tenant has no such account."""
        return await self._change(public_id, AccountState.ACTIVE, None, WAKEABLE)

    async def log_out(self, public_id: UUID, *, reason: Reason) -> bool:
        """Lets ingest end the session at Telegram and delete it.

        Returns False if the tenant has no such account.
        """
        return await self._change(
            public_id, AccountState.LOGGING_OUT, reason, BEFORE[AccountState.LOGGING_OUT]
        )

    async def reset(self, public_id: UUID) -> bool:
        """Deletes the login of an account that is not in use.

        Returns False if the tenant has no such account.
        """
        async with self._transactions.begin() as connection:
            account = await self._lock(connection, public_id)
            if account is None:
                return False
            if account.state not in RESETTABLE:
                raise Rejected(
                    Reason(
                        "own_account_to_log_out_first",
                        "the account is {before}; log it out first",
                        before=account.state.words,
                    )
                )
            await connection.execute("SELECT forget_own_login($1, $2)", public_id, dump_reason(WAS_RESET))
        return True

    async def _change(
        self, public_id: UUID, state: AccountState, reason: Reason | None, before: frozenset[AccountState]
    ) -> bool:
        async with self._transactions.begin() as connection:
            account = await self._lock(connection, public_id)
            if account is None:
                return False
            if account.state is state:
                return True
            if account.state not in before:
                words = account.state.words
                raise Rejected(
                    Reason(
                        "own_account_cannot_become",
                        "the account is {before}; it cannot become {state}",
                        before=words,
                        state=state.words,
                    )
                )
            if not account.has_login and state is not AccountState.PAUSED:
                raise Rejected(
                    Reason("own_account_without_login", "nobody is logged in to this account; log in first")
                )
            await connection.execute(
                "UPDATE telegram_accounts SET state = $2, state_reason = $3 WHERE public_id = $1",
                public_id,
                state.value,
                dump_reason(reason),
            )
        return True

    async def _lock(self, connection: Connection, public_id: UUID) -> _KnownState | None:
        row = await connection.fetchrow(
            "SELECT state, key_id IS NOT NULL AS has_login FROM telegram_accounts "
            "WHERE public_id = $1 FOR NO KEY UPDATE",
            public_id,
        )
        return None if row is None else _KnownState(AccountState(row["state"]), has_login=row["has_login"])
