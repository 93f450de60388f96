"""The installation's vocabulary of tags: packaged, proposed by posts, and retired ones."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.operations.due_work import MAX_ROWS
from telegram_assistant.domain.understanding.vocabulary import Support, Vocabulary, is_established
from telegram_assistant.stores.postgres.database import Connection, SystemTransactions

KEPT_SECONDS = 60.0


class TagState(StrEnum):
    """The state of a tag."""

    ACTIVE = "active"
    PROPOSED = "proposed"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A tag that the vocabulary lacks, proposed by a post of some channel."""

    language: str
    tag: str
    topic: str
    channel_id: ChannelId
    text: bytes
    """Hash of the text: a text copied to many channels counts once."""


@dataclass(frozen=True, slots=True)
class TagLine:
    """A tag of the installation."""

    language: str
    tag: str
    topic: str
    state: TagState
    posts: int
    channels: int


class Vocabularies:
    """A system store, seeded with the packaged vocabulary, which may have grown since the last start."""

    def __init__(self, transactions: SystemTransactions, *, kept_seconds: float = KEPT_SECONDS) -> None:
        self._transactions = transactions
        self._kept_seconds = kept_seconds
        self._kept: tuple[float, Vocabulary] | None = None
        self._reading = asyncio.Lock()

    async def seed(self, packaged_vocabulary: Vocabulary) -> None:
        """Adds the packaged tags; retired tags stay retired."""
        rows = [
            (language, tag, topic)
            for language, tags in packaged_vocabulary.tags.items()
            for tag, topic in tags.items()
        ]
        async with self._transactions.begin() as connection:
            await connection.execute(
                SEED, [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
            )
        self._kept = None

    async def current(self) -> Vocabulary:
        """The active tags, at most a minute old. Returns the same object as long as nothing has changed."""
        async with self._reading:
            if self._kept is None or time.monotonic() - self._kept[0] > self._kept_seconds:
                async with self._transactions.begin() as connection:
                    rows = await connection.fetch(
                        "SELECT lang, tag, topic FROM vocabulary WHERE state = 'active' "
                        "ORDER BY lang, topic, tag"
                    )
                tags: dict[str, dict[str, str]] = {}
                for row in rows:
                    tags.setdefault(row["lang"], {})[row["tag"]] = row["topic"]
                vocabulary = Vocabulary(tags)
                self._kept = (
                    time.monotonic(),
                    self._kept[1] if self._kept is not None and self._kept[1] == vocabulary else vocabulary,
                )
            return self._kept[1]

    async def propose(self, proposals: Sequence[Proposal]) -> tuple[str, ...]:
        """Counts proposals; returns the tags that became active.

        Proposals of private channels are ignored.
        """
        if not proposals:
            return ()
        rows = sorted(
            {
                (proposal.language, proposal.tag, proposal.channel_id, proposal.text): proposal.topic
                for proposal in proposals
            }.items()
        )
        async with self._transactions.begin() as connection:
            columns = [[key[index] for key, _ in rows] for index in range(4)]
            await connection.execute(PROPOSE, *columns, [topic for _, topic in rows])
            established_rows = await self._establish_tags(connection, columns[0], columns[1])
        if established_rows:
            self._kept = None
        return established_rows

    @staticmethod
    async def _establish_tags(
        connection: Connection, languages: Sequence[object], tags: Sequence[object]
    ) -> tuple[str, ...]:
        tag_counts = await connection.fetch(COUNT, languages, tags)
        established_rows = [
            row for row in tag_counts if is_established(Support(row["channels"], row["texts"]))
        ]
        for state, tag_rows in (
            (TagState.ACTIVE, established_rows),
            (TagState.PROPOSED, [row for row in tag_counts if row not in established_rows]),
        ):
            columns = [
                [row[name] for row in tag_rows] for name in ("lang", "tag", "topic", "texts", "channels")
            ]
            await connection.execute(NOTE, *columns, state.value)
        return tuple(row["tag"] for row in established_rows)

    async def lines(self, language: str | None = None) -> tuple[TagLine, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(LINES, language)
        return tuple(
            TagLine(
                row["lang"], row["tag"], row["topic"], TagState(row["state"]), row["posts"], row["channels"]
            )
            for row in rows
        )

    async def set_state(self, language: str, tag: str, state: TagState) -> bool:
        """Returns False if there is no such tag."""
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                "UPDATE vocabulary SET state = $3 WHERE lang = $1 AND tag = $2", language, tag, state.value
            )
        self._kept = None
        return bool(status == "UPDATE 1")

    async def forget(self, before: datetime, *, limit: int = MAX_ROWS) -> int:
        """Deletes so many proposals that found no support; returns how many."""
        async with self._transactions.begin() as connection:
            status = await connection.execute(
                "DELETE FROM tag_proposals WHERE ctid = ANY (ARRAY(SELECT ctid FROM tag_proposals "
                "WHERE proposed_at < $1 LIMIT $2))",
                before,
                limit,
            )
            await connection.execute(
                """
                DELETE FROM vocabulary v WHERE state = 'proposed'
                AND NOT EXISTS (SELECT 1 FROM tag_proposals p WHERE p.lang = v.lang AND p.tag = v.tag)
                """
            )
        return int(status.rpartition(" ")[2])


SEED = """
INSERT INTO vocabulary (lang, tag, topic, state)
SELECT lang, tag, topic, 'active' FROM unnest($1::text[], $2::text[], $3::text[]) AS w(lang, tag, topic)
ON CONFLICT (lang, tag) DO UPDATE SET topic = excluded.topic, state = 'active'
    WHERE vocabulary.state = 'proposed'
"""

PROPOSE = """
INSERT INTO tag_proposals (lang, tag, channel_id, text_hash, topic)
SELECT w.* FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::text[]) AS w(lang, tag,
    channel_id, text_hash, topic)
WHERE NOT EXISTS (SELECT 1 FROM vocabulary v WHERE v.lang = w.lang AND v.tag = w.tag
    AND v.state <> 'proposed')
  AND NOT EXISTS (SELECT 1 FROM channels c WHERE c.channel_id = w.channel_id AND c.is_private)
ON CONFLICT DO NOTHING
"""

COUNT = """
SELECT p.lang, p.tag, mode() WITHIN GROUP (ORDER BY p.topic) AS topic,
       count(DISTINCT p.channel_id)::int AS channels, count(DISTINCT p.text_hash)::int AS texts
FROM tag_proposals p JOIN (SELECT DISTINCT * FROM unnest($1::text[], $2::text[]) AS u(lang, tag)) w
    USING (lang, tag)
GROUP BY p.lang, p.tag ORDER BY p.lang, p.tag
"""

LINES = """
SELECT lang, tag, topic, state, posts, channels FROM vocabulary WHERE $1::text IS NULL OR lang = $1
ORDER BY lang, topic, tag
"""

NOTE = """
-- arrays, one element per tag: $1 language, $2 tag, $3 topic, $4 texts, $5 channels; $6 state
INSERT INTO vocabulary (lang, tag, topic, posts, channels, state)
SELECT lang, tag, topic, texts, channels, $6
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[]) AS w(lang, tag, topic, texts, channels)
ON CONFLICT (lang, tag) DO UPDATE SET topic = excluded.topic, posts = excluded.posts,
    channels = excluded.channels, state = excluded.state
WHERE vocabulary.state = 'proposed'
"""
