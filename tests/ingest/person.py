"""Somebody who logs in: what they know, and what they were told."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from telegram_assistant.domain.accounts.login import LoginAttempt, LoginState, LoginWay
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.stores.postgres.accounts.own_logins import OwnLogins
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import tenant_stores
from telegram_assistant.telegram.sealed_answers import seal

DIGITS = "79995550201"
PHONE, CODE, PASSWORD = f"+{DIGITS}", "12345", "сезам"


@dataclass
class Person:
    """Knows what to answer, and remembers what was said."""

    pool: Pool
    tenant_id: TenantId
    answers: Mapping[LoginState, Sequence[str]] = field(
        default_factory=lambda: {LoginState.PHONE_WANTED: [PHONE], LoginState.CODE_SENT: [CODE]}
    )
    errors: list[str] = field(default_factory=list)

    @property
    def logins(self) -> OwnLogins:
        return tenant_stores(self.pool, self.tenant_id).logins

    async def begin(self, *, way: LoginWay = LoginWay.PHONE, door_key: bytes = b"") -> UUID:
        attempt_id = uuid4()
        assert await self.logins.begin(attempt_id, way=way, door_key=door_key)
        return attempt_id

    async def get(self, attempt_id: UUID) -> LoginAttempt:
        attempt = await self.logins.get(attempt_id)
        assert attempt is not None
        return attempt

    async def log_in(self) -> LoginAttempt:
        attempt_id = await self.begin()
        left, answered = {state: list(given) for state, given in self.answers.items()}, 0
        while True:
            attempt = await self.next(attempt_id, answered)
            if attempt.error:
                self.errors.append(str(attempt.error))
            if attempt.is_over or not left.get(attempt.state):
                return attempt
            await self.answer(attempt, left[attempt.state].pop(0))
            answered = attempt.question

    async def next(self, attempt_id: UUID, answered: int) -> LoginAttempt:
        async with asyncio.timeout(60):
            while True:
                attempt = await self.get(attempt_id)
                if attempt.is_over or attempt.question > answered:
                    return attempt
                await asyncio.sleep(0.01)

    async def answer(self, attempt: LoginAttempt, text: str) -> None:
        assert attempt.public_key is not None
        sealed = seal(text, attempt.public_key, question=f"{attempt.attempt_id}/{attempt.question}")
        assert text.encode() not in sealed
        await self.logins.answer(attempt.attempt_id, attempt.question, sealed)


def knowing(person: Person, **answers: Sequence[str]) -> Person:
    return Person(
        person.pool, person.tenant_id, {LoginState(state): given for state, given in answers.items()}
    )
