"""The world in which pages are measured: 500 channels with stories, edits, deletions and pictures; watches,
alerts, receivers and digests.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID, uuid4

import asyncpg
from PIL import Image

from bench.workloads.web_stories import plan_stories, store_stories
from telegram_assistant.assembly import App
from telegram_assistant.domain.digests.digest import Digest
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId, UserId
from telegram_assistant.domain.lists import ItemKind
from telegram_assistant.domain.posts.differences import difference
from telegram_assistant.domain.posts.meaning import weight_of
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.receivers.delivery import ReceiverKind
from telegram_assistant.domain.watches.watch import AlertSeverity, WatchKind, WatchOptions, WatchTarget
from telegram_assistant.features.digests.composing import compose
from telegram_assistant.features.digests.interests import write_down
from telegram_assistant.features.lists import add_item, create_list
from telegram_assistant.features.operations.text_upkeep import rebuild_text
from telegram_assistant.features.receivers.rss_feeds import ALL_STORIES, create_feed
from telegram_assistant.features.stories.keyword_trends import keep_day
from telegram_assistant.features.watches.watches import create_watch
from telegram_assistant.language.meaning_changes import meaning_changes
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection
from telegram_assistant.stores.postgres.posts.posts import derived_of
from telegram_assistant.stores.postgres.posts.rows import LANDED, as_columns
from telegram_assistant.stores.postgres.posts.versions import dump_meaning
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedKind
from telegram_assistant.stores.postgres.receivers.feed_posts import FeedPicture
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.web.pages.receivers.feed_file import picture_path
from testkit.receiving import make_receiver
from testkit.rows import heavy_tailed_counts, make_writer, posts_of

CHANNELS = 500
SPAN = timedelta(days=60)
DAY = timedelta(days=1)
DIGEST_DAYS = 14
LISTED = 50
WATCHED = 5000
"""The newest posts, which have raised alerts."""
BATCH = 100
EDITED_EVERY = 40
"""One post in so many has an earlier version."""
PICTURES = 12
WORDS = ("мост", "снег", "город", "bridge", "city", "рынок")
WATCHED_WORDS = (
    "граница таможня",
    "стадион чемпионат",
    "вакцина экзамен",
    "ракета орбита",
    "фильм режиссёр",
    "пожар спасатель",
    "space rocket",
)
"""Together in one post in a hundred: a watch tells of some dozens a day."""
WATCHES = {
    **{f"about {words}": WatchTarget(kind=WatchKind.WORDS, query=words) for words in WATCHED_WORDS},
    "first about the port": WatchTarget(kind=WatchKind.MENTION, query="порт корабль"),
    "changed about the budget": WatchTarget(kind=WatchKind.CHANGES, query="бюджет налог"),
    "silent for two days": WatchTarget(kind=WatchKind.SILENCE, query="", hours=48),
    "a story of ten posts": WatchTarget(kind=WatchKind.STORY, query="", posts=10),
}
RECEIVERS = {
    "newsroom": (ReceiverKind.WEBHOOK, "https://newsroom.example/hooks/telegram"),
    "archive": (ReceiverKind.WEBHOOK, "https://archive.example/in"),
    "desk": (ReceiverKind.EMAIL, "desk@newsroom.example"),
}
COLUMNS = ["channel_id", "stored_at", *LANDED.split(", ")]
NEWEST = """
UPDATE channels c SET newest_message_id = p.id, newest_posted_at = p.at
FROM (SELECT channel_id, max(message_id) AS id, max(posted_at) AS at FROM posts GROUP BY 1) p
WHERE p.channel_id = c.channel_id
"""
FOLLOWED = """
INSERT INTO subscriptions (tenant_id, channel_id, history_days, folder, created_at)
SELECT $1, channel_id, 90, 'Folder ' || channel_id % 5, now() - interval '60 days' FROM channels
"""
TAGGED = """
INSERT INTO post_enrichment (channel_id, message_id, kind, tier, provider, model, prompt_version, revision,
    data)
SELECT channel_id, message_id, 'tags', 'local', '', 'rules', '', 1, jsonb_build_object(
    'tags', jsonb_build_array('tag ' || message_id % 40, 'tag ' || (message_id + channel_id) % 60, 'tag '
        || channel_id % 50),
    'topic', 'city', 'kind', 'news')
FROM posts
"""
COVERED = """
INSERT INTO coverage (channel_id, floor_id, verified, verified_at)
SELECT channel_id, 1, int8multirange(int8range(1, newest_message_id + 1)), now() FROM channels
"""
POLLED = """
WITH made AS (INSERT INTO telegram_accounts (tenant_id, state) VALUES ($1, 'active') RETURNING account_id)
INSERT INTO poll_schedule (channel_id, account_id, last_polled_at) SELECT channel_id, account_id, now()
FROM channels CROSS JOIN made
"""
VOCABULARY = (
    "INSERT INTO vocabulary (lang, tag, topic, state) SELECT 'en', 'tag ' || number, 'city', 'active' "
    "FROM generate_series(0, 59) number"
)
INSERT_POST_MEDIA = """
INSERT INTO post_media (channel_id, message_id, media_id, kind, mime, size_bytes, width, height, state,
    sha256, settled_at)
SELECT channel_id, message_id, message_id, 'photo', 'image/png', $2, 900, 600, 'stored',
       ($1::bytea[])[1 + message_id % cardinality($1::bytea[])], now()
FROM posts WHERE kind = 'photo'
"""
EDITED = """
UPDATE posts p SET revision = 2, edited_at = v.replaced_at FROM post_versions v
WHERE v.channel_id = p.channel_id AND v.message_id = p.message_id
"""
DELETED = (
    "UPDATE posts SET deleted_at = least(posted_at + interval '1 hour', now()) WHERE message_id % 50 = 7"
)
SELECT_STORY_POSTS = (
    "SELECT DISTINCT ON (story_id) channel_id, message_id FROM story_posts WHERE link IS NOT NULL "
    "AND posted_at > now() - interval '3 days' LIMIT 200"
)
PICTURED = "SELECT DISTINCT ON (sha256) channel_id, message_id FROM post_media"

type Admin = asyncpg.Connection[asyncpg.Record]


@dataclass(frozen=True, slots=True)
class World:
    """The objects that pages of the installation show."""

    tenant_id: TenantId
    channels: tuple[ChannelId, ...]
    story_posts: tuple[PostId, ...]
    """A post of each of some recent stories."""
    pictured: tuple[PostId, ...]
    """A post with each of the pictures."""
    watches: tuple[UUID, ...]
    lists: tuple[UUID, ...]
    feed: str
    """The secret of a feed's address."""
    feed_picture: str
    """The path of a picture in a feed."""
    digests: tuple[Digest, ...]
    """The digests of the last days, the oldest first."""


async def build_world(app: App, admin: Admin, posts: int) -> World:
    """Fills an empty database; one that was kept is taken as it is."""
    tenant_id = (await app.system.tenants.ensure("readers", is_operator=True)).tenant_id
    pictures = await _put_pictures(app)
    if not await admin.fetchval("SELECT count(*) FROM subscriptions"):
        await _write_posts(app, admin, tenant_id, posts)
        await admin.execute(INSERT_POST_MEDIA, *pictures)
        await admin.execute("VACUUM ANALYZE")
        await _watch(app, admin, tenant_id)
        await admin.execute("VACUUM ANALYZE")
    stores = app.tenant(tenant_id)
    feed = await create_feed(FeedKind.FOLDER, "Folder 1", stores=stores, created_by="bench")
    pictured = await _ids(admin, PICTURED)
    return World(
        tenant_id,
        tuple(ChannelId(number + 1) for number in range(CHANNELS)),
        await _ids(admin, SELECT_STORY_POSTS),
        pictured,
        tuple(watch.watch_id for watch in await stores.watches.all()),
        await _lists(stores, await _ids(admin, SELECT_STORY_POSTS)),
        feed.token,
        await _feed_picture(app, stores, pictured[0]),
        await _digests(app, tenant_id),
    )


async def _feed_picture(app: App, stores: TenantStores, post_id: PostId) -> str:
    created = await create_feed(FeedKind.STORY, ALL_STORIES, stores=stores, created_by="bench")
    feed = await app.api.feed_directory.find(created.token)
    assert feed is not None
    return picture_path(feed, app.settings, FeedPicture(post_id, 0))


async def settle(app: App, world: World, user_id: UserId) -> list[UUID]:
    """Gives a person what somebody has who came two weeks ago: saved posts, a muted word, interests,
    and digests. Returns the ids of the digests.
    """
    own, made = app.person(world.tenant_id, user_id), {uuid4(): digest for digest in world.digests}
    await own.choices.save(world.story_posts[:30])
    await own.choices.mute_word("ферма")
    for topic in WORDS:
        await write_down(topic, interests=own.interests)
    for digest_id, digest in made.items():
        await own.digests.save(digest_id, digest)
    return list(made)


async def _write_posts(app: App, admin: Admin, tenant_id: TenantId, count: int) -> None:
    newest, writer = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5), make_writer(1)
    named = [(number + 1, f"Channel {number + 1}", f"channel_{number + 1}") for number in range(CHANNELS)]
    await admin.copy_records_to_table("channels", records=named, columns=["channel_id", "title", "username"])
    counts = heavy_tailed_counts(1, channels=CHANNELS, posts=count)
    posts = [
        post
        for number, its in enumerate(counts)
        for post in posts_of(writer, number + 1, first_id=1, count=its, newest=newest, span=SPAN)
    ]
    posts.sort(key=lambda post: (post.posted_at, post.id))
    stories = plan_stories(posts, seed=1)
    records = zip(
        [post.channel_id for post in posts],
        [post.posted_at for post in posts],
        *as_columns(posts),
        strict=True,
    )
    await admin.copy_records_to_table("posts", records=records, columns=COLUMNS)
    await store_stories(admin, posts, stories, seed=1)
    await admin.execute(NEWEST)
    await admin.execute(FOLLOWED, tenant_id)
    for statement in (COVERED, VOCABULARY, TAGGED, DELETED):
        await admin.execute(statement)
    await admin.execute(POLLED, tenant_id)
    await _edit(admin, posts[::EDITED_EVERY])
    system = app.system
    await system.rebuilds.want(Projection.TEXT)
    await rebuild_text(
        word_index=system.word_index,
        posts=system.posts,
        states=system.post_states,
        rebuilds=system.rebuilds,
        owner="bench",
        stopping=asyncio.Event(),
    )


async def _edit(admin: Admin, posts: Sequence[Post]) -> None:
    """Each of them said less at first."""
    rows = []
    for post in posts:
        before, replaced = post.text.rpartition(". ")[0] or post.text, post.posted_at + timedelta(minutes=20)
        meaning = meaning_changes(before, post.text)
        steps = list(difference(before, post.text))
        rows.append(
            (
                post.channel_id,
                post.message_id,
                1,
                before,
                b"",
                replaced,
                steps,
                dump_meaning(meaning),
                weight_of(meaning),
            )
        )
    columns = [
        "channel_id",
        "message_id",
        "revision",
        "text",
        "content_hash",
        "replaced_at",
        "difference",
        "meaning",
        "weight",
    ]
    await admin.copy_records_to_table("post_versions", records=rows, columns=columns)
    await admin.execute(EDITED)


async def _put_pictures(app: App) -> tuple[list[bytes], int]:
    """Their hashes, and the size of the largest."""
    assert app.files is not None
    with TemporaryDirectory() as folder:
        drawn = _draw(Path(folder))
        for file, data in drawn.items():
            await app.system.media.reserve(sha256(data).digest(), len(data), "image/png")
            await app.files.put(sha256(data).digest(), file)
    return [sha256(data).digest() for data in drawn.values()], max(map(len, drawn.values()))


def _draw(folder: Path) -> dict[Path, bytes]:
    """The same bytes each time, so that a kept database finds them again."""
    drawn = {}
    for number in range(PICTURES):
        file = folder / f"{number}.png"
        Image.linear_gradient("L").rotate(number * 30).resize((900, 600)).save(file)
        drawn[file] = file.read_bytes()
    return drawn


async def _watch(app: App, admin: Admin, tenant_id: TenantId) -> None:
    """Receivers, watches, and the alerts of the newest posts, silences and stories;
    then the names of the last days.
    """
    stores, now = app.tenant(tenant_id), datetime.now(UTC)
    receivers = [
        (
            await make_receiver(
                kind, name, address, stores=stores, sealer=app.sealer, guard=app.webhook_guard
            )
        ).receiver_id
        for name, (kind, address) in RECEIVERS.items()
    ]
    for number, (name, target) in enumerate(WATCHES.items()):
        options = WatchOptions(
            severity=list(AlertSeverity)[number % 3], receivers=tuple(receivers[: number % 3])
        )
        await create_watch(
            name, target, options, stores=stores, created_by="bench", now=now, zone=UTC, begins_at=now - SPAN
        )
    newest = await _ids(
        admin, f"SELECT channel_id, message_id FROM posts ORDER BY posted_at DESC LIMIT {WATCHED}"
    )
    for start in range(0, len(newest), BATCH):
        loaded = await app.system.posts.load(newest[start : start + BATCH])
        await app.system.watch_matching.raise_alerts([derived_of(post) for post in loaded])
    await app.system.watch_matching.raise_silences(now)
    await app.system.watch_matching.raise_grown(now)
    await admin.execute(
        "UPDATE alerts SET created_at = happened_at, seen_at = CASE WHEN happened_at < now() - interval '6 "
        "hours' THEN now() END"
    )
    await admin.execute("UPDATE deliveries SET delivered_at = now() WHERE number % 10 > 0")
    for days in range(1, 8):
        await keep_day((now - days * DAY).date(), stores=stores)


async def _lists(stores: TenantStores, posts: Sequence[PostId]) -> tuple[UUID, ...]:
    """One with stories, one with posts, each a page long; those that were kept are taken as they are."""
    if not await stores.lists.all():
        for kind in ItemKind:
            shared_list = await create_list(kind.value, stores=stores, created_by="bench")
            for post in posts[:LISTED]:
                await add_item(shared_list.list_id, kind, post, stores=stores, by="bench", note="ask them")
    return tuple(shared_list.list_id for shared_list in await stores.lists.all())


async def _digests(app: App, tenant_id: TenantId) -> tuple[Digest, ...]:
    """One digest a day, each without the stories of earlier ones."""
    made: list[Digest] = []
    until = datetime.now(UTC) - DIGEST_DAYS * DAY
    for _ in range(DIGEST_DAYS):
        since, until = until, until + DAY
        made.append(await compose(since, stores=app.tenant(tenant_id), now=until, earlier_digests=made[-7:]))
    return tuple(made)


async def _ids(admin: Admin, query: str) -> tuple[PostId, ...]:
    return tuple(
        PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])) for row in await admin.fetch(query)
    )
