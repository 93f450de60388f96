"""The outbox: post revisions that have not passed the pipeline yet."""

from collections.abc import Sequence

import asyncpg

from telegram_assistant.domain.branch import ONLY_BRANCH, Branch
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import PostGrouped
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.stores.postgres.database import SystemTransactions
from telegram_assistant.stores.postgres.feed.news import count_arrivals
from telegram_assistant.stores.postgres.pipeline.notices import AGAIN_ALL as NOTICES_AGAIN_ALL
from telegram_assistant.stores.postgres.pipeline.notices import AGAIN_RECENT as NOTICES_AGAIN_RECENT
from telegram_assistant.stores.postgres.pipeline.notices import QueuedNotice, write_notices
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.streams.relay import Announcement, Publish

_MARK = """
UPDATE outbox SET announced_at = clock_timestamp(), attempts = attempts + 1
WHERE ctid = ANY (ARRAY({chosen}))
RETURNING channel_id, message_id, revision, created_at
"""

# Never select by `id > last`: transactions do not commit in the order of their row numbers.
ANNOUNCE_LIVE = _MARK.format(
    chosen="""
    SELECT ctid FROM outbox WHERE announced_at IS NULL AND lane = 'live'
    ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED"""
)

# Every tenant that requested history gets an equal share, however much the others requested.
ANNOUNCE_BULK = _MARK.format(
    chosen="""
    WITH RECURSIVE askers AS (
        (SELECT requested_by FROM outbox WHERE announced_at IS NULL AND lane = 'bulk'
            ORDER BY requested_by LIMIT 1)
        UNION ALL
        SELECT (SELECT o.requested_by FROM outbox o
            WHERE o.announced_at IS NULL AND o.lane = 'bulk' AND o.requested_by > a.requested_by
                ORDER BY o.requested_by LIMIT 1)
        FROM askers a WHERE a.requested_by IS NOT NULL
    )
    SELECT o.ctid FROM askers a CROSS JOIN LATERAL (
        SELECT ctid FROM outbox WHERE announced_at IS NULL AND lane = 'bulk' AND requested_by = a.requested_by
        ORDER BY created_at LIMIT greatest(1,
            $1::bigint / (SELECT count(*) FROM askers WHERE requested_by IS NOT NULL)) FOR UPDATE SKIP LOCKED
    ) o WHERE a.requested_by IS NOT NULL"""
)

_FINISHED = "unnest($1::bigint[], $2::bigint[], $3::int[]) AS f(channel_id, message_id, revision)"
_SAME = "o.channel_id = f.channel_id AND o.message_id = f.message_id AND o.revision <= f.revision"
# $4 the bit of the branch that has ended, $5 the bits of all branches
DONE_AT_LAST = (
    f"DELETE FROM outbox o USING {_FINISHED} WHERE {_SAME} AND (o.ended_branches | $4::int) & $5::int = $5"
)
DONE = f"""
UPDATE outbox o SET ended_branches = o.ended_branches | $4::int, progressed_at = clock_timestamp()
FROM {_FINISHED} WHERE {_SAME} AND o.ended_branches & $4::int = 0
RETURNING o.ended_branches & $5::int = $5 AS is_last
"""

RECENT = """
UPDATE outbox SET announced_at = NULL WHERE announced_at > (SELECT max(announced_at)
    FROM outbox) - interval '10 minutes'
"""

# A concurrent relay may already have published rows that Redis has lost since, and marks them only when it
# commits: wait for it.
ALONE = "LOCK TABLE outbox IN SHARE ROW EXCLUSIVE MODE"

ANNOUNCE_LATE_AGAIN = """
UPDATE outbox SET announced_at = NULL
WHERE ctid = ANY (ARRAY(
    SELECT o.ctid FROM outbox o
    WHERE announced_at < now() - interval '1 hour' AND created_at < now() - interval '1 hour'
        AND attempts <= 3
      AND NOT EXISTS (SELECT 1 FROM dead_letters d
          WHERE d.channel_id = o.channel_id AND d.message_id = o.message_id)
    LIMIT 1000))
"""

# $1 the branch that must have ended, $2 the one that holds the post, $3 the one that need not wait for it, $4
# seconds, $5 limit. A row that no branch has dated is of the release before `progressed_at`: there the
# waiting stage read what the holding one reads, so nothing else will call it.
RELEASE_HELD = """
UPDATE outbox SET released_at = clock_timestamp()
WHERE ctid = ANY (ARRAY(
    SELECT o.ctid FROM outbox o
    WHERE o.announced_at < now() - make_interval(secs => $4) AND o.released_at IS NULL
      AND o.ended_branches & ($1::int | $3::int) = $1
          AND (o.ended_branches & $2::int = 0 OR o.progressed_at IS NULL)
      AND coalesce(o.progressed_at, o.announced_at) < now() - make_interval(secs => $4)
    LIMIT $5 FOR UPDATE SKIP LOCKED))
RETURNING channel_id, message_id, revision, lane, created_at
"""

UNFINISHED_BULK = """
SELECT count(*) FROM outbox o WHERE announced_at IS NOT NULL AND lane = 'bulk'
AND NOT EXISTS (SELECT 1 FROM dead_letters d WHERE d.channel_id = o.channel_id
    AND d.message_id = o.message_id)
"""


class Outbox:
    """A system store."""

    def __init__(self, transactions: SystemTransactions, wakeup: Wakeup) -> None:
        self._transactions = transactions
        self._wakeup = wakeup

    async def announce(self, lane: Lane, publish: Publish, *, limit: int) -> int:
        """Marks some rows, publishes them, then commits: a crash in between announces them again, and never
        loses one.

        Apart from `Notices.announce`, no other transaction is held across a call to another server. It locks
        only these rows, and other relays skip them.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(ANNOUNCE_LIVE if lane is Lane.LIVE else ANNOUNCE_BULK, limit)
            if rows:
                await publish(
                    [
                        Announcement(
                            PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])),
                            row["revision"],
                            row["created_at"],
                        )
                        for row in rows
                    ]
                )
            if new_in := {row["channel_id"] for row in rows if row["revision"] == 1 and lane is Lane.LIVE}:
                await count_arrivals(connection, new_in)
        return len(rows)

    async def mark_finished(
        self, finished: Sequence[tuple[PostId, int]], *, branch: Branch = ONLY_BRANCH
    ) -> None:
        """Records that these revisions, and older ones of the same posts, have passed the end of a branch.
        After the last branch the row goes.

        Two branches may end at the same moment: the second transaction sees what the first has recorded.
        """
        columns = (
            [post_id.channel_id for post_id, _ in finished],
            [post_id.message_id for post_id, _ in finished],
            [revision for _, revision in finished],
        )
        async with self._transactions.begin() as connection:
            await connection.execute(DONE_AT_LAST, *columns, branch.bit, branch.all_bits)
            finished_rows = await connection.fetch(DONE, *columns, branch.bit, branch.all_bits)
            if any(row["is_last"] for row in finished_rows):
                await connection.execute(DONE_AT_LAST, *columns, branch.bit, branch.all_bits)

    async def release_held(
        self, *, ended_branch: Branch, held_by: Branch, waiting: Branch, held_seconds: float, limit: int
    ) -> int:
        """Announces as grouped, each once, the posts that one branch has held for so long since another has
        ended. Returns how many.

        A post that the branch has made a dead letter counts as held.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                RELEASE_HELD, ended_branch.bit, held_by.bit, waiting.bit, held_seconds, limit
            )
            await write_notices(connection, [_grouped_notice_of(row) for row in rows])
        return len(rows)

    async def count_unfinished_bulk(self) -> int:
        """Bulk posts that are announced and not finished, without those in a dead letter."""
        async with self._transactions.begin() as connection:
            return int(await connection.fetchval(UNFINISHED_BULK))

    async def waiting(self) -> int:
        """Rows of both lanes that have not passed the pipeline."""
        async with self._transactions.begin() as connection:
            return int(await connection.fetchval("SELECT count(*) FROM outbox"))

    async def load_known_epoch(self) -> tuple[str | None, str | None]:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT epoch, run_id FROM stream_epoch")
        return (row["epoch"], row["run_id"]) if row else (None, None)

    async def load_server_start(self) -> str:
        async with self._transactions.begin() as connection:
            return str(
                await connection.fetchval("SELECT extract(epoch FROM pg_postmaster_start_time())::text")
            )

    async def remember_epoch(self, epoch: str, run_id: str) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                INSERT INTO stream_epoch (epoch, run_id) VALUES ($1, $2)
                ON CONFLICT (only_row) DO UPDATE SET epoch = excluded.epoch, run_id = excluded.run_id
                """,
                epoch,
                run_id,
            )

    async def reannounce_all(self) -> int:
        """Announces everything again, notices included, after Redis has lost its data.

        Returns how many rows.
        """
        return await self._again(
            ALONE, "UPDATE outbox SET announced_at = NULL WHERE announced_at IS NOT NULL", NOTICES_AGAIN_ALL
        )

    async def reannounce_recent(self) -> int:
        """Announces again the rows of the ten minutes before the last announcement,
        however long ago that was.
        """
        return await self._again(ALONE, RECENT, NOTICES_AGAIN_RECENT)

    async def reannounce_late(self) -> int:
        return await self._again(ANNOUNCE_LATE_AGAIN)

    async def _again(self, *queries: str) -> int:
        async with self._transactions.begin() as connection:
            update_statuses = [await connection.execute(query) for query in queries]
        return sum(
            int(status.rpartition(" ")[2]) for status in update_statuses if status.startswith("UPDATE")
        )

    async def wait_for_rows(self, seconds: float) -> None:
        await self._wakeup.wait_for_wakeup(seconds)


def _grouped_notice_of(row: asyncpg.Record) -> QueuedNotice:
    post_id, revision = PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])), row["revision"]
    event = PostGrouped.about(
        post_id, revision, occurred_at=row["created_at"], trace_id=trace_of(post_id, revision)
    )
    return QueuedNotice(event, Lane(row["lane"]))
