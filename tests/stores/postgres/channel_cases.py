"""Activity of channels, and changes of several at once, method by method:
the rest of the cases in cases.py.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from telegram_assistant.domain.channels.record import ChannelRecord, RecordedPost, RecordFact
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.stores.postgres.channels.activity import SurroundedActivity
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription
from telegram_assistant.stores.postgres.stores import TenantStores
from testkit.factories import World
from testkit.stories import store_story
from tests.conftest import Admin

type Case = Callable[[TenantStores, World], Awaitable[set[ChannelId]]]


async def _channels(stores: TenantStores) -> set[ChannelId]:
    return {channel.channel_id for channel in await stores.followed.channels()}


async def _load_activity(stores: TenantStores, world: World) -> set[ChannelId]:
    now = datetime.now(UTC)
    surrounded = {
        channel: await stores.activity.load_activity(
            channel, zone=ZoneInfo("UTC"), promised=timedelta(minutes=30), now=now
        )
        for channel in world.channels
    }
    activities = {channel: its.activity for channel, its in surrounded.items() if its.activity}
    _check_accounts(surrounded, own=await _channels(stores))
    assert all(
        channel_activity.posts
        and channel_activity.deleted
        and sum(map(sum, channel_activity.hours)) == channel_activity.posts
        for channel_activity in activities.values()
    )
    return set(activities)


def _check_accounts(surrounded: dict[ChannelId, SurroundedActivity], *, own: set[ChannelId]) -> None:
    """Accounts are named after the channel, and each knows every channel there is."""
    accounts = {
        channel_id: {account.phone_masked for account in its.accounts}
        for channel_id, its in surrounded.items()
    }
    assert {channel_id for channel_id, names in accounts.items() if names} == own
    assert all(accounts[channel_id] == {str(channel) for channel in own} for channel_id in own)


async def _activity_recent(stores: TenantStores, world: World) -> set[ChannelId]:
    return {
        channel_id
        for channel_id, posts in (
            await stores.activity.recent(world.channels, since=datetime(2026, 1, 1, tzinfo=UTC))
        ).items()
        if posts
    }


async def _followed_change_all(stores: TenantStores, world: World) -> set[ChannelId]:
    own = await _channels(stores)
    assert await stores.followed.change_all(
        world.channels, Subscription(channel_id=NOT_KNOWN_YET, folder="test")
    ) == len(own)
    return {channel.channel_id for channel in await stores.followed.channels() if channel.folder == "test"}


async def _followed_leave_all(stores: TenantStores, world: World) -> set[ChannelId]:
    own = await _channels(stores)
    assert await stores.followed.leave_all(world.channels) == len(own)
    assert await _channels(stores) == set()
    return own


LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


async def _copied_posts(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {post.channel_id for post in await stores.networks.copied_posts(LONG_AGO, min_letters=1)}


async def _post_counts(stores: TenantStores, world: World) -> set[ChannelId]:
    return set(await stores.networks.post_counts(LONG_AGO, sorted(world.channels)))


async def _signed_channels(stores: TenantStores, _world: World) -> set[ChannelId]:
    return {signed.channel_id for signed in await stores.networks.signed_channels(LONG_AGO)}


async def _keep_networks(stores: TenantStores, world: World) -> set[ChannelId]:
    """Only its own channels are in a network afterwards, and in none when they are left out again."""
    own = await _channels(stores)
    assert await stores.networks.keep(dict.fromkeys(world.channels, world.shared[0])) == len(own)
    around = await stores.activity.load_activity(
        world.shared[0], zone=ZoneInfo("UTC"), promised=timedelta(minutes=30), now=datetime.now(UTC)
    )
    assert {sister.channel_id for sister in around.sisters} == own - {world.shared[0]}
    assert await stores.networks.keep({}) == len(own)
    return own


async def _due_channels(stores: TenantStores, _world: World) -> set[ChannelId]:
    return set(await stores.habits.due_channels(0))


async def _recent_texts(stores: TenantStores, world: World) -> set[ChannelId]:
    texts = await stores.habits.recent_texts(LONG_AGO, sorted(world.channels))
    return {channel_id for channel_id, recent in texts.items() if recent}


async def _keep_habits(stores: TenantStores, world: World) -> set[ChannelId]:
    """Only its own channels have habits afterwards, and none when they are gone again."""
    own = await _channels(stores)
    assert await stores.habits.keep(dict.fromkeys(world.channels, (1, -2))) == len(own)
    assert await stores.habits.keep(dict.fromkeys(world.channels, (1, -2))) == 0
    assert await stores.habits.keep(dict.fromkeys(world.channels, ())) == len(own)
    return own


async def _find_record_stories(stores: TenantStores, _world: World) -> set[ChannelId]:
    """A story of which the tenant sees several channels, with its own posts alone."""
    story_ids = await stores.records.find_stories(LONG_AGO, datetime.now(UTC))
    material = await stores.stories.some(story_ids, until=datetime.now(UTC))
    return {post.channel_id for group in material.groups for post in group.posts}


async def _count_posts(stores: TenantStores, world: World) -> set[ChannelId]:
    counted = await stores.records.count_posts(LONG_AGO, datetime.now(UTC), sorted(world.channels))
    assert all(counts.posts and counts.deleted for counts in counted)
    return {counts.channel_id for counts in counted}


async def _find_corrections(stores: TenantStores, world: World) -> set[ChannelId]:
    """Nobody corrects anything here."""
    assert not await stores.records.find_corrections(LONG_AGO, datetime.now(UTC), sorted(world.channels))
    return await _channels(stores)


async def _find_edits(stores: TenantStores, world: World) -> set[ChannelId]:
    """Nobody edits a number here."""
    assert not await stores.records.find_edits(LONG_AGO, datetime.now(UTC), sorted(world.channels))
    return await _channels(stores)


async def _keep_records(stores: TenantStores, world: World) -> set[ChannelId]:
    """Records of channels that it does not follow are not shown, and others' records are not replaced."""
    assert await stores.records.some() == {}, "others have counted"
    now = datetime.now(UTC)
    records = [
        ChannelRecord(channel_id=channel_id, since=LONG_AGO, counted_at=now)
        for channel_id in sorted(world.channels)
    ]
    posts = [
        RecordedPost(RecordFact.CORRECTED, PostId(channel_id, MessageId(1)))
        for channel_id in sorted(world.channels)
    ]
    await stores.records.keep(records, posts)
    own = set(await stores.records.some(world.channels))
    behind = {
        post.post.channel_id
        for channel_id in world.channels
        for post in (await stores.records.with_posts(channel_id, RecordFact.CORRECTED, limit=5))[1]
    }
    await stores.records.keep([], [])
    assert behind == own
    return own


CHANNEL_METHODS: dict[str, Case] = {
    "activity.load_activity": _load_activity,
    "activity.recent": _activity_recent,
    "networks.copied_posts": _copied_posts,
    "networks.post_counts": _post_counts,
    "networks.signed_channels": _signed_channels,
    "networks.keep": _keep_networks,
    "records.find_stories": _find_record_stories,
    "records.count_posts": _count_posts,
    "records.find_corrections": _find_corrections,
    "records.find_edits": _find_edits,
    "records.keep": _keep_records,
    "records.some": _keep_records,
    "records.with_posts": _keep_records,
    "habits.due_channels": _due_channels,
    "habits.recent_texts": _recent_texts,
    "habits.keep": _keep_habits,
    "followed.change_all": _followed_change_all,
    "followed.leave_all": _followed_leave_all,
}


async def open_channels(admin: Admin, world: World) -> None:
    """Every account of both tenants can open every channel, as far as Telegram is concerned."""
    await admin.execute(
        """
        INSERT INTO account_channels (account_id, channel_id, access_hash)
        SELECT a.account_id, c, 1 FROM telegram_accounts a CROSS JOIN unnest($1::bigint[]) c
        WHERE a.tenant_id = ANY($2)
        """,
        list(world.channels),
        [world.a, world.b],
    )


async def repeat_posts(admin: Admin, world: World) -> None:
    """Every channel copies one that both tenants follow, and signs with the same invitation."""
    await admin.execute(
        """
        UPDATE posts SET entities = $2::jsonb, text = 'Снег в городе', fwd_channel_id = NULL
        WHERE channel_id = ANY($1) AND message_id = 2
        """,
        list(world.channels),
        '[{"kind": "text_link", "offset": 0, "length": 4, "url": "https://t.me/+AbCdEfGh12"}]',
    )
    posts = {channel: PostId(channel, MessageId(2)) for channel in world.channels}
    copied = posts[world.shared[0]]
    copies = [(post, copied, LinkKind.COPY, 9.0, False) for post in posts.values() if post != copied]
    await store_story(admin, list(posts.values()), copies)
