"""Telegram accounts: their encrypted sessions, states and leases."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from telegram_assistant.domain.accounts.account import BEFORE, LEASE_SECONDS, MARGIN_SECONDS, AccountState
from telegram_assistant.domain.ids import AccountId, TenantId
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason, dump_reason, load_reason
from telegram_assistant.stores.postgres.database import IngestTransactions, SystemTransactions


@dataclass(frozen=True, slots=True)
class Account:
    """An account as people see it."""

    account_id: AccountId
    public_id: UUID
    tenant: str
    phone_masked: str | None
    state: AccountState
    state_reason: Reason | None
    lease_owner: str | None
    lease_until: datetime | None


@dataclass(frozen=True, slots=True)
class HeldAccount:
    """An account that this process holds, with its encrypted session."""

    account_id: AccountId
    tenant_id: TenantId
    state: AccountState
    lease_epoch: int
    key_id: str
    session: bytes
    user_id: int | None


class Accounts:
    """Accounts without their sessions. A system store."""

    def __init__(self, transactions: SystemTransactions | IngestTransactions) -> None:
        self._transactions = transactions

    async def add(self, tenant_id: TenantId) -> AccountId:
        async with self._transactions.begin() as connection:
            number = await connection.fetchval(
                "INSERT INTO telegram_accounts (tenant_id) VALUES ($1) RETURNING account_id", tenant_id
            )
        return AccountId(number)

    async def set_state(
        self, account_id: AccountId, state: AccountState, reason: Reason | None = None
    ) -> None:
        """Records the state that the account's holder has observed."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE telegram_accounts SET state = $2, state_reason = $3 WHERE account_id = $1",
                account_id,
                state.value,
                dump_reason(reason),
            )

    async def change(self, account_id: AccountId, state: AccountState, reason: Reason | None = None) -> None:
        """Changes the state at the operator's request.

        Raises Rejected with an explanation if the change is not possible.
        """
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                "SELECT state, key_id IS NULL AS empty FROM telegram_accounts "
                "WHERE account_id = $1 FOR UPDATE",
                account_id,
            )
            if row is None:
                raise Rejected(
                    Reason("account_unknown_by_id", "there is no account {account_id}", account_id=account_id)
                )
            before = AccountState(row["state"])
            if before not in BEFORE[state]:
                why = Reason(
                    "account_cannot_become",
                    "account {account_id} is {before}; it cannot become {state}",
                    account_id=account_id,
                    before=before.words,
                    state=state.words,
                )
                raise Rejected(why)
            if row["empty"]:
                raise Rejected(
                    Reason(
                        "account_without_login",
                        "account {account_id} has no login; use `tga accounts login`",
                        account_id=account_id,
                    )
                )
            await connection.execute(
                "UPDATE telegram_accounts SET state = $2, state_reason = $3 WHERE account_id = $1",
                account_id,
                state.value,
                dump_reason(reason),
            )

    async def all(self) -> tuple[Account, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                SELECT account_id, a.public_id, t.name AS tenant, phone_masked, state, state_reason,
                       CASE WHEN lease_until > now() THEN lease_owner END AS lease_owner, lease_until
                FROM telegram_accounts a JOIN tenants t USING (tenant_id) ORDER BY account_id
                """
            )
        return tuple(
            Account(
                **{
                    **dict(row),
                    "state": AccountState(row["state"]),
                    "state_reason": load_reason(row["state_reason"]),
                }
            )
            for row in rows
        )


class AccountSessions(Accounts):
    """Accounts with their encrypted sessions and leases.

    Only ingest has it. Leases use the database's clock.
    """

    def __init__(self, transactions: IngestTransactions) -> None:
        super().__init__(transactions)

    async def save_session(self, account_id: AccountId, *, key_id: str, session: bytes) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE telegram_accounts SET key_id = $2, session = $3 WHERE account_id = $1",
                account_id,
                key_id,
                session,
            )

    async def forget_session(
        self, account_id: AccountId, state: AccountState, reason: Reason | None = None
    ) -> None:
        """Deletes the session.

        Channels and access hashes stay: they are valid for the next login of the same account.
        """
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE telegram_accounts SET key_id = NULL, session = NULL, state = $2, state_reason = $3 "
                "WHERE account_id = $1",
                account_id,
                state.value,
                dump_reason(reason),
            )

    async def take(self, owner: str) -> tuple[HeldAccount, ...]:
        """Leases every usable account that is free, or whose lease ended MARGIN_SECONDS ago,
        so its holder must have stopped.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                UPDATE telegram_accounts
                SET lease_owner = $1, lease_epoch = nextval('lease_epochs'), lease_until = now()
                    + make_interval(secs => $2)
                WHERE account_id IN (
                    SELECT account_id FROM telegram_accounts
                    WHERE state IN ('active', 'logging out') AND session IS NOT NULL
                      AND (lease_until IS NULL OR lease_until < now() - make_interval(secs => $3))
                    FOR UPDATE SKIP LOCKED)
                RETURNING account_id, tenant_id, state, lease_epoch, key_id, session, user_id
                """,
                owner,
                LEASE_SECONDS,
                MARGIN_SECONDS,
            )
        return tuple(HeldAccount(**{**dict(row), "state": AccountState(row["state"])}) for row in rows)

    async def renew(self, owner: str, account_ids: Collection[AccountId]) -> frozenset[AccountId]:
        """Renews the leases of these accounts; returns those that the owner may go on using.

        Leases not named here expire.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                UPDATE telegram_accounts SET lease_until = now() + make_interval(secs => $2)
                WHERE lease_owner = $1 AND account_id = ANY($3) AND lease_until > now() AND state = 'active'
                    RETURNING account_id
                """,
                owner,
                LEASE_SECONDS,
                list(account_ids),
            )
        return frozenset(AccountId(row["account_id"]) for row in rows)

    async def release(self, owner: str, account_id: AccountId) -> None:
        """Ends the lease after disconnecting, so that the next holder may begin at once."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE telegram_accounts SET lease_until = NULL, lease_owner = NULL WHERE account_id = $2 "
                "AND lease_owner = $1",
                owner,
                account_id,
            )
