"""Posts and channels that a person saved or muted, and their last visits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.stores.postgres.database import PersonTransactions

SAME_VISIT = timedelta(minutes=30)
"""A person who comes back within this time has not been away."""


@dataclass(frozen=True, slots=True)
class MutedChannel:
    """A channel that the person does not want in the feed."""

    channel_id: ChannelId
    title: str


@dataclass(frozen=True, slots=True)
class Mutes:
    """Words and channels that the person does not want in the feed,
    and stories that they do not want to see again.
    """

    words: tuple[str, ...] = ()
    channels: tuple[MutedChannel, ...] = ()
    stories: frozenset[PostId] = frozenset()
    """A post of each story."""


@dataclass(frozen=True, slots=True)
class ReadingVisit:
    """The person's visit. `before_at` is the end of the one before; None on the first."""

    before_at: datetime | None
    floor_at: datetime
    """The time from which reading the oldest posts first goes on."""
    mutes: Mutes


MUTED = """
ARRAY(SELECT word FROM mutes WHERE word <> '' ORDER BY word) AS words,
ARRAY(SELECT ROW(c.channel_id, c.title) FROM mutes m JOIN channels c ON c.channel_id = m.channel_id
    ORDER BY c.title) AS channels,
ARRAY(SELECT ROW(channel_id, message_id) FROM feedback WHERE feedback = 'muted') AS stories
"""


class PersonChoices:
    """A store of one person in one tenant."""

    def __init__(self, transactions: PersonTransactions) -> None:
        self._transactions = transactions

    async def save(self, post_ids: Sequence[PostId]) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                """
                INSERT INTO saved_posts (channel_id, message_id) SELECT p.*
                FROM unnest($1::bigint[], $2::bigint[]) AS p(channel_id, message_id)
                WHERE EXISTS (SELECT 1 FROM posts o
                    WHERE o.channel_id = p.channel_id AND o.message_id = p.message_id)
                ON CONFLICT DO NOTHING
                """,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )

    async def unsave(self, post_ids: Sequence[PostId]) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "DELETE FROM saved_posts WHERE (channel_id, message_id) IN (SELECT * "
                "FROM unnest($1::bigint[], $2::bigint[]))",
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )

    async def mutes(self) -> Mutes:
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(f"SELECT {MUTED}")
        assert row is not None  # it has no FROM
        return _mutes(row)

    async def mute_word(self, word: str) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute("INSERT INTO mutes (word) VALUES ($1) ON CONFLICT DO NOTHING", word)

    async def unmute_word(self, word: str) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute("DELETE FROM mutes WHERE word = $1 AND word <> ''", word)

    async def mute_channel(self, channel_id: ChannelId) -> bool:
        """Returns False if the tenant does not follow the channel."""
        async with self._transactions.begin() as connection:
            return bool(
                await connection.fetchval(
                    """
                    WITH followed AS (SELECT channel_id FROM subscriptions WHERE channel_id = $1 AND active),
                    muted AS (INSERT INTO mutes (channel_id) SELECT channel_id
                        FROM followed ON CONFLICT DO NOTHING)
                    SELECT EXISTS (SELECT 1 FROM followed)
                    """,
                    channel_id,
                )
            )

    async def unmute_channel(self, channel_id: ChannelId) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "DELETE FROM mutes WHERE channel_id = $1 AND channel_id <> 0", channel_id
            )

    async def visit(self, now: datetime) -> ReadingVisit:
        """Records that the person is here, and says when they were here before."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                f"""
                INSERT INTO visits (began_at, seen_at) VALUES ($1, $1)
                ON CONFLICT (tenant_id, user_id) DO UPDATE SET
                    before_at = CASE WHEN visits.seen_at < $1 - $2::interval THEN visits.seen_at
                        ELSE visits.before_at END,
                    began_at = CASE WHEN visits.seen_at < $1 - $2::interval THEN $1 ELSE visits.began_at END,
                    seen_at = greatest(visits.seen_at, $1)
                RETURNING before_at, floor_at, {MUTED}
                """,
                now,
                SAME_VISIT,
            )
        assert row is not None  # inserted or updated just above
        return ReadingVisit(row["before_at"], row["floor_at"], _mutes(row))

    async def last_visit(self, now: datetime) -> ReadingVisit:
        """When the person was here before a visit that would begin now; records nothing."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow(
                f"""
                SELECT CASE WHEN v.seen_at < $1::timestamptz - $2::interval THEN v.seen_at
                        ELSE v.before_at END AS before_at,
                    coalesce(v.floor_at, $1) AS floor_at, {MUTED}
                FROM (SELECT) nothing LEFT JOIN visits v ON true
                """,
                now,
                SAME_VISIT,
            )
        assert row is not None  # the left side has a row
        return ReadingVisit(row["before_at"], row["floor_at"], _mutes(row))

    async def raise_floor(self, floor_at: datetime) -> None:
        """Moves the place where reading the oldest posts first goes on; never back."""
        async with self._transactions.begin() as connection:
            await connection.execute("UPDATE visits SET floor_at = $1 WHERE floor_at < $1", floor_at)


def _mutes(row: asyncpg.Record) -> Mutes:
    return Mutes(
        tuple(row["words"]),
        tuple(MutedChannel(ChannelId(channel_id), title) for channel_id, title in row["channels"]),
        frozenset(
            PostId(ChannelId(channel_id), MessageId(message_id)) for channel_id, message_id in row["stories"]
        ),
    )
