"""Dead letters: events that a stage could not process, with the reason. Kept here as well as in Redis, which may be lost."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.stores.postgres.database import ApiTransactions, SystemTransactions
from telegram_assistant.streams.entries import Buried
from telegram_assistant.telemetry.scrubbing import scrub_text

_COLUMNS = "dead_letter_id, stage, stream, entry_id, channel_id, message_id, payload, reason, traceback, attempts, created_at"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One of them."""

    dead_letter_id: int
    stage: str
    stream: str
    entry_id: str
    channel_id: int | None
    message_id: int | None
    payload: bytes
    reason: str
    traceback: str | None
    attempts: int
    created_at: datetime


class DeadLetters:
    """What the operator does with them."""

    def __init__(self, transactions: ApiTransactions | SystemTransactions) -> None:
        self._transactions = transactions

    async def newest(self, stage: str | None = None, *, limit: int = 100, before: int | None = None) -> tuple[DeadLetter, ...]:
        """`before` is the number of the last one of the page above."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(f"SELECT {_COLUMNS} FROM list_dead_letters($1, $2, $3)", stage, before, limit)
        return tuple(DeadLetter(**dict(row)) for row in rows)

    async def get(self, dead_letter_id: int) -> DeadLetter | None:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM find_dead_letter($1)", dead_letter_id)
        return DeadLetter(**dict(row)) if row else None

    async def remove(self, dead_letter_id: int, *, given_up_revision: int | None = None) -> None:
        """A revision of its post that is given up is not announced again, and older ones are not either."""
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT remove_dead_letter($1, $2)", dead_letter_id, given_up_revision)


class DeadLetterWriter(DeadLetters):
    """What stages do with them. A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        super().__init__(transactions)

    async def bury(self, stage: str, letters: Iterable[Buried]) -> None:
        rows = [
            (
                stage,
                letter.entry.source.key,
                letter.entry.entry_id.decode(),
                *_post_of(letter.entry.payload),
                letter.entry.payload,
                _storable(letter.reason),
                _storable(letter.traceback),
                letter.entry.deliveries,
            )
            for letter in letters
        ]
        async with self._transactions.begin() as connection:
            await connection.executemany(
                """
                INSERT INTO dead_letters (stage, stream, entry_id, channel_id, message_id, payload, reason, traceback, attempts)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING
                """,
                rows,
            )


def _post_of(payload: bytes) -> tuple[int | None, int | None]:
    """The post that an event is about, if it can be read at all."""
    try:
        post = PostId.parse(str(json.loads(payload)["post_id"]))
    except (ValueError, KeyError, TypeError):
        return None, None
    return (post.channel_id, post.message_id) if max(post.channel_id, post.message_id) < 2**63 else (None, None)


def _storable(text: str) -> str:
    """PostgreSQL keeps neither NUL nor half a character; a letter must never be what stops a stage."""
    return scrub_text(text).replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
