"""Topics that interest people, and their feedback."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import asyncpg

from telegram_assistant.domain.digests.interests import (
    ABOUT_STORIES,
    HALF_LIFE,
    MAX_INTERESTS,
    MAX_WEIGHT,
    MIN_LEARNT,
    Feedback,
    Interest,
    InterestSource,
    StoryFeedback,
)
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId, UserId
from telegram_assistant.domain.operations.due_work import MAX_ROWS
from telegram_assistant.stores.postgres.database import Connection, PersonTransactions, SystemTransactions

SHOWN_REASONS = 3
MAX_FEEDBACK = 1000
"""Older feedback no longer counts: its stories have left every list."""


class PersonInterests:
    """A store of one person in one tenant."""

    def __init__(self, transactions: PersonTransactions) -> None:
        self._transactions = transactions

    async def all(self) -> tuple[Interest, ...]:
        """The weightiest first, each with the newest reasons."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                f"""
                SELECT i.topic, i.weight, i.source, i.why, i.changed_at, ARRAY(
                    SELECT ROW({FEEDBACK_COLUMNS}) FROM feedback f
                    WHERE i.source = 'learnt' AND i.topic = ANY (f.topics)
                    ORDER BY f.said_at DESC LIMIT {SHOWN_REASONS}) AS reasons
                FROM interests i ORDER BY i.weight DESC, i.topic
                """
            )
        return tuple(_interest(row) for row in rows)

    async def list_feedback(self) -> tuple[StoryFeedback, ...]:
        """The person's feedback about stories, the newest first."""
        async with self._transactions.begin() as connection:
            return await fetch_feedback(connection)

    async def put(self, topic: str, weight: float) -> bool:
        """Writes down a topic in the person's own words.

        Returns False if there are as many as a person may have.
        """
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                f"""
                INSERT INTO interests (topic, weight, source, why)
                SELECT $1, $2, 'own', ''
                WHERE (SELECT count(*) FROM interests) < {MAX_INTERESTS}
                    OR EXISTS (SELECT 1 FROM interests WHERE topic = $1)
                ON CONFLICT (tenant_id, user_id, topic) DO UPDATE
                    SET weight = excluded.weight, source = 'own', changed_at = now()
                """,
                topic,
                weight,
            )
        return status == "INSERT 0 1"

    async def say(
        self, post_ids: Sequence[PostId], feedback: Feedback, *, headline: str, topics: Sequence[str]
    ) -> tuple[str, ...]:
        """Saves the person's feedback about the story of these posts, and learns the topics. Repeated
        feedback counts once.

        Returns the topics that were learnt. A topic that a person wrote down keeps its weight.
        """
        async with self._transactions.begin() as connection:
            if earlier_feedback := await connection.fetchrow(
                f"SELECT f.topics {OF_POSTS}", *_columns_of(post_ids, feedback)
            ):
                return tuple(earlier_feedback["topics"])
            if feedback.opposite:
                await _take_back(connection, post_ids, feedback.opposite)
            learnt = [await connection.fetchval(LEARN, topic, feedback.step, headline) for topic in topics]
            await connection.execute(
                "INSERT INTO feedback (channel_id, message_id, feedback, headline, topics) "
                "VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
                post_ids[0].channel_id,
                post_ids[0].message_id,
                feedback,
                headline,
                learnt_topics := [topic for topic in learnt if topic is not None],
            )
        return tuple(learnt_topics)

    async def take_back(self, post_ids: Sequence[PostId], feedback: Feedback) -> bool:
        """Forgets what the person said about the story of these posts, and what was learnt from it.

        Returns False if they did not say it.
        """
        async with self._transactions.begin() as connection:
            return await _take_back(connection, post_ids, feedback)

    async def remove(self, topic: str) -> bool:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE feedback SET topics = array_remove(topics, $1) WHERE $1 = ANY (topics)", topic
            )
            return await connection.execute("DELETE FROM interests WHERE topic = $1", topic) == "DELETE 1"

    async def reset(self) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute("DELETE FROM interests")
            await connection.execute("DELETE FROM feedback")


async def fetch_feedback(connection: Connection) -> tuple[StoryFeedback, ...]:
    rows = await connection.fetch(
        f"SELECT {FEEDBACK_COLUMNS} FROM feedback f WHERE f.feedback = ANY ($1) "
        f"ORDER BY f.said_at DESC LIMIT {MAX_FEEDBACK}",
        list(ABOUT_STORIES),
    )
    return tuple(_feedback_of(row) for row in rows)


LEARN = f"""
INSERT INTO interests AS i (topic, weight, source, why)
SELECT $1, $2, 'learnt', $3
WHERE (SELECT count(*) FROM interests) < {MAX_INTERESTS} OR EXISTS (SELECT 1 FROM interests WHERE topic = $1)
ON CONFLICT (tenant_id, user_id, topic) DO UPDATE
SET weight = greatest(-{MAX_WEIGHT}, least({MAX_WEIGHT}, i.weight + excluded.weight)), why = excluded.why,
    changed_at = now()
WHERE i.source = 'learnt'
RETURNING i.topic
"""
"""$1 topic, $2 step, $3 the headline."""
FEEDBACK_COLUMNS = "f.channel_id, f.message_id, f.feedback, f.headline, f.topics, f.said_at"
OF_POSTS = (
    "FROM feedback f WHERE (f.channel_id, f.message_id) IN (SELECT * "
    "FROM unnest($1::bigint[], $2::bigint[])) AND f.feedback = $3"
)
UNLEARN = f"""
UPDATE interests i
SET weight = greatest(-{MAX_WEIGHT}, least({MAX_WEIGHT},
    i.weight - $2 * 0.5 ^ (extract(epoch FROM now() - $3::timestamptz) / $4))),
    why = coalesce((SELECT f.headline FROM feedback f WHERE i.topic = ANY (f.topics)
        ORDER BY f.said_at DESC LIMIT 1), i.why)
WHERE i.topic = ANY ($1) AND i.source = 'learnt'
"""
"""$1 topics, $2 step, $3 when it was learnt, $4 the half-life in seconds:
what has faded since is not subtracted.
"""


async def _take_back(connection: Connection, post_ids: Sequence[PostId], feedback: Feedback) -> bool:
    rows = await connection.fetch(
        f"DELETE {OF_POSTS} RETURNING f.topics, f.said_at", *_columns_of(post_ids, feedback)
    )
    for row in rows:
        await connection.execute(
            UNLEARN, row["topics"], feedback.step, row["said_at"], HALF_LIFE.total_seconds()
        )
        await connection.execute(
            "DELETE FROM interests WHERE topic = ANY ($1) AND source = 'learnt' AND abs(weight) < $2",
            row["topics"],
            MIN_LEARNT,
        )
    return bool(rows)


def _columns_of(post_ids: Sequence[PostId], feedback: Feedback) -> tuple[list[int], list[int], str]:
    return (
        [post_id.channel_id for post_id in post_ids],
        [post_id.message_id for post_id in post_ids],
        feedback,
    )


@dataclass(frozen=True, slots=True)
class SavedText:
    """The text of a post that a person saved."""

    tenant_id: TenantId
    user_id: UserId
    post_id: PostId
    text: str


class InterestUpkeep:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def newly_saved(self, tenant_id: TenantId, *, limit: int = MAX_ROWS) -> tuple[SavedText, ...]:
        """So many posts that people of the tenant saved since the last call; each is returned once."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                """
                WITH chosen AS (
                    SELECT tenant_id, user_id, channel_id, message_id FROM saved_posts
                    WHERE tenant_id = $1 AND learnt_at IS NULL LIMIT $2
                )
                UPDATE saved_posts s SET learnt_at = now()
                FROM chosen c JOIN posts p ON p.channel_id = c.channel_id AND p.message_id = c.message_id
                WHERE s.tenant_id = c.tenant_id AND s.user_id = c.user_id
                    AND p.channel_id = s.channel_id AND p.message_id = s.message_id
                RETURNING s.tenant_id, s.user_id, s.channel_id, s.message_id, p.text
                """,
                tenant_id,
                limit,
            )
        return tuple(
            SavedText(TenantId(row["tenant_id"]), UserId(row["user_id"]), _post_id(row), row["text"])
            for row in rows
        )

    async def fade(self, tenant_id: TenantId, *, period: timedelta) -> int:
        """Lets weights that were learnt of the tenant's people fade as they do within a period, and forgets
        the faded.

        Returns how many are left.
        """
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE interests SET weight = weight * $2 WHERE tenant_id = $1 AND source = 'learnt'",
                tenant_id,
                0.5 ** (period / HALF_LIFE),
            )
            await connection.execute(
                "DELETE FROM interests WHERE tenant_id = $1 AND source = 'learnt' AND abs(weight) < $2",
                tenant_id,
                MIN_LEARNT,
            )
            return int(
                await connection.fetchval("SELECT count(*) FROM interests WHERE tenant_id = $1", tenant_id)
            )


def _interest(row: asyncpg.Record) -> Interest:
    reasons = tuple(_feedback_of(reason) for reason in row["reasons"])
    return Interest(
        row["topic"], row["weight"], InterestSource(row["source"]), row["why"], row["changed_at"], reasons
    )


def _feedback_of(row: asyncpg.Record) -> StoryFeedback:
    """Of the columns FEEDBACK_COLUMNS."""
    channel_id, message_id, feedback, headline, topics, said_at = row
    return StoryFeedback(
        PostId(ChannelId(channel_id), MessageId(message_id)),
        Feedback(feedback),
        headline,
        tuple(topics),
        said_at,
    )


def _post_id(row: asyncpg.Record) -> PostId:
    return PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))
