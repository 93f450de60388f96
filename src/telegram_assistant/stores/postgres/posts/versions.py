"""Differences between the versions of a post: computed once by the pipeline,
stored beside the earlier version.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.differences import Difference
from telegram_assistant.domain.posts.meaning import MeaningChange, MeaningKind, weight_of
from telegram_assistant.stores.postgres.database import SystemTransactions


@dataclass(frozen=True, slots=True)
class ReplacedText:
    """An earlier text of a post, and the text that followed it."""

    post_id: PostId
    revision: int
    before: str
    after: str


MAX_VERSIONS = 500


def dump_meaning(changes: tuple[MeaningChange, ...]) -> str:
    return json.dumps([[change.kind, change.before, change.after] for change in changes])


def load_meaning(stored_text: str | None) -> tuple[MeaningChange, ...] | None:
    return (
        None
        if stored_text is None
        else tuple(
            MeaningChange(MeaningKind(kind), before, after) for kind, before, after in json.loads(stored_text)
        )
    )


# A revision that changed no text (an account read a post that a preview had shown) leaves no version, so the
# next existing version holds the text that followed.
UNCOMPARED = f"""
SELECT v.channel_id, v.message_id, v.revision, v.text AS before, coalesce(later.text, p.text) AS after
FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
JOIN post_versions v ON v.channel_id = w.channel_id AND v.message_id = w.message_id AND v.difference IS NULL
JOIN posts p ON p.channel_id = w.channel_id AND p.message_id = w.message_id
LEFT JOIN LATERAL (
    SELECT text FROM post_versions WHERE channel_id = w.channel_id AND message_id = w.message_id
        AND revision > v.revision
    ORDER BY revision LIMIT 1) later ON true
ORDER BY v.revision DESC LIMIT {MAX_VERSIONS}
"""

KEEP = """
UPDATE post_versions SET difference = $4::int[], meaning = $5::text::jsonb, weight = $6
WHERE channel_id = $1 AND message_id = $2 AND revision = $3
"""


class Versions:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def list_uncompared(self, post_ids: Sequence[PostId]) -> tuple[ReplacedText, ...]:
        """Earlier versions of these posts without a stored difference, the newest first,
        at most MAX_VERSIONS.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                UNCOMPARED,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
            )
        return tuple(
            ReplacedText(
                PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])),
                row["revision"],
                row["before"],
                row["after"],
            )
            for row in rows
        )

    async def keep(
        self, compared: Sequence[tuple[ReplacedText, Difference, tuple[MeaningChange, ...]]]
    ) -> None:
        """Stores what changed. Both texts of each are final, so repeating the call changes nothing."""
        rows = sorted(
            (
                replaced_text.post_id.channel_id,
                replaced_text.post_id.message_id,
                replaced_text.revision,
                list(difference),
                dump_meaning(meaning),
                weight_of(meaning),
            )
            for replaced_text, difference, meaning in compared
        )
        async with self._transactions.begin() as connection:
            await connection.executemany(KEEP, rows)
