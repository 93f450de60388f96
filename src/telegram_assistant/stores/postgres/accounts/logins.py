"""Logins in progress, and the accounts that they create.

A person's answer is encrypted for the process that asked, and leaves the table when it is read. A QR code is
encrypted for the interface that shows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.login import INTERRUPTED, OVER, LoginState, LoginWay
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason, dump_reason
from telegram_assistant.stores.postgres.database import Connection, IngestTransactions

SERVED_SECONDS = 30.0
"""A login whose process has not been heard of for so long is interrupted."""
OPEN = "state NOT IN (" + ", ".join(f"'{state}'" for state in sorted(OVER)) + ")"
FORGET_UNFINISHED = """
DELETE FROM telegram_accounts a
WHERE state = 'new' AND user_id IS NULL AND session IS NULL AND created_at < now() - interval '2 days'
  AND NOT EXISTS (SELECT 1 FROM account_limits l WHERE l.account_id = a.account_id
      AND l.blocked_until > now())
"""
"""Not sooner, because the number of codes sent to a phone number is stored with its account."""
FORGET_STRANGERS = f"""
WITH strangers AS (
    UPDATE login_attempts l SET account_id = NULL FROM telegram_accounts a
    WHERE a.account_id = l.account_id AND NOT (l.{OPEN}) AND l.served_until < now() - interval '1 minute'
      AND a.state = 'new' AND a.user_id IS NULL AND a.session IS NULL AND a.phone_print IS NULL
    RETURNING a.account_id
)
DELETE FROM telegram_accounts WHERE account_id IN (SELECT account_id FROM strangers)
"""
"""Accounts without a number, of logins whose process has died.

A process that was only held up has a minute to finish.
"""
NOT_FINISHED = Reason("login_not_finished", "the login is not finished")
FREE = frozenset({AccountState.NEW, AccountState.LOGGED_OUT})


@dataclass(frozen=True, slots=True)
class ClaimedLogin:
    """A login that this process carries out. `door_key` encrypts what the interface shows."""

    attempt_id: UUID
    way: LoginWay
    door_key: bytes | None


@dataclass(frozen=True, slots=True)
class Owner:
    """The Telegram user of an account.

    `phone_print` is a fingerprint: it tells two numbers apart without revealing the number.
    """

    user_id: int
    phone_masked: str
    phone_print: bytes


class Logins:
    """Carries logins out, up to the resulting account. Only ingest has it."""

    def __init__(self, transactions: IngestTransactions) -> None:
        self._transactions = transactions

    async def finish(self, attempt_id: UUID, state: LoginState, *, error: Reason | None = None) -> None:
        """Ends a login; one that is over stays unchanged."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE login_attempts SET state = $2, error = $3, answer = NULL, shown = NULL "
                f"WHERE attempt_id = $1 AND {OPEN}",
                attempt_id,
                state.value,
                dump_reason(error),
            )

    async def take(self, owner: str) -> tuple[ClaimedLogin, ...]:
        """Claims logins that no process has claimed, and says that the ones claimed before are still served.

        Closes expired ones and those whose process has died, and deletes accounts whose login was never
        finished.
        """
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE login_attempts SET served_until = now() + make_interval(secs => $2) "
                f"WHERE taken_by = $1 AND {OPEN}",
                owner,
                SERVED_SECONDS,
            )
            await connection.execute(
                "UPDATE login_attempts SET state = 'failed', error = $1, answer = NULL, shown = NULL "
                f"WHERE served_until < now() AND {OPEN}",
                dump_reason(INTERRUPTED),
            )
            await connection.execute(
                "UPDATE login_attempts SET state = 'expired', answer = NULL, shown = NULL "
                f"WHERE expires_at < now() AND {OPEN}"
            )
            await connection.execute(
                "DELETE FROM login_attempts WHERE expires_at < now() - interval '30 days'"
            )
            await connection.execute(FORGET_UNFINISHED)
            await connection.execute(FORGET_STRANGERS)
            rows = await connection.fetch(
                """
                UPDATE login_attempts SET taken_by = $1, served_until = now() + make_interval(secs => $2)
                WHERE attempt_id IN (
                    SELECT attempt_id FROM login_attempts
                    WHERE state = 'wanted' AND taken_by IS NULL FOR UPDATE SKIP LOCKED)
                RETURNING attempt_id, way, door_key
                """,
                owner,
                SERVED_SECONDS,
            )
        return tuple(
            ClaimedLogin(UUID(str(row["attempt_id"])), LoginWay(row["way"]), row["door_key"]) for row in rows
        )

    async def ask(
        self, attempt_id: UUID, state: LoginState, *, public_key: bytes, error: Reason | None
    ) -> int:
        """Asks the person a question; returns its number. Raises Rejected if the login is over."""
        async with self._transactions.begin() as connection:
            question = await connection.fetchval(
                f"""
                UPDATE login_attempts SET state = $2, question = question + 1, public_key = $3, error = $4,
                    answer = NULL, shown = NULL
                WHERE attempt_id = $1 AND expires_at > now() AND {OPEN} RETURNING question
                """,
                attempt_id,
                state.value,
                public_key,
                dump_reason(error),
            )
        if question is None:
            raise Rejected(Reason("login_over", "the login has ended"))
        return int(question)

    async def show(self, attempt_id: UUID, question: int, sealed_bytes: bytes) -> None:
        """Stores the encrypted code to scan, as question number `question`.

        Raises Rejected if the login is over.
        """
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                f"""
                UPDATE login_attempts SET state = $2, question = $3, shown = $4, error = NULL, answer = NULL
                WHERE attempt_id = $1 AND expires_at > now() AND {OPEN}
                """,
                attempt_id,
                LoginState.QR_SHOWN.value,
                question,
                sealed_bytes,
            )
        if status != "UPDATE 1":
            raise Rejected(Reason("login_over", "the login has ended"))

    async def take_answer(self, attempt_id: UUID) -> bytes | None:
        """Takes the encrypted answer out of the table, or returns None if there is none yet.

        Raises Rejected if the login is over.
        """
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                f"""
                WITH given AS (SELECT attempt_id, answer FROM login_attempts
                    WHERE attempt_id = $1 AND expires_at > now() AND {OPEN} FOR UPDATE)
                UPDATE login_attempts l SET answer = NULL FROM given WHERE l.attempt_id = given.attempt_id
                    RETURNING given.answer
                """,
                attempt_id,
            )
        if row is None:
            raise Rejected(Reason("login_over", "the login has ended"))
        return None if row["answer"] is None else bytes(row["answer"])

    # --- the accounts ---

    async def account_for(self, attempt_id: UUID, *, prints: Sequence[bytes], phone_masked: str) -> AccountId:
        """The account of a phone number, known or new; `prints` are the number's fingerprints, the one to
        store first.

        Raises Rejected with an explanation if the account is in use, parked or another tenant's, or another
        login to it is open.
        """
        async with self._transactions.begin() as connection:
            tenant_id = await connection.fetchval(
                "SELECT tenant_id FROM login_attempts WHERE attempt_id = $1", attempt_id
            )
            row = await connection.fetchrow(
                "SELECT account_id, tenant_id, state, state_reason FROM telegram_accounts "
                "WHERE phone_print = ANY($1) FOR UPDATE",
                list(prints),
            )
            if row is None:
                row = await connection.fetchrow(
                    """
                    INSERT INTO telegram_accounts (tenant_id, phone_masked, phone_print, state_reason)
                    VALUES ($1, $2, $3, $4) RETURNING account_id, tenant_id, state, state_reason
                    """,
                    tenant_id,
                    phone_masked,
                    prints[0],
                    dump_reason(NOT_FINISHED),
                )
            assert row is not None  # inserted just above
            _require_free(row, tenant_id)
            await _log_in_to(connection, attempt_id, row["account_id"])
        return AccountId(row["account_id"])

    async def account_for_stranger(self, attempt_id: UUID) -> AccountId:
        """Creates an account for a person whose number is known only after the login."""
        async with self._transactions.begin() as connection:
            number = await connection.fetchval(
                """
                INSERT INTO telegram_accounts (tenant_id, state_reason)
                SELECT tenant_id, $2 FROM login_attempts WHERE attempt_id = $1 RETURNING account_id
                """,
                attempt_id,
                dump_reason(NOT_FINISHED),
            )
            await _log_in_to(connection, attempt_id, number)
        return AccountId(number)

    async def find_earlier_account(
        self, attempt_id: UUID, created_account_id: AccountId, *, user_id: int, prints: Sequence[bytes]
    ) -> AccountId:
        """The account that this person had here before, or the one just created.

        Raises Rejected like `account_for`.
        """
        async with self._transactions.begin() as connection:
            tenant_id = await connection.fetchval(
                "SELECT tenant_id FROM login_attempts WHERE attempt_id = $1", attempt_id
            )
            row = await connection.fetchrow(
                """
                SELECT account_id, tenant_id, state, state_reason FROM telegram_accounts
                WHERE (user_id = $1 OR phone_print = ANY($2)) AND account_id <> $3
                ORDER BY user_id = $1 DESC NULLS LAST LIMIT 1 FOR UPDATE
                """,
                user_id,
                list(prints),
                created_account_id,
            )
            if row is None:
                return created_account_id
            _require_free(row, tenant_id)
            await _log_in_to(connection, attempt_id, row["account_id"])
        return AccountId(row["account_id"])

    async def forget_stranger(self, account_id: AccountId) -> None:
        """Deletes the account of an unfinished login. An account with a login stays."""
        async with self._transactions.begin() as connection:
            condition = "account_id = $1 AND user_id IS NULL AND session IS NULL"
            await connection.execute(
                "UPDATE login_attempts SET account_id = NULL WHERE account_id = $1 AND EXISTS (SELECT 1 "
                f"FROM telegram_accounts WHERE {condition})",
                account_id,
            )
            await connection.execute(f"DELETE FROM telegram_accounts WHERE {condition}", account_id)

    async def identify(self, account_id: AccountId, owner: Owner) -> None:
        """Stores the account's Telegram user.

        Raises Rejected if that user has an account here: together they would have twice the budget.
        """
        async with self._transactions.begin() as connection:
            other = await connection.fetchval(
                "SELECT account_id FROM telegram_accounts WHERE user_id = $2 AND account_id <> $1",
                account_id,
                owner.user_id,
            )
            if other is not None:
                raise Rejected(
                    Reason(
                        "account_here_already",
                        "this Telegram account is already here, as account {account_id}",
                        account_id=other,
                    )
                )
            await connection.execute(
                """
                UPDATE telegram_accounts SET user_id = $2, phone_masked = $3, phone_print = CASE
                    WHEN NOT EXISTS (
                    SELECT 1 FROM telegram_accounts o WHERE o.phone_print = $4 AND o.account_id <> $1)
                        THEN $4 END
                WHERE account_id = $1
                """,
                account_id,
                owner.user_id,
                owner.phone_masked,
                owner.phone_print,
            )


async def _log_in_to(connection: Connection, attempt_id: UUID, account_id: int) -> None:
    try:
        await connection.execute(
            "UPDATE login_attempts SET account_id = $2 WHERE attempt_id = $1", attempt_id, account_id
        )
    except asyncpg.UniqueViolationError as error:
        reason = Reason(
            "login_in_progress",
            "somebody is logging in to account {account_id}; try again in a few minutes",
            account_id=account_id,
        )
        raise Rejected(reason) from error


def _require_free(row: asyncpg.Record, tenant_id: int) -> None:
    number, state = row["account_id"], AccountState(row["state"])
    if row["tenant_id"] != tenant_id:
        raise Rejected(
            Reason("number_of_another_tenant", "this number belongs to an account of another tenant")
        )
    if state is AccountState.ACTIVE:
        raise Rejected(
            Reason(
                "number_in_use",
                "this number is account {account_id}, which is in use; you need not do anything",
                account_id=number,
            )
        )
    if state not in FREE:
        raise Rejected(
            Reason(
                "number_of_parked_account",
                "this number is account {account_id}, which is {state}; resume it, or delete its login "
                "and log in again",
                account_id=number,
                state=state.words,
            )
        )
