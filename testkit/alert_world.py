"""A world of watches: one word that thousands watch in one channel, and stories that several channels tell to
tenants who watch other words.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.stores.postgres.posts.rows import LANDED, as_columns
from testkit.factories import make_post

type Admin = asyncpg.Connection[asyncpg.Record]

HOT_CHANNEL, FIRST_CHANNEL = 1, 101
FIRST_FOLLOWER, FIRST_READER = 10, 1_000_001
"""Followers of the hot channel, and tenants who read other channels."""
HOT_WORD = "снегопад"
WORDS = ("мост", "паром", "маяк", "трамвай", "плотина", "вокзал")
COLUMNS = ["channel_id", "stored_at", *LANDED.split(", ")]


@dataclass(frozen=True, slots=True)
class AlertWorld:
    """How many there are of each."""

    followers: int = 10_000
    readers: int = 200
    channels: int = 20
    followed: int = 8
    """Channels of each reader."""


async def settle(admin: Admin, world: AlertWorld) -> None:
    """Tenants, channels and watches. One channel is private."""
    rng = random.Random(1)
    readers = range(FIRST_READER, FIRST_READER + world.readers)
    channels = range(FIRST_CHANNEL, FIRST_CHANNEL + world.channels)
    followers = range(FIRST_FOLLOWER, FIRST_FOLLOWER + world.followers)
    await admin.execute(
        "INSERT INTO tenants (tenant_id, name) OVERRIDING SYSTEM VALUE "
        "SELECT n, 'bench ' || n FROM unnest($1::bigint[]) n",
        [*readers, *followers],
    )
    await admin.execute(
        "INSERT INTO channels (channel_id, title, is_private) "
        "SELECT n, 'Channel ' || n, n % 20 = 10 FROM unnest($1::bigint[]) n",
        [HOT_CHANNEL, *channels],
    )
    pairs = [(reader, channel) for reader in readers for channel in rng.sample(channels, world.followed)]
    pairs += [(follower, HOT_CHANNEL) for follower in followers]
    await admin.execute(
        "INSERT INTO subscriptions (tenant_id, channel_id, history_days) SELECT t, c, 60 "
        "FROM unnest($1::bigint[], $2::bigint[]) AS n(t, c)",
        [tenant for tenant, _ in pairs],
        [channel for _, channel in pairs],
    )
    watched = [(follower, HOT_WORD) for follower in followers]
    watched += [(reader, word) for reader in readers for word in rng.sample(WORDS, 3)]
    await add_watches(admin, watched)
    await admin.execute("VACUUM ANALYZE watches, watch_terms, subscriptions")


async def add_watches(admin: Admin, watched: Sequence[tuple[int, str]]) -> None:
    """A watch of one word for each of these tenants, or of two of which the first one is the rarer."""
    await admin.execute(
        """
        WITH made AS (
            INSERT INTO watches (tenant_id, name, query, words, created_by, begins_at)
            SELECT t, n::text, q, websearch_to_tsquery('russian', q), split_part(q, ' ', 1),
                now() - interval '40 days'
            FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS g(t, q, n)
            RETURNING tenant_id, watch_id, created_by
        )
        INSERT INTO watch_terms (term, tenant_id, watch_id)
        SELECT 'w:' || (tsvector_to_array(to_tsvector('russian', created_by)))[1], tenant_id, watch_id
        FROM made
        WHERE cardinality(tsvector_to_array(to_tsvector('russian', created_by))) > 0
        """,
        [tenant for tenant, _ in watched],
        [query for _, query in watched],
    )


def hot_posts(count: int, *, first: int = 1) -> Iterator[Post]:
    """Posts of the hot channel about events that have nothing in common but one word."""
    for number in range(first, first + count):
        text = (
            f"Сильный {HOT_WORD} накрыл посёлок Заречный{number}: дорожные службы вывели на улицы технику, "
            f"занятия отменены, жители расчищают дворы"
        )
        yield _post(HOT_CHANNEL, number, text)


def stories(world: AlertWorld, count: int, *, first: int = 1) -> Iterator[list[Post]]:
    """Each story is told by two to six channels, in words of their own."""
    rng = random.Random(first)
    for number in range(first, first + count):
        channels = rng.sample(
            range(FIRST_CHANNEL, FIRST_CHANNEL + world.channels), min(world.channels, rng.randint(2, 6))
        )
        yield [_post(channel, number, _text_of(number, place)) for place, channel in enumerate(channels)]


def _is_private(channel_id: int) -> bool:
    """Its posts come first, so that stories are about something else for those who see them."""
    return channel_id % 20 == 10


def _text_of(number: int, place: int) -> str:
    word, other = WORDS[number % len(WORDS)], WORDS[(number // 7 + place) % len(WORDS)]
    return (
        f"В городе Туманск{number} закрыт {word}: осмотр нашёл {place + 3} трещины, автобусы{place} едут в "
        f"объезд, рядом {other}, говорит мэрия"
    )


def _post(channel_id: int, message_id: int, text: str) -> Post:
    return make_post(
        channel_id=channel_id,
        message_id=message_id,
        text=text,
        posted_at=datetime.now(UTC).replace(microsecond=0)
        + timedelta(seconds=message_id % 60 - 300 * _is_private(channel_id)),
    )


async def store(admin: Admin, posts: Sequence[Post]) -> list[PostId]:
    """Stores posts as if they had been landed."""
    rows = zip(
        [post.channel_id for post in posts],
        [post.posted_at for post in posts],
        *as_columns(posts),
        strict=True,
    )
    await admin.copy_records_to_table("posts", records=rows, columns=COLUMNS)
    return [post.id for post in posts]


async def store_stories(admin: Admin, grouped: Sequence[Sequence[Post]]) -> list[PostId]:
    """Stores posts with the stories that they are."""
    posts = [post for story in grouped for post in story]
    await store(admin, posts)
    await admin.execute(
        """
        INSERT INTO story_posts (channel_id, message_id, story_id, posted_at, link, terms_hash)
        SELECT c, m, s, a, 'rewrite', 0
        FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::timestamptz[]) AS n(c, m, s, a)
        """,
        [post.channel_id for post in posts],
        [post.message_id for post in posts],
        [UUID(int=number) for number, story in enumerate(grouped, 1) for _ in story],
        [post.posted_at for post in posts],
    )
    return [post.id for post in posts]


async def slow_writers_down(admin: Admin) -> None:
    """Every transaction that writes alerts takes a while, so that others meet it."""
    await admin.execute(
        """
        CREATE FUNCTION rest() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN PERFORM pg_sleep(0.02); RETURN NULL; END $$;
        CREATE TRIGGER rest AFTER INSERT ON alerts FOR EACH STATEMENT EXECUTE FUNCTION rest();
        """
    )


async def switch_locks_off(admin: Admin) -> None:
    """For new sessions of this database writers of alerts no longer wait for each other. If that changes
    nothing, a test of many workers proves nothing.
    """
    await admin.execute(
        """
        CREATE SCHEMA without_locks;
        GRANT USAGE ON SCHEMA without_locks TO PUBLIC;
        CREATE FUNCTION without_locks.pg_advisory_xact_lock(integer, integer) RETURNS void
            LANGUAGE sql AS '';
        DO $$ BEGIN
            EXECUTE format('ALTER DATABASE %I SET search_path = without_locks, pg_catalog, public',
                current_database());
        END $$;
        """
    )
