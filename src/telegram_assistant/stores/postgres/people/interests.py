"""What interests people."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import asyncpg

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.people.interests import MAX_INTERESTS, MAX_WEIGHT, MIN_LEARNT, Interest, InterestSource
from telegram_assistant.stores.postgres.database import PersonTransactions, SystemTransactions


class PersonInterests:
    """A store of one person in one tenant."""

    def __init__(self, transactions: PersonTransactions) -> None:
        self._transactions = transactions

    async def all(self) -> tuple[Interest, ...]:
        """The weightiest first."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT topic, weight, source, why, changed_at FROM interests ORDER BY weight DESC, topic")
        return tuple(_interest(row) for row in rows)

    async def put(self, topic: str, weight: float) -> bool:
        """Writes down a topic in the person's own words. Returns False if there are as many as a person may have."""
        async with self._transactions.begin() as connection:
            done = await connection.execute(
                f"""
                INSERT INTO interests (topic, weight, source, why)
                SELECT $1, $2, 'own', ''
                WHERE (SELECT count(*) FROM interests) < {MAX_INTERESTS} OR EXISTS (SELECT 1 FROM interests WHERE topic = $1)
                ON CONFLICT (tenant_id, user_id, topic) DO UPDATE SET weight = excluded.weight, source = 'own', changed_at = now()
                """,
                topic,
                weight,
            )
        return done == "INSERT 0 1"

    async def learn(self, topics: Sequence[str], step: float, *, why: str) -> None:
        """Adds to the weights of these topics. A topic that a person wrote down keeps its weight."""
        async with self._transactions.begin() as connection:
            await connection.executemany(LEARN, [(topic, step, why) for topic in topics])

    async def remove(self, topic: str) -> bool:
        async with self._transactions.begin() as connection:
            return await connection.execute("DELETE FROM interests WHERE topic = $1", topic) == "DELETE 1"

    async def reset(self) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute("DELETE FROM interests")


LEARN = f"""
INSERT INTO interests AS i (topic, weight, source, why)
SELECT $1, $2, 'learnt', $3
WHERE (SELECT count(*) FROM interests) < {MAX_INTERESTS} OR EXISTS (SELECT 1 FROM interests WHERE topic = $1)
ON CONFLICT (tenant_id, user_id, topic) DO UPDATE
SET weight = greatest(-{MAX_WEIGHT}, least({MAX_WEIGHT}, i.weight + excluded.weight)), why = excluded.why, changed_at = now()
WHERE i.source = 'learnt'
"""
"""$1 topic, $2 step, $3 the headline."""


@dataclass(frozen=True, slots=True)
class SavedText:
    """The text of a post that a person saved."""

    tenant_id: TenantId
    user_id: UserId
    text: str


class InterestUpkeep:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def newly_saved(self) -> tuple[SavedText, ...]:
        """Posts that were saved since the last call; each is returned once."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                UPDATE saved_posts s SET learnt_at = now() FROM posts p
                WHERE s.learnt_at IS NULL AND p.channel_id = s.channel_id AND p.message_id = s.message_id
                RETURNING s.tenant_id, s.user_id, p.text
                """
            )
        return tuple(SavedText(TenantId(row["tenant_id"]), UserId(row["user_id"]), row["text"]) for row in rows)

    async def fade(self, *, half_life: timedelta, period: timedelta) -> int:
        """Lets learnt weights fade as they do within a period, and forgets the faded. Returns how many are left."""
        async with self._transactions.begin() as connection:
            await connection.execute("UPDATE interests SET weight = weight * $1 WHERE source = 'learnt'", 0.5 ** (period / half_life))
            await connection.execute("DELETE FROM interests WHERE source = 'learnt' AND abs(weight) < $1", MIN_LEARNT)
            return int(await connection.fetchval("SELECT count(*) FROM interests"))


def _interest(row: asyncpg.Record) -> Interest:
    return Interest(row["topic"], row["weight"], InterestSource(row["source"]), row["why"], row["changed_at"])
