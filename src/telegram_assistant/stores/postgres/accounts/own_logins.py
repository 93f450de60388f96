"""A tenant's side of its logins: starts them, reads the questions, answers them.

It sees no answer, and nothing of other tenants.
"""

from datetime import timedelta
from uuid import UUID

from telegram_assistant.domain.accounts.login import INTERRUPTED, LoginAttempt, LoginState, LoginWay
from telegram_assistant.reasons import Reason, dump_reason, load_reason
from telegram_assistant.stores.postgres.database import TenantTransactions

LIFETIME = timedelta(minutes=10)


class OwnLogins:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def begin(self, attempt_id: UUID, *, way: LoginWay, door_key: bytes) -> bool:
        """Starts a login; `door_key` seals what is shown to its person.

        Returns False if too many are open.
        """
        async with self._transactions.begin() as connection:
            return bool(
                await connection.fetchval(
                    "SELECT begin_login($1, $2, $3, $4)", attempt_id, way.value, door_key, LIFETIME
                )
            )

    async def get(self, attempt_id: UUID | None = None) -> LoginAttempt | None:
        """Returns this login or, without an id, the newest one. None if the tenant has no such login."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT * FROM find_login($1)", attempt_id)
        if row is None:
            return None
        values = dict(row)
        values["prompt"] = values.pop("shown")
        is_interrupted = values.pop("is_interrupted")
        state, error = LoginState(values["state"]), load_reason(values["error"])
        if is_interrupted:
            state, error = LoginState.FAILED, INTERRUPTED
        return LoginAttempt(**{**values, "way": LoginWay(values["way"]), "state": state, "error": error})

    async def answer(self, attempt_id: UUID, question: int, sealed_bytes: bytes) -> bool:
        """Answers that question.

        Returns False if it is not the open one, or was answered before; then nothing changes.
        """
        async with self._transactions.begin() as connection:
            return bool(
                await connection.fetchval(
                    "SELECT answer_login($1, $2, $3)", attempt_id, question, sealed_bytes
                )
            )

    async def give_up(self, attempt_id: UUID, *, why: Reason) -> bool:
        """Ends a login. Returns False if it is over already, or not the tenant's."""
        async with self._transactions.begin() as connection:
            return bool(
                await connection.fetchval("SELECT give_up_login($1, $2)", attempt_id, dump_reason(why))
            )
