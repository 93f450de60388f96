"""Albums: gathered by their group, told when complete, opened again by what comes late."""

from datetime import timedelta

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.events import AlbumParsed
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.streams.stage import bind
from telegram_simulator.control.operations import Control
from telegram_simulator.world.post import FileKind
from tests.conftest import Admin
from tests.ingest.office import Office, say, simulate_channel
from tests.streams.conftest import parsed_event


async def persist(office: Office, channel_id: ChannelId) -> None:
    """As the worker does with what was landed."""
    rows = await office.admin.fetch(
        "DELETE FROM outbox WHERE channel_id = $1 RETURNING message_id", channel_id
    )
    system = office.app.system
    await post_persistence(
        [parsed_event(row["message_id"], channel_id=channel_id) for row in rows],
        **bind(post_persistence, office.app.collaborators),
    )
    await system.albums.close(office.now())


async def load_albums(admin: Admin, channel_id: int) -> list[AlbumParsed]:
    rows = await admin.fetch(
        "SELECT payload FROM notices WHERE channel_id = $1 AND event = 'albums.parsed' ORDER BY created_at",
        channel_id,
    )
    return [AlbumParsed.model_validate_json(row["payload"]) for row in rows]


async def test_one_image_and_one_video_are_an_album(office: Office, control: Control, admin: Admin) -> None:
    channel = simulate_channel(control, posts=3)
    channel_id = await office.follow(channel)
    items = control.album(channel_id, [FileKind.JPEG, FileKind.MP4], "подпись")
    say(channel, "после него")
    await office.poll(channel_id)
    await persist(office, channel_id)
    (album,) = await load_albums(admin, channel_id)
    assert (album.message_ids, album.grouped_id, album.revision) == (
        tuple(item.message_id for item in items),
        items[0].grouped_id,
        1,
    )
    assert album.post_id == f"{channel_id}/{items[0].message_id}"


async def test_the_newest_album_of_a_channel_is_told_after_a_minute(
    office: Office, control: Control, admin: Admin
) -> None:
    channel_id = await office.follow(simulate_channel(control, posts=3))
    control.album(channel_id, [FileKind.JPEG] * 3)
    await office.poll(channel_id)
    await persist(office, channel_id)
    assert await load_albums(admin, channel_id) == []
    await office.app.system.albums.close(office.now() + timedelta(seconds=61))
    assert len(await load_albums(admin, channel_id)) == 1


async def test_an_item_that_comes_a_minute_late_joins_its_album(
    office: Office, control: Control, admin: Admin
) -> None:
    channel = simulate_channel(control, posts=3)
    channel_id = await office.follow(channel)
    items = [item.message_id for item in control.album(channel_id, [FileKind.JPEG] * 3)]
    control.delete(channel_id, [items[1]], deliver=False)  # it cannot be seen yet
    say(channel, "после него")
    await office.poll(channel_id)
    await persist(office, channel_id)
    assert [album.message_ids for album in await load_albums(admin, channel_id)] == [(items[0], items[2])]
    channel.restore(items[1])
    await office.poll(channel_id)
    await persist(office, channel_id)
    assert [(album.message_ids, album.revision) for album in await load_albums(admin, channel_id)] == [
        ((items[0], items[2]), 1),
        (tuple(items), 2),
    ]


async def test_the_same_items_again_change_nothing(office: Office, control: Control, admin: Admin) -> None:
    channel = simulate_channel(control, posts=3)
    channel_id = await office.follow(channel)
    items = control.album(channel_id, [FileKind.JPEG] * 2)
    say(channel, "после него")
    await office.poll(channel_id)
    await persist(office, channel_id)
    before = await admin.fetchrow("SELECT g.*, g.xmin FROM media_groups g WHERE channel_id = $1", channel_id)
    await post_persistence(
        [parsed_event(MessageId(item.message_id), channel_id=channel_id) for item in items],
        **bind(post_persistence, office.app.collaborators),
    )
    assert await office.app.system.albums.close(office.now() + timedelta(hours=1)) == 0
    assert (
        await admin.fetchrow("SELECT g.*, g.xmin FROM media_groups g WHERE channel_id = $1", channel_id)
        == before
    )
