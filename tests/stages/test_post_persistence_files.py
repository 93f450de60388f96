"""post_persistence: the files of a post, whether they are wanted, and what is told when none is."""

from typing import Any

import pytest

from telegram_assistant.assembly import assemble
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.domain.posts.post import fingerprint
from telegram_assistant.events import PostVisionUploaded
from telegram_assistant.features.media.upkeep import reconsider
from telegram_assistant.settings import read_settings
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from testkit.factories import fresh_number, make_channel, make_page, make_post, make_tenant
from tests.conftest import Admin
from tests.stages.test_post_persistence import collaborators
from tests.streams.conftest import parsed_event


def photo(media_id: int | None = None, size_bytes: int = 1000) -> dict[str, Any]:
    return {
        "media": {"kind": "photo", "id": media_id or fresh_number(), "size_bytes": size_bytes, "dc_id": 2}
    }


async def follow_channel(
    system: SystemStores, *, tenant_id: TenantId | None = None, protected: bool = False, **wish: Any
) -> ChannelId:
    channel_id = await make_channel(system, protected=protected)
    await system.channels.subscribe(
        tenant_id or await make_tenant(system), Subscription(channel_id=channel_id, **wish)
    )
    return channel_id


async def persist(
    system: SystemStores,
    channel_id: ChannelId,
    rules: dict[str, Any] | None = None,
    *,
    lane: Lane = Lane.LIVE,
    **post: Any,
) -> None:
    content_hash = fingerprint(str(post.get("facts")) + post.get("text", ""))
    landed = make_post(channel_id=channel_id, content_hash=content_hash, **post)
    await system.landing.land(make_page(landed, lane=lane), Claim(channel_id, 0))
    await post_persistence(
        [parsed_event(landed.message_id, channel_id=channel_id)], **collaborators(system, **(rules or {}))
    )


async def load_file(admin: Admin, channel_id: ChannelId) -> tuple[str, str | None]:
    row = await admin.fetchrow("SELECT state, reason FROM post_media WHERE channel_id = $1", channel_id)
    assert row is not None
    return row["state"], row["reason"]


async def jobs(admin: Admin, channel_id: ChannelId) -> int:
    count: int = await admin.fetchval("SELECT count(*) FROM media_jobs WHERE channel_id = $1", channel_id)
    return count


async def load_uploaded(admin: Admin, channel_id: ChannelId) -> list[tuple[PostVisionUploaded, str]]:
    rows = await admin.fetch(
        "SELECT payload, lane FROM notices WHERE channel_id = $1 ORDER BY created_at", channel_id
    )
    return [(PostVisionUploaded.model_validate_json(row["payload"]), row["lane"]) for row in rows]


async def test_a_wanted_file_is_queued_in_the_lane_of_its_post_and_nothing_is_told_yet(
    system: SystemStores, admin: Admin
) -> None:
    channel_id = await follow_channel(system)
    await persist(system, channel_id, facts=photo(), lane=Lane.BULK)
    assert await load_file(admin, channel_id) == ("wanted", None)
    assert await admin.fetchval("SELECT lane FROM media_jobs WHERE channel_id = $1", channel_id) == "bulk"
    assert await load_uploaded(admin, channel_id) == []


async def test_a_post_whose_files_are_all_skipped_is_told_at_once_in_its_lane(
    system: SystemStores, admin: Admin
) -> None:
    channel_id = await follow_channel(system, wants_media=False)
    await persist(system, channel_id, facts=photo(), lane=Lane.BULK)
    assert await load_file(admin, channel_id) == ("skipped", "not_wanted")
    ((event, lane),) = await load_uploaded(admin, channel_id)
    assert (event.media, event.revision, lane) == ((), 1, "bulk")


async def test_a_post_without_files_is_not_told(system: SystemStores, admin: Admin) -> None:
    channel_id = await follow_channel(system)
    await persist(system, channel_id)
    assert await load_uploaded(admin, channel_id) == []


async def test_an_edit_that_shows_another_file_replaces_it_and_one_that_shows_none_forgets_it(
    system: SystemStores, admin: Admin
) -> None:
    channel_id, edited_at = await follow_channel(system), make_post().posted_at
    first, second = fresh_number(), fresh_number()
    await persist(system, channel_id, facts=photo(first))
    await persist(system, channel_id, facts=photo(second), edited_at=edited_at)
    assert await admin.fetchval(
        "SELECT array_agg(media_id) FROM media_jobs WHERE channel_id = $1", channel_id
    ) == [second]
    assert await admin.fetchval(
        "SELECT array_agg(media_id) FROM post_media WHERE channel_id = $1", channel_id
    ) == [second]
    await persist(system, channel_id, text="без картинки", edited_at=edited_at)
    assert await jobs(admin, channel_id) == 0
    assert await admin.fetchval("SELECT count(*) FROM post_media WHERE channel_id = $1", channel_id) == 0


async def test_every_revision_of_a_post_with_files_is_told(system: SystemStores, admin: Admin) -> None:
    channel_id, facts = await follow_channel(system, wants_media=False), photo()
    await persist(system, channel_id, facts=facts)
    await persist(system, channel_id, facts=facts, text="исправлено", edited_at=make_post().posted_at)
    assert [event.revision for event, _ in await load_uploaded(admin, channel_id)] == [1, 2]


@pytest.mark.turns("MEDIA_MAX_BYTES")
async def test_a_file_above_the_limit_is_skipped_and_comes_back_when_the_limit_rises(
    system: SystemStores, admin: Admin, database: dict[str, str], tmp_path: Any
) -> None:
    channel_id = await follow_channel(system)
    async with assemble(
        read_settings({**database, "S3_ENDPOINT": "", "FILES_DIR": str(tmp_path), "MEDIA_MAX_BYTES": "999"})
    ) as app:
        await persist(
            system, channel_id, {"max_bytes": app.media_rules.max_bytes}, facts=photo(size_bytes=1000)
        )
    assert await load_file(admin, channel_id) == ("skipped", "size")
    async with assemble(
        read_settings({**database, "S3_ENDPOINT": "", "FILES_DIR": str(tmp_path), "MEDIA_MAX_BYTES": "1000"})
    ) as app:
        assert (
            await reconsider(media=app.system.media, upkeep=app.system.media_upkeep, rules=app.media_rules)
            > 0
        )
    assert await load_file(admin, channel_id) == ("wanted", None)
    assert await jobs(admin, channel_id) == 1


async def test_without_a_place_for_files_they_are_skipped(system: SystemStores, admin: Admin) -> None:
    channel_id = await follow_channel(system)
    await persist(system, channel_id, {"has_place": False}, facts=photo())
    assert await load_file(admin, channel_id) == ("skipped", "no_place")


async def test_protected_channels_and_messages_keep_none_unless_a_subscription_says_so(
    system: SystemStores, admin: Admin
) -> None:
    for protected, facts, keeps, expected in (
        (True, photo(), False, ("skipped", "protected")),
        (False, photo() | {"noforwards": True}, False, ("skipped", "protected")),
        (True, photo(), True, ("wanted", None)),
    ):
        channel_id = await follow_channel(system, protected=protected, keeps_protected=keeps)
        await persist(system, channel_id, facts=facts)
        assert await load_file(admin, channel_id) == expected


@pytest.mark.turns("MEDIA_QUOTA_BYTES")
async def test_over_the_quota_files_are_skipped_until_there_is_room(
    system: SystemStores, pool: Pool, admin: Admin, database: dict[str, str], tmp_path: Any
) -> None:
    tenant_id = await make_tenant(system)
    channels = [await follow_channel(system, tenant_id=tenant_id) for _ in range(3)]
    environ = {**database, "S3_ENDPOINT": "", "FILES_DIR": str(tmp_path), "MEDIA_QUOTA_BYTES": "2500"}
    async with assemble(read_settings(environ)) as app:
        rules = app.media_rules
    for channel_id in channels:
        await persist(system, channel_id, {"quota_bytes": rules.quota_bytes}, facts=photo(size_bytes=1000))
    assert [await load_file(admin, channel) for channel in channels] == [
        ("wanted", None),
        ("wanted", None),
        ("skipped", "quota"),
    ]
    used = "SELECT media_bytes FROM quotas WHERE tenant_id = $1"
    assert await admin.fetchval(used, tenant_id) == 2000
    await tenant_stores(pool, tenant_id).followed.leave(channels[0])
    await system.media_upkeep.count()
    assert await admin.fetchval(used, tenant_id) == 1000
    await reconsider(media=system.media, upkeep=system.media_upkeep, rules=rules)
    assert await load_file(admin, channels[2]) == ("wanted", None)
    assert await admin.fetchval(used, tenant_id) == 2000


async def test_files_count_in_full_for_each_tenant_that_wants_them(
    system: SystemStores, admin: Admin
) -> None:
    first, other, unwilling = [await make_tenant(system) for _ in range(3)]
    channel_id = await follow_channel(system, tenant_id=first)
    await system.channels.subscribe(other, Subscription(channel_id=channel_id))
    await system.channels.subscribe(unwilling, Subscription(channel_id=channel_id, wants_media=False))
    facts = photo(size_bytes=1000)
    for _ in range(2):
        await persist(system, channel_id, facts=facts)
    rows = await admin.fetch("SELECT * FROM quotas WHERE tenant_id = ANY($1)", [first, other, unwilling])
    assert {row["tenant_id"]: row["media_bytes"] for row in rows} == {first: 1000, other: 1000}


async def test_private_media_are_fetched_by_an_account_of_a_tenant_that_keeps_them(
    system: SystemStores, admin: Admin
) -> None:
    stranger, keeper = await make_tenant(system), await make_tenant(system)
    channel_id = await make_channel(system, is_private=True)
    accounts = {}
    for tenant_id in (stranger, keeper):
        accounts[tenant_id] = await system.accounts.add(tenant_id)
        await admin.execute(
            "UPDATE telegram_accounts SET state = 'active' WHERE account_id = $1", accounts[tenant_id]
        )
        await admin.execute(
            "INSERT INTO account_channels (account_id, channel_id, access_hash, read_at) "
            "VALUES ($1, $2, 1, now())",
            accounts[tenant_id],
            channel_id,
        )
        await system.channels.subscribe(
            tenant_id, Subscription(channel_id=channel_id, keeps_protected=tenant_id == keeper)
        )
    await admin.execute(
        "UPDATE poll_schedule SET account_id = $1 WHERE channel_id = $2", accounts[stranger], channel_id
    )
    await persist(system, channel_id, facts=photo())
    assert (
        await admin.fetchval("SELECT account_id FROM media_jobs WHERE channel_id = $1", channel_id)
        == accounts[keeper]
    )
    await admin.execute("DELETE FROM telegram_accounts WHERE account_id = ANY($1)", list(accounts.values()))


async def test_jobs_follow_the_reader_of_their_channel(system: SystemStores, admin: Admin) -> None:
    tenant_id = await make_tenant(system)
    channel_id = await follow_channel(system, tenant_id=tenant_id)
    await persist(system, channel_id, facts=photo())
    assert await admin.fetchval("SELECT account_id FROM media_jobs WHERE channel_id = $1", channel_id) is None
    account_id = await system.accounts.add(tenant_id)
    await admin.execute("UPDATE telegram_accounts SET state = 'active' WHERE account_id = $1", account_id)
    await admin.execute(
        "INSERT INTO account_channels (account_id, channel_id, access_hash) VALUES ($1, $2, 1)",
        account_id,
        channel_id,
    )
    await system.planning.give_accounts()
    assert (
        await admin.fetchval("SELECT account_id FROM media_jobs WHERE channel_id = $1", channel_id)
        == account_id
    )
    await admin.execute("DELETE FROM telegram_accounts WHERE account_id = $1", account_id)
