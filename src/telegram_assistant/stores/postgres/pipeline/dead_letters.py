"""Dead letters: events that a stage could not process, with the reason.

Stored here as well as in Redis, which may lose data.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.stores.postgres.database import ApiTransactions, SystemTransactions
from telegram_assistant.streams.entries import DeadLettered
from telegram_assistant.telemetry.scrubbing import scrub_text

_COLUMNS = (
    "dead_letter_id, stage, stream, entry_id, channel_id, message_id, payload, reason, traceback, attempts, "
    "created_at"
)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One dead letter."""

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
    """Operations of the operator."""

    def __init__(self, transactions: ApiTransactions | SystemTransactions) -> None:
        self._transactions = transactions

    async def newest(
        self, stage: str | None = None, *, limit: int = 100, before: int | None = None
    ) -> tuple[DeadLetter, ...]:
        """The newest dead letters; `before` is the id of the last one of the previous page."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                f"SELECT {_COLUMNS} FROM list_dead_letters($1, $2, $3)", stage, before, limit
            )
        return tuple(DeadLetter(**dict(row)) for row in rows)

    async def get(self, dead_letter_id: int) -> DeadLetter | None:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM find_dead_letter($1)", dead_letter_id)
        return DeadLetter(**dict(row)) if row else None

    async def remove(self, dead_letter_id: int, *, given_up_revision: int | None = None) -> None:
        """Deletes a dead letter.

        `given_up_revision` and older revisions of its post are not announced again.
        """
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT remove_dead_letter($1, $2)", dead_letter_id, given_up_revision)


class DeadLetterWriter(DeadLetters):
    """Operations of the stages. A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        super().__init__(transactions)

    async def add(self, stage: str, letters: Iterable[DeadLettered]) -> None:
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
                -- $1 stage, $2 stream, $3 entry, $4 channel, $5 message, $6 payload, $7 reason, $8 traceback,
                -- $9 attempts
                INSERT INTO dead_letters (stage, stream, entry_id, channel_id, message_id, payload, reason,
                    traceback, attempts)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING
                """,
                rows,
            )


def _post_of(payload: bytes) -> tuple[int | None, int | None]:
    """The post of an event, if the payload is readable."""
    try:
        post_id = PostId.parse(str(json.loads(payload)["post_id"]))
    except (ValueError, KeyError, TypeError):
        return None, None
    return (
        (post_id.channel_id, post_id.message_id)
        if max(post_id.channel_id, post_id.message_id) < 2**63
        else (None, None)
    )


def _storable(text: str) -> str:
    """Escapes NUL and broken characters, which PostgreSQL cannot store:
    a dead letter must never stop a stage.
    """
    return scrub_text(text).replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
