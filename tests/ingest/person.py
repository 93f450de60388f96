"""Somebody who logs in: what they know, and what they were told."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from telegram_assistant.domain.accounts.login import OVER, LoginState
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.stores.postgres.accounts.logins import LoginAttempt
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.telegram.sealed_answers import seal

DIGITS = "79995550201"
PHONE, CODE, PASSWORD = f"+{DIGITS}", "12345", "сезам"


@dataclass
class Person:
    """Knows what to answer, and remembers what was said."""

    system: SystemStores
    tenant_id: TenantId
    answers: Mapping[LoginState, Sequence[str]] = field(default_factory=lambda: {LoginState.PHONE_WANTED: [PHONE], LoginState.CODE_SENT: [CODE]})
    told: list[str] = field(default_factory=list)

    async def log_in(self) -> LoginAttempt:
        attempt_id = await self.system.logins.begin(self.tenant_id)
        left, answered = {state: list(given) for state, given in self.answers.items()}, 0
        while True:
            attempt = await self.next(attempt_id, answered)
            if attempt.error:
                self.told.append(str(attempt.error))
            if attempt.state in OVER or not left.get(attempt.state):
                return attempt
            await self.answer(attempt, left[attempt.state].pop(0))
            answered = attempt.question

    async def next(self, attempt_id: UUID, answered: int) -> LoginAttempt:
        async with asyncio.timeout(60):
            while True:
                attempt = await self.system.logins.get(attempt_id)
                if attempt.state in OVER or attempt.question > answered:
                    return attempt
                await asyncio.sleep(0.01)

    async def answer(self, attempt: LoginAttempt, text: str) -> None:
        assert attempt.public_key is not None
        sealed = seal(text, attempt.public_key, question=f"{attempt.attempt_id}/{attempt.question}")
        assert text.encode() not in sealed
        await self.system.logins.answer(attempt.attempt_id, attempt.question, sealed)


def knowing(person: Person, **answers: Sequence[str]) -> Person:
    return Person(person.system, person.tenant_id, {LoginState(state): given for state, given in answers.items()})
