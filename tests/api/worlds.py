"""Two databases that are alike but for one thing: in the second there is also tenant B, who shares half of
A's channels.

B has followed those before A did, with a deeper past; and it has left another one of A's, with its past.
The module is long because every table and operation needs rows of both.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import httpx

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.posts.post import Origin, TextEntity
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.features.channels.records import count_records
from telegram_assistant.settings import Settings, read_settings
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.tenants.audit import AuditedAction
from testkit.api_clients import UNLIMITED, create_key_header, make_client, with_operator_key
from testkit.factories import make_channel
from testkit.graphs import land
from testkit.rows import make_writer, posts_of
from tests.api.account_world import open_account
from tests.api.story_world import join_story, tell_story
from tests.conftest import Admin, in_database, new_database
from tests.stores.postgres.catalogue import insert_row, tables

MARK = "belongs_to_b"
ONLY_B = (ChannelId(7_700_000_001), ChannelId(7_700_000_002))
"""Channels that exist where B does."""
STRANGER = Origin(ChannelId(6_600_000_001), MessageId(1))
PAGE = "https://example.com/shared"
FIRST = MessageId(101)
"""The oldest post of a channel that A sees; it was posted before A followed."""
FOLLOWED_BEFORE = timedelta(days=3)
"""How long ago A began to follow its channels, with a day of their past."""
DEEPEST = MessageId(1)
"""The oldest post that is stored where B has followed."""


@dataclass(frozen=True, slots=True)
class Worlds:
    """Both databases as templates that nobody is connected to, and what A knows of itself."""

    environ: dict[str, str]
    alone: str
    both: str
    a: TenantId
    b: TenantId
    only_a: tuple[ChannelId, ...]
    shared: tuple[ChannelId, ...]
    key: dict[str, str]
    key_id: UUID
    """The id of a key of A that no request uses."""
    key_of_b: dict[str, str]
    keys_of_b: tuple[UUID, ...]
    began: datetime
    account_of_a: UUID | None = None
    account_of_b: UUID | None = None
    ids_of_b: Mapping[str, UUID] = field(default_factory=dict)
    """Objects that people of B see on pages: a saved search, a digest, a login, a member, an invitation."""

    def environ_of(self, database: str, *, with_graph: bool = False) -> dict[str, str]:
        graph = {} if with_graph else {"NEO4J_URI": ""}
        return {**self.environ, **graph, **in_database(self.environ, database)}

    def settings_of(self, database: str, *, with_graph: bool = False) -> Settings:
        return with_operator_key(read_settings(self.environ_of(database, with_graph=with_graph)), **UNLIMITED)

    @asynccontextmanager
    async def open_copy(
        self, database: str, *, with_graph: bool = False, name: str = "copy"
    ) -> AsyncIterator[tuple[httpx.AsyncClient, Admin]]:
        """A copy of one of them, to be asked and changed."""
        async with (
            new_database(self.environ, f"{database}_{name}", template=database) as copy,
            assemble(self.settings_of(copy, with_graph=with_graph)) as app,
        ):
            admin = await asyncpg.connect(self.environ_of(copy)["DATABASE_ADMIN_URL"])
            try:
                async with make_client(app) as client, _fill_graph(app, admin):
                    yield client, admin
            finally:
                await admin.close()


@asynccontextmanager
async def _fill_graph(app: App, admin: Admin) -> AsyncIterator[None]:
    """Everything that is stored, in the graph; it goes at the end."""
    if app.graph_index is None:
        yield
        return
    graph = app.graph_index.graph
    await graph.erase()
    await graph.switch(await graph.begin())
    rows = await admin.fetch("SELECT channel_id, message_id FROM posts")
    await app.graph_index.write(
        [PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])) for row in rows],
        now=datetime.now(UTC),
    )
    yield
    await graph.erase()


@asynccontextmanager
async def make_worlds(environ: dict[str, str], worker: str, template: str) -> AsyncIterator[Worlds]:
    async with new_database(environ, f"tga_alone_{worker}", template=template) as alone:
        known = Worlds(
            environ, alone, "", TenantId(0), TenantId(0), (), (), {}, UUID(int=0), {}, (), datetime.now(UTC)
        )
        a, only_a, shared, key, key_id = await _make_a(known)
        await _count_records(known, alone, a)
        async with new_database(environ, f"tga_both_{worker}", template=alone) as both:
            known = replace(known, both=both)
            b, key_of_b, keys_of_b = await _make_b(known, shared, only_a)
            await _count_records(known, both, a)
            accounts = [await _load_account(known, tenant_id) for tenant_id in (a, b)]
            yield Worlds(
                environ,
                alone,
                both,
                a,
                b,
                only_a,
                shared,
                key,
                key_id,
                key_of_b,
                keys_of_b,
                datetime.now(UTC),
                accounts[0],
                accounts[1],
            )


async def _make_a(
    known: Worlds,
) -> tuple[TenantId, tuple[ChannelId, ...], tuple[ChannelId, ...], dict[str, str], UUID]:
    async with assemble(known.settings_of(known.alone)) as app:
        a = (await app.system.tenants.ensure("A")).tenant_id
        channels = [await make_channel(app.system, username=f"channel_of_a_{number}") for number in range(4)]
        for channel_id in channels:
            await app.system.channels.subscribe(
                a, Subscription(channel_id=channel_id, folder="City", history_days=1)
            )
        await _land(app, channels)
        admin = await asyncpg.connect(known.environ_of(known.alone)["DATABASE_ADMIN_URL"])
        await _follow_since(admin, a, FOLLOWED_BEFORE)
        await open_account(admin, a, channels)
        await _understand(admin, a, channels)
        await tell_story(admin, channels, MessageId(FIRST + 1))
        await admin.close()
        await create_key_header(app, a)
        key_id = (await app.tenant(a).keys.newest())[0].key_id
        key = await create_key_header(app, a, user_id=(await app.system.users.join(a, "anna")).user_id)
        await app.tenant(a).audit.note(AuditedAction("anna", "test", "/channels"))
    return a, tuple(channels[:2]), tuple(channels[2:]), key, key_id


async def _count_records(known: Worlds, database: str, a: TenantId) -> None:
    """In both worlds at the same moment, so that what B has would show in A's numbers."""
    async with assemble(known.settings_of(database)) as app:
        await count_records(stores=app.tenant(a), now=known.began)


async def _make_b(
    known: Worlds, shared: tuple[ChannelId, ...], only_a: tuple[ChannelId, ...]
) -> tuple[TenantId, dict[str, str], tuple[UUID, ...]]:
    """B has something in every table there is, follows half of A's channels in another way,
    and reads them with an account of its own.
    """
    async with assemble(known.settings_of(known.both)) as app:
        b = (await app.system.tenants.ensure(MARK)).tenant_id
        for number, channel_id in enumerate(ONLY_B):
            await make_channel(
                app.system, channel_id=channel_id, title=f"{MARK} {number}", username=f"{MARK}_{number}"
            )
        for channel_id in (*shared, *ONLY_B):
            wanted = Subscription(
                channel_id=channel_id,
                folder=MARK,
                priority=Priority.HIGH,
                ai_policy=AiPolicy.PROVIDER,
                history_days=100,
            )
            await app.system.channels.subscribe(b, wanted)
        await _land(app, list(ONLY_B), text=f"{MARK} wrote this")
        key, keys = (
            await create_key_header(app, b),
            tuple(key.key_id for key in await app.tenant(b).keys.newest()),
        )
        admin = await asyncpg.connect(known.environ_of(known.both)["DATABASE_ADMIN_URL"])
        await _follow_since(admin, b, timedelta(days=30))
        left = only_a[1]
        await app.system.channels.subscribe(b, Subscription(channel_id=left, history_days=100))
        for channel_id in (*shared, left):
            await _make_past(app, admin, b, channel_id)
        await app.tenant(b).followed.leave(left)
        account_id = await open_account(admin, b, [*shared, *ONLY_B])
        await admin.execute(
            "UPDATE poll_schedule SET account_id = $1 WHERE channel_id = ANY($2)", account_id, list(shared)
        )
        await join_story(admin, shared, ONLY_B, MessageId(FIRST + 1))
        for table in await tables(admin):
            await _one_row(admin, table.name, table.table_class, b)
        await app.system.planning.give_accounts()
        await admin.close()
    return b, key, keys


async def _one_row(admin: Admin, table: str, table_class: str | None, b: TenantId) -> None:
    if table_class == "system" or table in {
        "tenants",
        "subscriptions",
        "channels",
        "coverage",
        "telegram_accounts",
        "posts",
        "joined_channels",
    }:
        return
    known: dict[str, Any] = {"channel_id": ONLY_B[0]} if table_class == "subscribed" else {"tenant_id": b}
    if table == "memberships":
        known["role"] = "owner"
    if table == "memberships" or table_class == "person":
        name = f"{MARK} in {table}"
        known["user_id"] = await admin.fetchval(
            "INSERT INTO users (name) VALUES ($1) RETURNING user_id", name
        )
    special: dict[str, dict[str, Any]] = {"mutes": {"word": MARK}, "list_items": {"list_id": UUID(int=b)}}
    known |= special.get(table, {})
    await insert_row(admin, table, **known)


async def _land(app: App, channels: list[ChannelId], *, text: str = "") -> None:
    """The first post of each was there before anybody followed; the third forwards a stranger's;
    the fourth leads to a page.
    """
    writer = make_writer(1)
    for channel_id in channels:
        newest = datetime.now(UTC) - timedelta(hours=2)
        posts = posts_of(writer, channel_id, first_id=FIRST, count=5, newest=newest, span=timedelta(days=2))
        marked = [replace(post, text=text or post.text) for post in posts]
        marked[0] = replace(marked[0], posted_at=newest - FOLLOWED_BEFORE - timedelta(hours=10))
        marked[2] = replace(marked[2], forwarded_from=STRANGER)
        marked[3] = replace(marked[3], entities=(TextEntity("text_url", 0, 4, PAGE),))
        await land(app.system, *marked)


async def _follow_since(admin: Admin, tenant_id: TenantId, ago: timedelta) -> None:
    """Pretends that the tenant followed its channels that long ago.

    At that moment ingest stored all earlier posts, and had read the whole window of the tenant.
    """
    await admin.execute(
        "UPDATE subscriptions SET created_at = created_at - $2::interval WHERE tenant_id = $1", tenant_id, ago
    )
    await admin.execute(
        """
        UPDATE posts p SET stored_at = s.created_at FROM subscriptions s
        WHERE s.channel_id = p.channel_id AND s.tenant_id = $1 AND p.posted_at < s.created_at
        """,
        tenant_id,
    )
    await admin.execute(
        "UPDATE coverage v SET floor_at = s.visible_from FROM subscriptions s "
        "WHERE s.channel_id = v.channel_id AND s.tenant_id = $1",
        tenant_id,
    )


async def _make_past(app: App, admin: Admin, b: TenantId, channel_id: ChannelId) -> None:
    """Stores the past of a channel that B followed before A did: older posts with their edits and deletions.

    In A's window one post was deleted and the first one edited before A came. B's backfill goes on, and
    fails.
    """
    now, writer = datetime.now(UTC), make_writer(channel_id)
    before = now - FOLLOWED_BEFORE - timedelta(hours=1)
    old = posts_of(
        writer,
        channel_id,
        first_id=DEEPEST,
        count=5,
        newest=now - timedelta(days=5, hours=1),
        span=timedelta(hours=20),
    )
    deep = [
        replace(
            post,
            text=f"{MARK} {post.text}",
            forwarded_from=STRANGER,
            entities=(TextEntity("text_url", 0, 4, PAGE),),
        )
        for post in old
    ]
    gone = replace(deep[-1], message_id=MessageId(FIRST - 1), posted_at=before - timedelta(hours=16))
    await land(app.system, *deep, gone, read_at=before - timedelta(hours=2))
    for statement in (
        (
            "UPDATE posts SET deleted_at = $2::timestamptz WHERE channel_id = $1 "
            f"AND message_id IN ({DEEPEST + 1}, {FIRST - 1})"
        ),
        (
            f"DELETE FROM post_search WHERE channel_id = $1 AND message_id IN ({DEEPEST + 1}, {FIRST - 1}) "
            "AND $2::timestamptz < now()"
        ),
        (
            f"UPDATE posts SET revision = 2 WHERE channel_id = $1 AND message_id IN ({DEEPEST}, {FIRST}) "
            "AND $2::timestamptz < now()"
        ),
        (
            f"UPDATE post_enrichment SET revision = 2 WHERE channel_id = $1 AND message_id = {FIRST} "
            "AND $2::timestamptz < now()"
        ),
        f"""
        INSERT INTO post_versions (channel_id, message_id, revision, text, content_hash, replaced_at)
        SELECT $1, m, 1, '{MARK}', '', $2::timestamptz FROM unnest(ARRAY[{DEEPEST}, {FIRST}]) m
        """,
        (
            "INSERT INTO post_counts (channel_id, message_id, seen_at, views) SELECT $1, m, $2, 7 "
            f"FROM unnest(ARRAY[{DEEPEST}, {FIRST}]) m"
        ),
        f"""
        INSERT INTO post_enrichment (channel_id, message_id, kind, tier, provider, model, prompt_version,
            revision, data, made_at)
        VALUES ($1, {DEEPEST}, 'tags', 'local', 'local', 'rules', '1', 2,
            '{{"tags": ["спорт"], "topic": "sport"}}', $2)
        """,
        f"""
        UPDATE coverage SET floor_id = {DEEPEST}, floor_at = $2::timestamptz - interval '100 days',
            verified = int8multirange(int8range({DEEPEST}, {FIRST + 5}))
        WHERE channel_id = $1
        """,
        "UPDATE posts SET stored_at = $2::timestamptz WHERE channel_id = $1 AND posted_at < $2::timestamptz",
        "UPDATE poll_schedule SET last_polled_at = $2::timestamptz WHERE channel_id = $1",
    ):
        await admin.execute(statement, channel_id, before)
    await insert_row(
        admin,
        "backfills",
        channel_id=channel_id,
        requested_by=b,
        kind="history",
        error=MARK,
        since=now - timedelta(days=100),
    )


async def _load_account(known: Worlds, tenant_id: TenantId) -> UUID:
    admin = await asyncpg.connect(known.environ_of(known.both)["DATABASE_ADMIN_URL"])
    try:
        return UUID(
            str(
                await admin.fetchval(
                    "SELECT public_id FROM telegram_accounts WHERE tenant_id = $1 ORDER BY account_id "
                    "LIMIT 1",
                    tenant_id,
                )
            )
        )
    finally:
        await admin.close()


async def _understand(admin: Admin, tenant_id: TenantId, channels: list[ChannelId]) -> None:
    """Tags, an edit, a budget and a bill; and one channel is parked."""
    await admin.execute(
        """
        INSERT INTO post_enrichment (channel_id, message_id, kind, tier, provider, model, prompt_version,
            revision, data)
        SELECT c, 101, 'tags', 'local', 'local', 'rules', '1', 1, '{"tags": ["спорт"], "topic": "sport"}'
        FROM unnest($1::bigint[]) c
        """,
        channels,
    )
    await admin.execute(
        """
        INSERT INTO post_versions (channel_id, message_id, revision, text, content_hash, replaced_at,
            difference, meaning, weight)
        SELECT c, 102, 0, 'Было иначе', '', now() - interval '1 hour',
            ARRAY[0, 10, 5], '[["number", "", "5"]]', 6 FROM unnest($1::bigint[]) c
        """,
        channels,
    )
    await admin.execute(
        "INSERT INTO budgets (tenant_id, money_micro, month) VALUES ($1, 5000000, now())", tenant_id
    )
    await insert_row(
        admin,
        "usage",
        tenant_id=tenant_id,
        model="model",
        provider="provider",
        purpose="tagging",
        status="ok",
        at=datetime.now(UTC),
    )
    await admin.execute(
        "UPDATE channels SET parked_until = now() + interval '1 hour', parked_reason = 'it cannot be read' "
        "WHERE channel_id = $1",
        channels[2],
    )
