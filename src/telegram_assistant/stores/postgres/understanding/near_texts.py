"""Sketches of texts that a provider has processed: a near copy of one of them needs no call of its own."""

import asyncio
from array import array
from collections.abc import Sequence
from datetime import datetime

from telegram_assistant.domain.operations.due_work import MAX_ROWS
from telegram_assistant.domain.posts.near_copies import Sketch, original_of, sketch_of
from telegram_assistant.stores.postgres.database import SystemTransactions

MAX_PER_BUCKET = 20
"""The number of different texts with the same names and numbers that are compared, the newest first."""


class NearTexts:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions
        self._key: bytes | None = None

    async def originals(self, texts: Sequence[str]) -> list[bytes]:
        """For each text the content hash of its original; a new text is its own original and is stored."""
        key = await self._secret()
        sketches = []
        for text in texts:
            sketches.append(sketch_of(text, key))
            await asyncio.sleep(
                0
            )  # each takes up to a millisecond; a hundred would block the event loop noticeably
        return await self._originals(sketches)

    async def _secret(self) -> bytes:
        """The installation's key, created once: all processes compute the same sketches,
        and nobody else can.
        """
        if self._key is None:
            async with self._transactions.begin() as connection:
                self._key = bytes(
                    await connection.fetchval("SELECT key FROM installation_keys WHERE name = 'near_texts'")
                )
        return self._key

    async def _originals(self, texts: Sequence[Sketch]) -> list[bytes]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(KNOWN, list({text.bucket for text in texts}), MAX_PER_BUCKET)
            sketches_by_bucket: dict[bytes, list[Sketch]] = {}
            for row in rows:
                sketches_by_bucket.setdefault(row["bucket"], []).append(
                    Sketch(row["content"], row["bucket"], _numbers(row["sample"]), row["length"])
                )
            originals, new_texts = [], []
            for text in texts:
                candidates = sketches_by_bucket.setdefault(text.bucket, [])
                original = original_of(text, candidates)
                if original is text:
                    candidates.append(text)
                    new_texts.append(text)
                originals.append(original.content)
            if new_texts:
                ordered_sketches = sorted(new_texts, key=lambda sketch: (sketch.bucket, sketch.content))
                samples = [array("I", sketch.sample).tobytes() for sketch in ordered_sketches]
                lengths = [sketch.length for sketch in ordered_sketches]
                await connection.execute(
                    ADD,
                    [sketch.bucket for sketch in ordered_sketches],
                    [sketch.content for sketch in ordered_sketches],
                    samples,
                    lengths,
                )
        return originals

    async def forget(self, before: datetime, *, limit: int = MAX_ROWS) -> int:
        """Deletes so many older sketches; a copy of one of them is sent to the provider again.

        Returns how many.
        """
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                "DELETE FROM near_texts WHERE ctid = ANY (ARRAY(SELECT ctid FROM near_texts "
                "WHERE seen_at < $1 LIMIT $2))",
                before,
                limit,
            )
        return int(status.rpartition(" ")[2])


def _numbers(sample: bytes) -> tuple[int, ...]:
    numbers = array("I")
    numbers.frombytes(sample)
    return tuple(numbers)


KNOWN = """
SELECT n.* FROM unnest($1::bytea[]) AS w(bucket)
CROSS JOIN LATERAL (SELECT bucket, content, sample, length FROM near_texts WHERE bucket = w.bucket
    ORDER BY seen_at DESC LIMIT $2) n
"""

ADD = """
INSERT INTO near_texts (bucket, content, sample, length)
SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::int[]) ON CONFLICT DO NOTHING
"""
