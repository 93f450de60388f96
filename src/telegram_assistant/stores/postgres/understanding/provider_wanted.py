"""Posts that continued with a local result although a provider was wanted: processed later,
news before history, newest first.
"""

from collections.abc import Sequence
from datetime import timedelta

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.lane import NEWS
from telegram_assistant.domain.understanding.policy import PendingImprovement
from telegram_assistant.stores.postgres.database import SystemTransactions
from telegram_assistant.stores.postgres.pipeline.notices import QueuedNotice, write_notices

MAX_ATTEMPTS = 7
HOLDS_UP = 5
"""History waits for news with fewer failed attempts than this."""


class ProviderWanted:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def add(self, *improvements: PendingImprovement) -> None:
        """Adds the entries; an existing entry stays as it is."""
        ordered_improvements = sorted(
            improvements, key=lambda improvement: (improvement.post_id, improvement.work)
        )
        async with self._transactions.begin() as connection:
            await connection.execute(ADD, *_columns(ordered_improvements))

    async def take(self, work: str, *, limit: int, lease: timedelta) -> tuple[PendingImprovement, ...]:
        """Leases the newest free entries; history only when no news are left, leased ones included.

        An entry that is not done when its lease ends is leased again, seven times in all.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(TAKE, work, limit, lease, MAX_ATTEMPTS, NEWS)
        newest_first = sorted(
            rows, key=lambda row: (row["posted_at"], row["channel_id"], row["message_id"]), reverse=True
        )
        return tuple(
            PendingImprovement(
                PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])), row["work"]
            )
            for row in newest_first
        )

    async def put_back(
        self,
        improvements: Sequence[PendingImprovement],
        *,
        pause: timedelta,
        was_tried: bool = False,
        is_set_aside: bool = False,
    ) -> None:
        """Returns entries; they are leased again after the pause. A failed try uses up an attempt and triples
        the next pause.

        History waits for them, unless they are set aside.
        """
        if not improvements:
            return
        async with self._transactions.begin() as connection:
            await connection.execute(
                PUT_BACK, *_columns(improvements), pause, was_tried, is_set_aside, HOLDS_UP
            )

    async def finish(
        self, finished_improvements: Sequence[PendingImprovement], notices: Sequence[QueuedNotice] = ()
    ) -> None:
        """Deletes finished entries and writes the notices about their results."""
        async with self._transactions.begin() as connection:
            if notices:
                await write_notices(connection, notices)
            await connection.execute(DONE, *_columns(finished_improvements))

    async def waiting(self) -> int:
        async with self._transactions.begin() as connection:
            return int(
                await connection.fetchval(
                    "SELECT count(*) FROM provider_wanted WHERE attempts < $1", MAX_ATTEMPTS
                )
            )


def _columns(improvements: Sequence[PendingImprovement]) -> tuple[list[int], list[int], list[str]]:
    return (
        [improvement.post_id.channel_id for improvement in improvements],
        [improvement.post_id.message_id for improvement in improvements],
        [improvement.work for improvement in improvements],
    )


_GIVEN = "unnest($1::bigint[], $2::bigint[], $3::text[]) AS d (channel_id, message_id, work)"
_SAME = "(w.channel_id, w.message_id, w.work) = (d.channel_id, d.message_id, d.work)"

ADD = f"""
INSERT INTO provider_wanted (channel_id, message_id, work, posted_at)
SELECT d.*, coalesce(p.posted_at, now()) FROM {_GIVEN}
LEFT JOIN LATERAL (SELECT posted_at FROM posts WHERE channel_id = d.channel_id AND message_id = d.message_id
    LIMIT 1) p ON true
ON CONFLICT DO NOTHING
"""

# A post's lane follows from its publication time (`domain.lane`), so newest first means news first. The NOT
# EXISTS keeps history from overtaking news that are leased or that wait for an unavailable provider.
TAKE = f"""
WITH next AS (
    SELECT channel_id, message_id, work FROM provider_wanted
    WHERE work = $1 AND taken_until < now() AND attempts < $4
        AND (posted_at > now() - $5::interval OR NOT EXISTS (
        SELECT 1 FROM provider_wanted n WHERE n.work = $1 AND n.posted_at > now() - $5::interval
            AND n.attempts < $4 AND NOT n.is_set_aside))
    ORDER BY posted_at DESC LIMIT $2 FOR UPDATE SKIP LOCKED
)
UPDATE provider_wanted w SET taken_until = now() + $3, attempts = w.attempts + 1, is_set_aside = false
FROM next d WHERE {_SAME}
RETURNING w.channel_id, w.message_id, w.work, w.posted_at
"""

PUT_BACK = f"""
-- arrays, one element per entry: $1 channel, $2 message, $3 work; $4 pause, $5 was tried, $6 is set aside, $7
-- attempts that hold up history
UPDATE provider_wanted w SET is_set_aside = $6 OR w.attempts >= $7,
    attempts = CASE WHEN $5 THEN w.attempts ELSE greatest(0, w.attempts - 1) END,
    taken_until = now() + $4::interval * CASE WHEN $5 THEN 3 ^ w.attempts ELSE 1 END
FROM {_GIVEN} WHERE {_SAME}
"""

DONE = f"DELETE FROM provider_wanted w USING {_GIVEN} WHERE {_SAME}"
