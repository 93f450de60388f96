"""The loads of bench.workers: posts with edits and pictures in any order, what locks cost, two controls."""

import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from types import TracebackType
from typing import Any, Self

import asyncpg

from bench.workloads.story_pictures import SeenPicture, picture_of
from bench.workloads.story_world import PICTURES, LabelledPost
from telegram_assistant.ai.pictures import make
from telegram_assistant.domain.media.similarity import COARSE_BITS
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.language.terms import terms_of
from telegram_assistant.settings import Settings
from telegram_simulator.world.demo.drawn import file_of
from telegram_simulator.world.files import make_file
from telegram_simulator.world.post import Drawing, FileKind
from testkit.factories import make_post

EDITED_SHARE = 0.06
EDITED_AFTER = (1, 600)
"""So many posts later an edit comes."""
SAMPLED_EVERY_SECONDS = 0.025

CONTROLS: Mapping[str, tuple[str, ...]] = {
    "no_later_look": (
        """
        CREATE FUNCTION look_at_nothing_later() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN NEW.last_posted_at := '-infinity'; RETURN NEW; END $$
        """,
        """
        CREATE TRIGGER look_at_nothing_later BEFORE INSERT ON story_looks
        FOR EACH ROW EXECUTE FUNCTION look_at_nothing_later()
        """,
    ),
    "no_story_locks": (
        "CREATE SCHEMA without_locks",
        "GRANT USAGE ON SCHEMA without_locks TO PUBLIC",
        "CREATE FUNCTION without_locks.pg_advisory_xact_lock(bigint) RETURNS void LANGUAGE sql AS ''",
        """
        CREATE FUNCTION without_locks.pg_try_advisory_xact_lock(bigint) RETURNS boolean
        LANGUAGE sql AS 'SELECT true'
        """,
        """
        DO $$ BEGIN
            EXECUTE format('ALTER DATABASE %I SET search_path = without_locks, pg_catalog, public',
                current_database());
        END $$
        """,
    ),
}
"""Statements that switch a part of the grouping off, by name: with either, stories must differ."""


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A post, or the edit of one, that comes to a worker."""

    post: Post
    labelled: LabelledPost | None = None
    is_edit: bool = False

    @property
    def album(self) -> tuple[int, int] | None:
        """None for the edit of an item: it comes by itself."""
        grouped_id = self.post.grouped_id
        return None if self.is_edit or grouped_id is None else (self.post.channel_id, grouped_id)


def make_items(posts: Sequence[LabelledPost], seed: int) -> list[Item]:
    """All posts in order; some are edited later, half of these into what another post says."""
    rng = random.Random(seed)
    placed = [(float(place), Item(post.post, post)) for place, post in enumerate(posts)]
    for place, post in enumerate(posts):
        if post.post.text and rng.random() < EDITED_SHARE:
            later = place + rng.randint(*EDITED_AFTER)
            other = posts[min(later, len(posts) - 1)].post.text
            text = other if other and rng.random() < 0.5 else f"{post.post.text} Уточнено: их было {later}."
            edited = make_post(
                channel_id=post.post.channel_id,
                message_id=post.post.message_id,
                text=text,
                posted_at=post.post.posted_at,
                edited_at=post.post.posted_at + timedelta(minutes=9),
                lang=post.post.lang,
                kind=post.post.kind,
                grouped_id=post.post.grouped_id,
                reply_to=post.post.reply_to,
                forwarded_from=post.post.forwarded_from,
            )
            placed.append((later + 0.5, Item(edited, is_edit=True)))
    return [item for _, item in sorted(placed, key=lambda pair: pair[0])]


def shuffle_items(items: Sequence[Item], rng: random.Random) -> list[Item]:
    """In any order."""
    return _put_edits_last(rng.sample(items, len(items)))


def deal_items(items: Sequence[Item], batch: int, workers: int) -> list[Item]:
    """In order, but posts that stand beside each other come in batches that run beside each other."""
    dealt: list[Item] = []
    for start in range(0, len(items), batch * workers):
        block = items[start : start + batch * workers]
        dealt += [item for worker in range(workers) for item in block[worker::workers]]
    return _put_edits_last(dealt)


def _put_edits_last(items: list[Item]) -> list[Item]:
    """An edit comes after its post: nobody edits what was not posted."""
    places = {item.post.id: place for place, item in enumerate(items) if not item.is_edit}
    for place, item in enumerate(items):
        first = places[item.post.id]
        if item.is_edit and place < first:
            items[place], items[first] = items[first], item
    return items


def find_albums(items: Sequence[Item]) -> dict[tuple[int, int] | None, list[Item]]:
    """The items of each album: Telegram sends them at once, so they are landed at once."""
    albums: dict[tuple[int, int] | None, list[Item]] = defaultdict(list)
    for item in items:
        if item.album is not None:
            albums[item.album].append(item)
    return albums


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures of the posts of a world, every word of them read."""

    seen: Mapping[tuple[Drawing, FileKind], SeenPicture]

    @classmethod
    def of(cls, posts: Sequence[LabelledPost]) -> "Pictures":
        drawings = {picture_of(post) for post in posts if post.planned.shows in PICTURES}
        seen = {}
        for drawing in drawings:
            picture = make(make_file(file_of(*drawing)))
            words = " ".join(word for line in drawing[0].lines for word in line.split())
            seen[drawing] = SeenPicture(picture.coarse, picture.fine, words)
        return cls(seen)

    async def store(self, admin: "asyncpg.Connection[asyncpg.Record]", batch: Sequence[Item]) -> None:
        """As if the pictures of these posts had been fetched and looked at."""
        for item in batch:
            if item.labelled is None or item.labelled.planned.shows not in PICTURES:
                continue
            drawing = picture_of(item.labelled)
            picture, digest = self.seen[drawing], sha256(repr(drawing).encode()).digest()
            coarse = picture.coarse
            await admin.execute(
                "INSERT INTO media_objects (sha256, size_bytes, phash, phash_fine) VALUES ($1, 1, $2, $3) "
                "ON CONFLICT DO NOTHING",
                digest,
                coarse - 2**COARSE_BITS if coarse >= 2 ** (COARSE_BITS - 1) else coarse,
                picture.fine.to_bytes(32),
            )
            await admin.execute(
                "INSERT INTO media_results (sha256, tier, provider, model, prompt_version, data) "
                "VALUES ($1, 'local', '', '', '', $2) ON CONFLICT DO NOTHING",
                digest,
                json.dumps({"text": picture.words}),
            )
            await admin.execute(
                "INSERT INTO post_media (channel_id, message_id, media_id, kind, sha256) "
                "VALUES ($1, $2, $3, 'photo', $4) ON CONFLICT DO NOTHING",
                item.post.channel_id,
                item.post.message_id,
                int.from_bytes(digest[:7]),
                digest,
            )


@dataclass(frozen=True, slots=True)
class Sampled:
    """The locks of workers, by samples of the server."""

    waiting: float
    """The share of their time that workers wait for locks."""
    holding: float
    """For how many milliseconds a post holds locks of its stories."""


@dataclass(slots=True)
class Sampler:
    """Looks again and again at who waits for a lock and who holds an advisory one."""

    settings: Settings
    pid: int = 0
    samples: int = 0
    waiting: int = 0
    holding: int = 0
    _task: asyncio.Task[None] | None = None
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> Self:
        assert self.settings.database.admin_url is not None
        connection = await asyncpg.connect(self.settings.database.admin_url.get_secret_value())
        self.pid = connection.get_server_pid()
        self._task = asyncio.create_task(self._sample(connection))
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._ended.set()
        assert self._task is not None
        await self._task

    async def _sample(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        while not self._ended.is_set():
            row = await connection.fetchrow(SAMPLE)
            assert row is not None
            self.samples += 1
            self.waiting += row["waiting"]
            self.holding += row["holding"]
            await asyncio.sleep(SAMPLED_EVERY_SECONDS)
        await connection.close()

    def shares(self, workers: int, wall_ms: float) -> Sampled:
        """`wall_ms` is the time in which all workers together group one post."""
        samples = max(self.samples, 1)
        return Sampled(self.waiting / samples / workers, self.holding / samples * wall_ms)


SAMPLE = """
SELECT (SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock') AS waiting,
       (SELECT count(DISTINCT pid) FROM pg_locks
        WHERE locktype = 'advisory' AND granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS holding
"""


async def load_links(admin: "asyncpg.Connection[asyncpg.Record]") -> set[tuple[Any, ...]]:
    rows = await admin.fetch(
        "SELECT channel_id, message_id, other_channel_id, other_message_id, kind, score, is_leaf, "
        "other_posted_at FROM story_links"
    )
    return {tuple(row) for row in rows}


async def count_words_for_ever(
    admin: "asyncpg.Connection[asyncpg.Record]", posts: Sequence[LabelledPost]
) -> None:
    """As if all posts had been counted, for all days: nothing is counted while posts come."""
    terms = [terms_of(post.post.text) for post in posts]
    counts = Counter(
        term
        for post_terms in terms
        for part in (post_terms.words, post_terms.names, post_terms.numbers)
        for term in part
    )
    await admin.execute(
        "INSERT INTO term_counts (number, day, texts, terms, counts) "
        "VALUES (1, '2000-01-01', $1, $2, $3), (2, '2999-01-01', $1, $2, $3)",
        len(posts),
        list(counts),
        list(counts.values()),
    )
