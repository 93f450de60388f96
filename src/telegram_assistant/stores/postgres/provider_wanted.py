"""Posts that went on with a local result while a provider was wanted: worked off later, the newest first."""

from collections.abc import Sequence
from datetime import timedelta

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.understanding import Wanted
from telegram_assistant.stores.postgres.database import SystemTransactions
from telegram_assistant.stores.postgres.notices import Told, write_notices

MOST_ATTEMPTS = 5


class ProviderWanted:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def add(self, *wanted: Wanted) -> None:
        """Once, however often it is wanted."""
        ordered = sorted(wanted, key=lambda one: (one.post_id, one.work))
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                INSERT INTO provider_wanted (channel_id, message_id, work)
                SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) ON CONFLICT DO NOTHING
                """,
                *_columns(ordered),
            )

    async def take(self, work: str, *, limit: int, lease: timedelta) -> tuple[Wanted, ...]:
        """The newest that nobody else works on. What is not done when the lease is over is given out again, five times in all."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                WITH next AS (
                    SELECT channel_id, message_id, work FROM provider_wanted
                    WHERE work = $1 AND taken_until < now() AND attempts < $4
                    ORDER BY wanted_at DESC LIMIT $2 FOR UPDATE SKIP LOCKED
                )
                UPDATE provider_wanted w SET taken_until = now() + $3, attempts = w.attempts + 1
                FROM next n WHERE (w.channel_id, w.message_id, w.work) = (n.channel_id, n.message_id, n.work)
                RETURNING w.channel_id, w.message_id, w.work, w.wanted_at
                """,
                work,
                limit,
                lease,
                MOST_ATTEMPTS,
            )
        newest_first = sorted(rows, key=lambda row: row["wanted_at"], reverse=True)
        return tuple(Wanted(PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])), row["work"]) for row in newest_first)

    async def put_back(self, wanted: Sequence[Wanted], *, pause: timedelta) -> None:
        """Nobody has tried: it is given out again after the pause, and no attempt is used."""
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                UPDATE provider_wanted w SET taken_until = now() + $4, attempts = greatest(0, w.attempts - 1)
                FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS d (channel_id, message_id, work)
                WHERE (w.channel_id, w.message_id, w.work) = (d.channel_id, d.message_id, d.work)
                """,
                *_columns(wanted),
                pause,
            )

    async def done(self, finished: Sequence[Wanted], told: Sequence[Told] = ()) -> None:
        """Forget them, and tell what has come of it."""
        async with self._transactions.begin() as connection:
            if told:
                await write_notices(connection, told)
            await connection.execute(
                """
                DELETE FROM provider_wanted w USING unnest($1::bigint[], $2::bigint[], $3::text[]) AS d (channel_id, message_id, work)
                WHERE (w.channel_id, w.message_id, w.work) = (d.channel_id, d.message_id, d.work)
                """,
                *_columns(finished),
            )

    async def waiting(self) -> int:
        async with self._transactions.begin() as connection:
            return int(await connection.fetchval("SELECT count(*) FROM provider_wanted WHERE attempts < $1", MOST_ATTEMPTS))


def _columns(wanted: Sequence[Wanted]) -> tuple[list[int], list[int], list[str]]:
    return [one.post_id.channel_id for one in wanted], [one.post_id.message_id for one in wanted], [one.work for one in wanted]
