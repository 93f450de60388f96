"""Every method of a tenant store, as one tenant uses it: which channels it learns of, or changes."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.tenants.access import KeyScope, new_key
from telegram_assistant.stores.postgres.channels.channels import ChannelFilter
from telegram_assistant.stores.postgres.search.search import (
    BEGINS,
    ENDS,
    FAR_FUTURE,
    SearchFilters,
    SearchPosition,
    SearchTerm,
)
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.tenants.idempotency import StoredResponse
from telegram_assistant.stores.postgres.tenants.keys import NewKey
from telegram_assistant.stores.postgres.understanding.enrichments import Kind
from testkit.factories import World
from tests.conftest import Admin
from tests.stores.postgres.adding_cases import ADDING_METHODS, join_channels
from tests.stores.postgres.channel_cases import CHANNEL_METHODS, open_channels, repeat_posts
from tests.stores.postgres.list_cases import LIST_METHODS, list_channels
from tests.stores.postgres.login_cases import LOGIN_METHODS, open_logins
from tests.stores.postgres.more_cases import MORE_METHODS, settle_in
from tests.stores.postgres.people_cases import PEOPLE_METHODS, await_news, invite_people
from tests.stores.postgres.story_cases import STORY_METHODS, channels_of, tell_story
from tests.stores.postgres.watch_cases import WATCH_METHODS, watch_channels

type Case = Callable[[TenantStores, World], Awaitable[set[ChannelId]]]


async def _feed_newest(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {stored.post.channel_id for stored in await stores.feed.newest(limit=1000)}


async def _feed_post(stores: TenantStores, world: World) -> set[ChannelId]:
    posts = [await stores.feed.post(PostId(channel_id, MessageId(1))) for channel_id in world.channels]
    return {stored.post.channel_id for stored in posts if stored}


async def _followed_channels(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {channel.channel_id for channel in await stores.followed.channels()}


async def _followed_names(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {channel.channel_id for channel in await stores.followed.names()}


async def _coverage_of(stores: TenantStores, world: World) -> set[ChannelId]:
    loaded = {
        channel_id: await stores.coverage_overview.load_coverage(channel_id) for channel_id in world.channels
    }
    assert all((status is None) == (ledger is None) for status, ledger in loaded.values())
    return {channel_id for channel_id, (status, _) in loaded.items() if status}


async def _words_find(stores: TenantStores, world: World) -> set[ChannelId]:
    matches = await stores.words.find(
        [SearchTerm(f"изоляция{world.a}")], SearchFilters(), before=SearchPosition(FAR_FUTURE)
    )
    among = SearchFilters(channels=world.channels)
    assert (
        await stores.words.find([SearchTerm(f"изоляция{world.a}")], among, before=SearchPosition(FAR_FUTURE))
        == matches
    )
    assert await stores.words.find([], among, before=SearchPosition(FAR_FUTURE)) == await stores.words.find(
        [], SearchFilters(), before=SearchPosition(FAR_FUTURE)
    )
    return {match.post_id.channel_id for match in matches.complete}


async def _words_mend(stores: TenantStores, world: World) -> set[ChannelId]:
    """A word that differs by a letter is named if the tenant sees it in a post."""
    assert await stores.words.mend("изолиция", budget=timedelta(seconds=10)) in {"изоляция", None}
    return await _words_find(stores, world)


async def _words_scope(stores: TenantStores, _world: World) -> set[ChannelId]:
    return set((await stores.words.scope()).in_force.policies)


async def _words_load(stores: TenantStores, world: World) -> set[ChannelId]:
    posts = [PostId(channel_id, MessageId(1)) for channel_id in world.channels]
    loaded = await stores.words.load(
        posts, channel_ids=world.channels, stories_until=datetime(2100, 1, 1, tzinfo=UTC)
    )
    assert {post_id.channel_id for post_id in loaded.posts} == set(loaded.channels)
    assert loaded.stories is None or channels_of(loaded.stories) == set(loaded.channels)
    return set(loaded.channels)


async def _words_marked(stores: TenantStores, world: World) -> set[ChannelId]:
    """It marks what it is given and reads nothing."""
    assert await stores.words.mark_words(["Снег"], "снега") == (f"{BEGINS}Снег{ENDS}",)
    return await _words_load(stores, world)


async def _keep_edited(stores: TenantStores, world: World) -> set[ChannelId]:
    posts = [PostId(channel_id, MessageId(number)) for channel_id in world.channels for number in range(1, 9)]
    return {post_id.channel_id for post_id in await stores.changed_posts.keep_edited(posts)}


async def _find_deleted(stores: TenantStores, world: World) -> set[ChannelId]:
    deleted = await stores.changed_posts.find_deleted("", SearchFilters(), before=SearchPosition(FAR_FUTURE))
    among = SearchFilters(channels=world.channels)
    assert await stores.changed_posts.find_deleted("", among, before=SearchPosition(FAR_FUTURE)) == deleted
    return {match.post_id.channel_id for match in deleted.matches}


async def _changes_since(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {
        change.channel_id
        for change in await stores.changes.since(datetime(2026, 1, 1, tzinfo=UTC), limit=1000)
    }


async def _load_media(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        file.post_id.channel_id
        for file in await stores.media.list_files(
            [PostId(channel_id, MessageId(1)) for channel_id in world.channels]
        )
    }


async def _media_showable(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for channel_id in world.channels
        if await stores.media.showable(PostId(channel_id, MessageId(1)), 0)
    }


async def _load_enrichments(stores: TenantStores, world: World) -> set[ChannelId]:
    posts = [PostId(channel_id, MessageId(1)) for channel_id in world.channels]
    return {post_id.channel_id for post_id in await stores.enrichments.load_best(posts, Kind.TAGS)}


async def _tags_choices(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {ChannelId(int(choice.tag)) for choice in await stores.tags.choices()}


async def _tags_choose(stores: TenantStores, world: World) -> set[ChannelId]:
    for choice in await stores.tags.choices():
        await stores.tags.choose(replace(choice, shown_as="other"))
    return await _tags_choices(stores, world)


async def _followed_some(stores: TenantStores, world: World) -> set[ChannelId]:
    return set(await stores.followed.some(world.channels))


async def _followed_page(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {channel.channel_id for channel in await stores.followed.page(ChannelFilter(), limit=1000)}


async def _keys_newest(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {ChannelId(int(key.name)) for key in await stores.keys.newest()}


async def _keys_find(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        key.key_id for tenant in (world.stores_a, world.stores_b) for key in await tenant.keys.newest()
    ]
    return {ChannelId(int(key.name)) for key_id in everybodys if (key := await stores.keys.find(key_id))}


async def _keys_make(stores: TenantStores, world: World) -> set[ChannelId]:
    """One more for each that is there already."""
    for name in {key.name for key in await stores.keys.newest()}:
        await stores.keys.make(NewKey(secret=new_key(), name=name, scopes=[KeyScope.READ], created_by="test"))
    return await _keys_newest(stores, world)


async def _keys_revoke(stores: TenantStores, world: World) -> set[ChannelId]:
    everybodys = [
        key.key_id
        for tenant in (world.stores_a, world.stores_b)
        for key in await tenant.keys.newest()
        if key.revoked_at is None
    ]
    for key_id in everybodys:
        await stores.keys.revoke(key_id)
    return {ChannelId(int(key.name)) for key in await stores.keys.newest() if key.revoked_at}


async def _audit_newest(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {ChannelId(int(entry.change.subject)) for entry in await stores.audit.newest(limit=1000)}


async def _audit_note(stores: TenantStores, world: World) -> set[ChannelId]:
    for entry in await stores.audit.newest(limit=1000):
        await stores.audit.note(entry.change)
    return await _audit_newest(stores, world)


async def _idempotency_take(stores: TenantStores, world: World) -> set[ChannelId]:
    """An answer is heard only by who was answered."""
    return {
        channel_id
        for channel_id in world.channels
        if await stores.idempotency.take(str(channel_id), b"request", seconds=60)
    }


async def _idempotency_keep(stores: TenantStores, world: World) -> set[ChannelId]:
    channel_ids = set()
    for channel_id in world.channels:
        await stores.idempotency.keep(str(channel_id), StoredResponse(200, b"another"))
        answer = await stores.idempotency.take(str(channel_id), b"request", seconds=60)
        channel_ids |= {channel_id} if answer else set()
    return channel_ids


async def _idempotency_give_back(stores: TenantStores, world: World) -> set[ChannelId]:
    for channel_id in world.channels:
        await stores.idempotency.give_back(str(channel_id))
    return await _idempotency_take(stores, world)


async def _forwards_visible(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {*(await stores.forwards.visible()).channels}


async def _forwards_forwardings(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {
        forwarding.channel_id
        for forwarding in await stores.forwards.forwardings(
            since=date(2026, 1, 1), of_channel_id=None, limit=1000
        )
    }


async def _forwards_forwards_of(stores: TenantStores, world: World) -> set[ChannelId]:
    forwards = await stores.forwards.list_forwards(
        PostId(ChannelId(world.a), MessageId(1)), since=date(2026, 1, 1), limit=1000
    )
    return {forward.post_id.channel_id for forward in forwards}


async def _forwards_appearances(stores: TenantStores, world: World) -> set[ChannelId]:
    posts = [PostId(channel_id, MessageId(1)) for channel_id in world.channels]
    return {appearance.post_id.channel_id for appearance in await stores.forwards.appearances(posts)}


METHODS: dict[str, Case] = {
    "feed.newest": _feed_newest,
    "feed.post": _feed_post,
    "followed.channels": _followed_channels,
    "followed.names": _followed_names,
    "followed.some": _followed_some,
    "followed.page": _followed_page,
    "keys.newest": _keys_newest,
    "keys.find": _keys_find,
    "keys.make": _keys_make,
    "keys.revoke": _keys_revoke,
    "audit.newest": _audit_newest,
    "audit.note": _audit_note,
    "idempotency.take": _idempotency_take,
    "idempotency.keep": _idempotency_keep,
    "idempotency.give_back": _idempotency_give_back,
    "coverage_overview.load_coverage": _coverage_of,
    "words.find": _words_find,
    "words.mend": _words_mend,
    "words.scope": _words_scope,
    "words.load": _words_load,
    "words.mark_words": _words_marked,
    "changed_posts.keep_edited": _keep_edited,
    "changed_posts.find_deleted": _find_deleted,
    "changes.since": _changes_since,
    "media.list_files": _load_media,
    "media.showable": _media_showable,
    "enrichments.load_best": _load_enrichments,
    "forwards.visible": _forwards_visible,
    "forwards.forwardings": _forwards_forwardings,
    "forwards.list_forwards": _forwards_forwards_of,
    "forwards.appearances": _forwards_appearances,
    "tags.choices": _tags_choices,
    "tags.choose": _tags_choose,
    **MORE_METHODS,
    **STORY_METHODS,
    **CHANNEL_METHODS,
    **ADDING_METHODS,
    **PEOPLE_METHODS,
    **LOGIN_METHODS,
    **LIST_METHODS,
    **WATCH_METHODS,
}


async def prepare(admin: Admin, world: World) -> None:
    """Something to see in every channel,
    and something of each tenant's own that is named after its channels.
    """
    await admin.execute(
        "INSERT INTO post_search SELECT c, 1, now(), to_tsvector('russian', $2) FROM unnest($1::bigint[]) c",
        list(world.channels),
        f"изоляция{world.a}",
    )
    await admin.execute(
        "UPDATE posts SET deleted_at = now() WHERE channel_id = ANY($1) AND message_id = 2",
        list(world.channels),
    )
    await admin.execute(
        "INSERT INTO post_versions (channel_id, message_id, revision, text, content_hash, replaced_at) "
        "SELECT c, 1, 1, 'before', '', now() FROM unnest($1::bigint[]) c",
        list(world.channels),
    )
    await admin.execute(
        "INSERT INTO post_media (channel_id, message_id, media_id, kind) SELECT c, 1, c, 'photo' "
        "FROM unnest($1::bigint[]) c",
        list(world.channels),
    )
    await admin.execute(
        """
        INSERT INTO post_enrichment (channel_id, message_id, kind, tier, provider, model, prompt_version,
            revision, data)
        SELECT c, 1, 'tags', 'local', '', '', '', 1, jsonb_build_object('tags', jsonb_build_array(c::text))
        FROM unnest($1::bigint[]) c
        """,
        list(world.channels),
    )
    await admin.execute(
        "UPDATE posts SET fwd_channel_id = $2 WHERE channel_id = ANY($1) AND message_id = 1",
        list(world.channels),
        world.a,
    )
    await admin.execute(
        "INSERT INTO forwards SELECT c, 1, $2, 1, now() FROM unnest($1::bigint[]) c",
        list(world.channels),
        world.a,
    )
    await tell_story(admin, world)
    await repeat_posts(admin, world)
    for tenant_id, own in ((world.a, world.of_a), (world.b, world.of_b)):
        await settle_in(admin, tenant_id, own)
        await join_channels(admin, tenant_id, own)
        await invite_people(admin, tenant_id, own)
        await await_news(admin, tenant_id, own)
        await open_logins(admin, tenant_id, own)
        await watch_channels(admin, tenant_id, own)
        await list_channels(admin, tenant_id, own)
        await admin.execute(
            "INSERT INTO tenant_tags SELECT $1, 'ru', c::text, NULL, true FROM unnest($2::bigint[]) c",
            tenant_id,
            list(own),
        )
        await admin.execute(
            """
            INSERT INTO api_keys (hash, tenant_id, name, prefix, scopes, created_by)
            SELECT sha256(concat($1::bigint, ' ', c)::bytea), $1, c::text, 'tga_', '{read}', 'test'
            FROM unnest($2::bigint[]) c
            """,
            tenant_id,
            list(own),
        )
        await admin.execute(
            "INSERT INTO audit_log (tenant_id, actor, action, subject) SELECT $1, 'test', 'test', c::text "
            "FROM unnest($2::bigint[]) c",
            tenant_id,
            list(own),
        )
        await admin.execute(
            """
            INSERT INTO idempotency_keys (tenant_id, key, request, taken_until, status, answer)
            SELECT $1, c::text, 'request'::bytea, now(), 200, 'an answer'::bytea FROM unnest($2::bigint[]) c
            """,
            tenant_id,
            list(own),
        )
    await open_channels(admin, world)
