"""Records of channels are counted by a job, from the posts that a tenant sees."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.channels.record import ChannelRecord, RecordFact
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.posts.differences import difference
from telegram_assistant.domain.posts.post import Origin, Post
from telegram_assistant.errors import Missing
from telegram_assistant.features.channels.records import (
    count_records,
    load_record,
    load_records,
    posts_behind_number,
)
from telegram_assistant.language.meaning_changes import meaning_changes
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.posts.landing import Claim
from testkit.due_work import run_periodic
from testkit.factories import make_channel, make_page, make_post, make_subscription, make_tenant
from tests.conftest import Admin

NOW = datetime.now(UTC).replace(microsecond=0)
"""Records cover the last 30 days, and channels are followed now."""
BRIDGE = "В Ветрограде закрыли Вантовый мост через Белую: на опоре нашли трещину длиной 40 сантиметров."
DENIAL = "Мэрия Ветрограда опровергла сообщения о трещине на опоре Вантового моста через Белую."
HEATING = "Котельная на Портовой улице Камнегорска остановилась, без тепла остались 365 домов и больница."


def tell(channel_id: ChannelId, minute: int, text: str) -> Post:
    return make_post(
        channel_id=channel_id,
        message_id=minute + 1,
        text=text,
        posted_at=NOW - timedelta(days=2) + timedelta(minutes=minute),
    )


async def land(app: App, *posts: Post) -> list[PostId]:
    for post in posts:
        await app.system.landing.land(make_page(post), Claim(post.channel_id, 0))
    return [post.id for post in posts]


async def follow(app: App, *channels: ChannelId) -> TenantId:
    tenant_id = await make_tenant(app.system)
    for channel_id in channels:
        await app.system.channels.subscribe(tenant_id, make_subscription(channel_id))
    return tenant_id


async def count(app: App, tenant_id: TenantId, *channels: ChannelId) -> list[ChannelRecord]:
    await run_periodic(app, "channel_records", datetime.now(UTC) + timedelta(minutes=1))
    records = await load_records(channels, stores=app.tenant(tenant_id))
    return [records[channel_id] for channel_id in channels]


async def test_the_first_channel_and_those_that_take_from_it_are_counted(database: dict[str, str]) -> None:
    async with assemble(read_settings(database)) as app:
        herald, copyist, relay = sorted([await make_channel(app.system) for _ in range(3)])
        tenant_id = await follow(app, herald, copyist, relay)
        posts = [
            tell(herald, 0, BRIDGE),
            tell(copyist, 7, BRIDGE),
            replace(tell(relay, 9, BRIDGE), forwarded_from=Origin(herald, MessageId(1))),
            tell(copyist, 300, HEATING),
            tell(herald, 330, HEATING),
            tell(relay, 400, "Погода на завтра: ясно, ветер слабый."),
        ]
        await app.story_builder.group(await land(app, *posts), now=NOW)
        first, second, third = await count(app, tenant_id, herald, copyist, relay)
        assert (first.posts, first.stories, first.first, first.taken) == (2, 2, 1, 1)
        assert (second.posts, second.stories, second.first, second.taken) == (2, 2, 1, 1)
        assert (third.posts, third.stories, third.first, third.taken_share) == (2, 1, 0, 0.5)
        behind = await posts_behind_number(herald, RecordFact.FIRST, stores=app.tenant(tenant_id))
        assert [(post.post, post.other) for post in behind.posts] == [(posts[0].id, posts[1].id)]
        taken = await posts_behind_number(relay, RecordFact.TAKEN, stores=app.tenant(tenant_id))
        assert [post.post for post in taken.posts] == [posts[2].id]
        assert taken.posts[0].other == posts[0].id


async def test_a_record_names_the_stories_that_the_channel_told_first_and_by_how_much(
    database: dict[str, str],
) -> None:
    async with assemble(read_settings(database)) as app:
        herald, copyist = sorted([await make_channel(app.system) for _ in range(2)])
        tenant_id = await follow(app, herald, copyist)
        posts = [
            tell(herald, 0, BRIDGE),
            tell(copyist, 7, BRIDGE),
            tell(herald, 300, HEATING),
            tell(copyist, 330, HEATING),
        ]
        await app.story_builder.group(await land(app, *posts), now=NOW)
        stores = app.tenant(tenant_id)
        assert (await load_record(herald, stores=stores)).first_reports == (), "not counted yet"
        await count(app, tenant_id, herald, copyist)
        reports = (await load_record(herald, stores=stores)).first_reports
        assert [(report.post, report.next_post, report.lead) for report in reports] == [
            (posts[2].id, posts[3].id, timedelta(minutes=30)),
            (posts[0].id, posts[1].id, timedelta(minutes=7)),
        ]
        assert reports[0].headline.startswith("Котельная на Портовой улице Камнегорска остановилась")
        assert (await load_record(copyist, stores=stores)).first_reports == ()
        await stores.followed.leave(copyist)
        (unseen, _) = (await load_record(herald, stores=stores)).first_reports
        assert (unseen.next_channel, unseen.lead) == ("", None), "the tenant no longer sees the next post"


async def test_what_another_tenant_sees_counts_for_nothing(database: dict[str, str]) -> None:
    async with assemble(read_settings(database)) as app:
        early, late = sorted([await make_channel(app.system) for _ in range(2)])
        tenant_id = await follow(app, late)
        other_id = await follow(app, early, late)
        await app.story_builder.group(await land(app, tell(early, 0, BRIDGE), tell(late, 5, BRIDGE)), now=NOW)
        (own,) = await count(app, tenant_id, late)
        assert (own.posts, own.stories, own.first, own.taken) == (1, 0, 0, 0)
        records = await load_records([early, late], stores=app.tenant(other_id))
        assert (records[early].first, records[late].taken) == (1, 1)
        assert set(await load_records([early, late], stores=app.tenant(tenant_id))) == {late}
        with pytest.raises(Missing):
            await posts_behind_number(early, RecordFact.FIRST, stores=app.tenant(tenant_id))


async def test_open_corrections_quiet_edits_and_deletions_are_told_apart(
    database: dict[str, str], admin: Admin
) -> None:
    async with assemble(read_settings(database)) as app:
        channel_id = await make_channel(app.system)
        tenant_id = await follow(app, channel_id)
        quiet, plain, spelled = (
            tell(channel_id, 0, HEATING),
            tell(channel_id, 5, BRIDGE),
            tell(channel_id, 9, DENIAL),
        )
        openly = tell(channel_id, 20, f"Уточнение: домов без тепла 90. {HEATING}")
        await land(app, quiet, plain, spelled, openly)
        edits = [
            tell(channel_id, 0, HEATING.replace("365", "90")),
            tell(channel_id, 9, DENIAL.replace("сообщения", "сообщеня")),
        ]
        await land(app, *edits)
        await app.system.versions.keep(
            [
                (edit, difference(edit.before, edit.after), meaning_changes(edit.before, edit.after))
                for edit in await app.system.versions.list_uncompared([post.id for post in edits])
            ]
        )
        (record,) = await count(app, tenant_id, channel_id)
        assert (record.corrected, record.edited, record.deleted) == (1, 1, 0)
        edited = await posts_behind_number(channel_id, RecordFact.EDITED, stores=app.tenant(tenant_id))
        assert [(post.post, post.revision) for post in edited.posts] == [(quiet.id, 1)]
        gone_at = datetime.now(UTC) + timedelta(minutes=5)
        await admin.execute(
            "UPDATE posts SET deleted_at = $2 WHERE channel_id = $1 AND message_id = $3",
            channel_id,
            gone_at,
            plain.message_id,
        )
        await count_records(stores=app.tenant(tenant_id), now=gone_at)
        deleted = await posts_behind_number(channel_id, RecordFact.DELETED, stores=app.tenant(tenant_id))
        assert deleted.record is not None
        assert (deleted.record.deleted, len(deleted.posts)) == (1, 1)
        behind = await posts_behind_number(channel_id, RecordFact.CORRECTED, stores=app.tenant(tenant_id))
        assert [post.post for post in behind.posts] == [openly.id]


async def test_a_post_that_another_channel_later_denies_is_counted(database: dict[str, str]) -> None:
    async with assemble(read_settings(database)) as app:
        herald, officials = sorted([await make_channel(app.system) for _ in range(2)])
        tenant_id = await follow(app, herald, officials)
        posts = [tell(herald, 0, BRIDGE), tell(officials, 90, DENIAL)]
        await app.story_builder.group(await land(app, *posts), now=NOW)
        first, second = await count(app, tenant_id, herald, officials)
        assert (first.denied, second.denied) == (1, 0)
        behind = await posts_behind_number(herald, RecordFact.DENIED, stores=app.tenant(tenant_id))
        assert [(post.post, post.other) for post in behind.posts] == [(posts[0].id, posts[1].id)]
