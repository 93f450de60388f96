"""Marks of people on stories, and the alerts of those who follow one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import asyncpg

from telegram_assistant.domain.digests.interests import StoryFeedback
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId, UserId
from telegram_assistant.domain.stories.marks import Mark, StoryMark
from telegram_assistant.domain.stories.visible import VisiblePost
from telegram_assistant.stores.postgres.database import PersonTransactions, SystemTransactions
from telegram_assistant.stores.postgres.digests.interests import fetch_feedback

MAX_MARKS = 1000
"""Older marks than that no longer count: such stories have left every list."""
MAX_CHANGED = 500
"""Followed stories that one run looks at; the next run looks at the others."""


class PersonStoryMarks:
    """A store of one person in one tenant."""

    def __init__(self, transactions: PersonTransactions) -> None:
        self._transactions = transactions

    async def newest(
        self, *, mark: Mark | None = None, limit: int = MAX_MARKS, before: datetime | None = None
    ) -> tuple[StoryMark, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(NEWEST, limit, mark, before or datetime.max.replace(tzinfo=UTC))
        return tuple(_story_mark(row) for row in rows)

    async def with_feedback(self) -> tuple[tuple[StoryMark, ...], tuple[StoryFeedback, ...]]:
        """The marks, and what the person said about stories; each the newest first."""
        async with self._transactions.begin() as connection:
            marks = await connection.fetch(NEWEST, MAX_MARKS, None, datetime.max.replace(tzinfo=UTC))
            feedback = await fetch_feedback(connection)
        return tuple(map(_story_mark, marks)), feedback

    async def put(self, posts: Sequence[PostId], mark: Mark, *, headline: str) -> None:
        """Marks the story of these posts, by the first of them. Being done with it counts from now on;
        other marks stay as they were.
        """
        columns = [post.channel_id for post in posts], [post.message_id for post in posts]
        async with self._transactions.begin() as connection:
            if await connection.fetch(REPEAT, *columns, mark):
                return
            await connection.execute(
                "INSERT INTO story_marks (channel_id, message_id, mark, headline) VALUES ($1, $2, $3, $4) "
                "ON CONFLICT DO NOTHING",
                posts[0].channel_id,
                posts[0].message_id,
                mark,
                headline,
            )

    async def remove(self, posts: Sequence[PostId], mark: Mark) -> bool:
        """Returns False if the story of these posts has no such mark."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                f"DELETE FROM story_marks m WHERE {OF_POSTS} RETURNING 1",
                [post.channel_id for post in posts],
                [post.message_id for post in posts],
                mark,
            )
        return bool(rows)


OF_POSTS = (
    "(m.channel_id, m.message_id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[])) AND m.mark = $3"
)
REPEAT = f"""
UPDATE story_marks m SET marked_at = CASE WHEN m.mark = 'done' THEN now() ELSE m.marked_at END
WHERE {OF_POSTS} RETURNING 1
"""
NEWEST = """
SELECT channel_id, message_id, mark, headline, marked_at FROM story_marks
WHERE ($2::text IS NULL OR mark = $2) AND marked_at < $3 ORDER BY marked_at DESC LIMIT $1
"""
"""$1 limit, $2 mark, $3 marked before"""


@dataclass(frozen=True, slots=True)
class FollowedStory:
    """A story that a person follows, by one of its posts, and when posts last joined or left it."""

    tenant_id: TenantId
    user_id: UserId
    post_id: PostId
    followed_at: datetime
    changed_at: datetime


class StoryFollowers:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def list_changed(self, tenant_id: TenantId | None = None) -> tuple[FollowedStory, ...]:
        """Stories that members of the tenant, or of all, follow and that have changed since they were last
        looked at.
        """
        async with self._transactions.begin() as connection:
            rows = (
                await connection.fetch(CHANGED.format(of_tenant=""))
                if tenant_id is None
                else await connection.fetch(CHANGED.format(of_tenant="m.tenant_id = $1 AND "), tenant_id)
            )
        return tuple(
            FollowedStory(
                TenantId(row["tenant_id"]),
                UserId(row["user_id"]),
                PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])),
                row["marked_at"],
                row["changed_at"],
            )
            for row in rows
        )

    async def raise_alerts(self, story: FollowedStory, posts: Sequence[VisiblePost]) -> int:
        """Raises an alert for each of these posts, with its deliveries, and notes that the story was looked
        at. Returns how many are new: repeating it raises none twice.
        """
        async with self._transactions.begin() as connection:
            alert_count: int = await connection.fetchval(
                RAISE,
                story.tenant_id,
                story.user_id,
                [post.channel_id for post in posts],
                [post.post_id.message_id for post in posts],
                [post.posted_at for post in posts],
                [_subject_of(post) for post in posts],
            )
            await connection.execute(
                "UPDATE story_marks SET looked_at = $5 WHERE tenant_id = $1 AND user_id = $2 "
                "AND channel_id = $3 AND message_id = $4 AND mark = 'followed'",
                story.tenant_id,
                story.user_id,
                story.post_id.channel_id,
                story.post_id.message_id,
                story.changed_at,
            )
        return alert_count


CHANGED = f"""
SELECT m.tenant_id, m.user_id, m.channel_id, m.message_id, m.marked_at, t.changed_at
FROM story_marks m JOIN memberships USING (tenant_id, user_id)
JOIN story_posts s ON s.channel_id = m.channel_id AND s.message_id = m.message_id
JOIN stories t ON t.story_id = s.story_id
WHERE {{of_tenant}}m.mark = 'followed' AND t.changed_at IS DISTINCT FROM m.looked_at
ORDER BY t.changed_at, m.tenant_id, m.user_id LIMIT {MAX_CHANGED}
"""
RAISE = """
WITH raised AS (
    INSERT INTO alerts (tenant_id, user_id, kind, subject, channel_id, message, happened_at)
    SELECT $1, $2, 'followed', p.subject, p.channel_id, p.message_id, p.posted_at
    FROM unnest($3::bigint[], $4::bigint[], $5::timestamptz[], $6::text[])
        AS p(channel_id, message_id, posted_at, subject)
    ON CONFLICT DO NOTHING RETURNING tenant_id, user_id, alert_id, severity
),
queued AS (
    INSERT INTO deliveries (tenant_id, receiver_id, alert_id, user_id, due_at)
    SELECT a.tenant_id, r.receiver_id, a.alert_id, a.user_id,
        CASE WHEN a.severity = 'critical' THEN now() ELSE coalesce(quiet.ends_at, now()) END
    FROM raised a JOIN digest_plans p USING (tenant_id, user_id)
    JOIN receivers r ON r.tenant_id = a.tenant_id AND r.receiver_id = ANY (p.receivers)
        AND r.confirmed_at IS NOT NULL
    CROSS JOIN LATERAL (
        SELECT max(quiet_until(now(), w.quiet_from, w.quiet_until, w.zone)) AS ends_at FROM watches w
        WHERE w.tenant_id = a.tenant_id AND w.paused_at IS NULL AND w.quiet_from IS NOT NULL
            AND r.receiver_id = ANY (w.receivers)
    ) quiet
    ORDER BY a.tenant_id, r.receiver_id, a.alert_id
)
SELECT count(*) FROM raised
"""
"""An alert goes where the person's digests go. No watch says when it is quiet, so the quiet hours of all
watches that reach the same receiver hold.

$1 tenant, $2 person; arrays, one element per post: $3 channel, $4 message, $5 time, $6 subject"""


def _subject_of(post: VisiblePost) -> str:
    """The items of an album are one subject, whichever of them has the text."""
    return f"album:{post.channel_id}/{post.grouped_id}" if post.grouped_id else f"post:{post.post_id}"


def _story_mark(row: asyncpg.Record) -> StoryMark:
    return StoryMark(
        PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])),
        Mark(row["mark"]),
        row["headline"],
        row["marked_at"],
    )
