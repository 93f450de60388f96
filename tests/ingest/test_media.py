"""Files of posts: fetched once, resumed where they were, stored under what they are."""

import asyncio
from hashlib import sha256
from pathlib import Path

import pytest

from telegram_assistant.domain.ids import MessageId
from telegram_assistant.domain.media.files import MAX_ATTEMPTS
from telegram_assistant.errors import Busy, Flooded
from telegram_assistant.ingest.media import MediaFetcher
from telegram_assistant.ingest.spool import Spool
from telegram_assistant.settings import FilesSettings, Settings, read_settings
from telegram_assistant.stores.files import open_files
from telegram_assistant.telemetry.health import Health
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.post import FileKind
from tests.conftest import Admin
from tests.ingest.library import Library, count_spooled_bytes, open_library

MEGABYTE = 1024 * 1024
PART = MEGABYTE // 2
SECOND_DC = 4


def calls(library: Library, method: str = "upload.getFile") -> int:
    return library.office.calls(method)


async def test_every_file_is_stored_with_the_bytes_it_has_at_telegram(
    library: Library, tmp_path: Path
) -> None:
    channel_id = await library.channel()
    for kind, size in (
        (FileKind.JPEG, 60_000),
        (FileKind.PNG, 90_000),
        (FileKind.MP4, 3 * MEGABYTE + 17),
        (FileKind.PDF, PART),
    ):
        library.control.post(channel_id, media=kind, size=size)
    await library.read(channel_id)
    assert await library.fetcher.step()
    assert not await library.fetcher.step()
    rows = await library.rows(channel_id)
    assert [row["state"] for row in rows] == ["stored"] * 4
    for row in rows:
        name = row["sha256"].hex()
        assert name == library.truth(channel_id, row["message_id"])
        assert sha256(await library.content(name)).hexdigest() == name
    assert library.sim.counters.file_bytes == sum(row["size_bytes"] for row in rows)
    assert calls(library, "channels.getMessages") == 1
    assert count_spooled_bytes(tmp_path) == 0


async def test_the_last_file_of_a_post_is_told_with_all_hashes(library: Library) -> None:
    channel_id = await library.channel()
    post = library.control.post(channel_id, media=FileKind.JPEG)
    await library.read(channel_id)
    assert await library.load_notices(channel_id) == []
    await library.fetcher.step()
    (event,) = await library.load_notices(channel_id)
    assert event.post_id == f"{channel_id}/{post.message_id}"
    assert event.media == (library.truth(channel_id, post.message_id),)
    await library.read(channel_id)
    assert len(await library.load_notices(channel_id)) == 1


async def test_a_dropped_connection_goes_on_at_the_offset(library: Library) -> None:
    size = 4 * MEGABYTE
    channel_id = await library.channel()
    library.control.post(channel_id, media=FileKind.MP4, size=size)
    await library.read(channel_id)
    for number in (1, 2, 3):
        library.sim.faults.latency_seconds = 0.01
        dropping = asyncio.create_task(library.when_fetched(number * MEGABYTE, library.sim.drop_connections))
        with pytest.raises(Busy):
            await library.fetcher.step()
        await dropping
    assert await library.fetcher.step()
    (row,) = await library.rows(channel_id)
    assert row["sha256"].hex() == library.truth(channel_id, row["message_id"])
    assert library.sim.counters.file_bytes <= size + 3 * PART


async def test_a_reference_that_expires_within_a_file_is_renewed_and_no_byte_is_asked_for_twice(
    library: Library,
) -> None:
    size = 3 * MEGABYTE
    channel_id = await library.channel()
    library.control.post(channel_id, media=FileKind.PDF, size=size)
    await library.read(channel_id)
    library.sim.faults.latency_seconds = 0.005
    expiring = asyncio.create_task(library.when_fetched(MEGABYTE, library.control.expire_references))
    await library.fetcher.step()
    await expiring
    (row,) = await library.rows(channel_id)
    assert row["state"] == "stored"
    assert library.sim.counters.file_bytes == size
    assert library.sim.counters.errors["FILE_REFERENCE_EXPIRED"] == 1
    assert calls(library, "channels.getMessages") == 2


async def test_a_flood_within_a_file_is_waited_for_and_the_file_goes_on_at_the_offset(
    library: Library,
) -> None:
    size = 3 * MEGABYTE
    channel_id = await library.channel()
    library.control.post(channel_id, media=FileKind.MP4, size=size)
    await library.read(channel_id)
    library.control.set_limit("upload.getFile", [(3, 60.0, 30)])
    with pytest.raises(Flooded):
        await library.fetcher.step()
    assert library.sim.counters.errors["FLOOD_PREMIUM_WAIT_30"] == 1
    with pytest.raises(Flooded):
        await library.fetcher.step()
    assert calls(library) == 4  # during the wait nothing was sent
    library.control.set_limit("upload.getFile", [])
    library.office.skipping.waits.append(60.0)
    await library.fetcher.step()
    assert [row["state"] for row in await library.rows(channel_id)] == ["stored"]
    assert library.sim.counters.file_bytes == size


async def test_a_vanished_message_counts_against_the_attempts_and_is_given_up(library: Library) -> None:
    channel_id = await library.channel()
    post = library.control.post(channel_id, media=FileKind.JPEG)
    library.control.post(channel_id, media=FileKind.JPEG, size=70_000)
    await library.read(channel_id)
    library.control.delete(channel_id, [post.message_id])
    for _ in range(MAX_ATTEMPTS):
        assert await library.fetcher.step()
        await library.make_due()
    assert not await library.fetcher.step()
    rows = await library.rows(channel_id)
    assert [row["state"] for row in rows] == ["given_up", "stored"]
    assert "gone" in rows[0]["reason"]
    media = {event.post.message_id: event.media for event in await library.load_notices(channel_id)}
    assert media[MessageId(post.message_id)] == ()


async def test_a_file_name_of_any_length_is_kept_and_is_never_a_path(
    library: Library, tmp_path: Path
) -> None:
    channel_id = await library.channel()
    names = ["ж" * 200 + ".pdf", "../../../../etc/passwd", "/a/b"]
    for name in names:
        library.control.post(channel_id, media=FileKind.PDF, size=70_000, name=name)
    await library.read(channel_id)
    await library.fetcher.step()
    rows = await library.rows(channel_id)
    assert [row["file_name"] for row in rows] == names
    assert {row["state"] for row in rows} == {"stored"}
    stored = [path.name for path in (tmp_path / "files").rglob("*") if path.is_file()]
    assert sorted(stored) == sorted(row["sha256"].hex() for row in rows)


async def test_one_file_in_several_posts_and_channels_is_fetched_once(library: Library) -> None:
    first, second = await library.channel(), await library.channel()
    post = library.control.post(first, media=FileKind.MP4, size=MEGABYTE)
    library.control.post(first, same_file=(first, post.message_id))
    library.control.post(second, same_file=(first, post.message_id))
    await library.read(first, second)
    while await library.fetcher.step():
        pass
    later = await library.channel()
    library.control.post(later, same_file=(first, post.message_id))
    await library.read(later)
    rows = [row for channel_id in (first, second, later) for row in await library.rows(channel_id)]
    assert [row["state"] for row in rows] == ["stored"] * 4
    assert {row["sha256"].hex() for row in rows} == {library.truth(first, post.message_id)}
    assert library.sim.counters.file_bytes == MEGABYTE
    assert len(await library.load_notices(later)) == 1


async def test_what_was_fetched_before_a_crash_is_not_fetched_again(library: Library, tmp_path: Path) -> None:
    size = 3 * MEGABYTE
    channel_id = await library.channel()
    library.control.post(channel_id, media=FileKind.MP4, size=size)
    await library.read(channel_id)
    library.sim.faults.latency_seconds = 0.01
    fetching = asyncio.create_task(library.fetcher.step())
    await library.when_fetched(2 * MEGABYTE, fetching.cancel)
    await asyncio.wait([fetching])
    assert 0 < count_spooled_bytes(tmp_path) < size
    library.sim.faults.latency_seconds = 0
    await library.reopen().step()
    assert [row["state"] for row in await library.rows(channel_id)] == ["stored"]
    assert library.sim.counters.file_bytes <= size + 2 * PART


async def test_a_piece_that_was_cut_by_a_crash_is_asked_for_again(library: Library, tmp_path: Path) -> None:
    channel_id = await library.channel()
    post = library.control.post(channel_id, media=FileKind.MP4, size=MEGABYTE)
    file = library.sim.world.file_of(channel_id, post.message_id)
    assert file is not None
    (tmp_path / "spool").mkdir()
    (tmp_path / f"spool/d{file.file_id}.part").write_bytes(b"torn" * 1000)
    await library.read(channel_id)
    await library.fetcher.step()
    (row,) = await library.rows(channel_id)
    assert row["sha256"].hex() == library.truth(channel_id, post.message_id)


@pytest.mark.turns("MEDIA_SPOOL_DIR")
async def test_while_the_store_is_away_files_wait_in_the_spool_and_are_fetched_once(
    installation: Settings, sim: Simulator, admin: Admin, environ: dict[str, str], tmp_path: Path
) -> None:
    settings = read_settings({**environ, "MEDIA_SPOOL_DIR": str(tmp_path / "spool")}).files
    away = settings.model_copy(update={"endpoint": "http://127.0.0.1:1"})
    async with open_library(installation, sim, admin, settings) as library:
        channel_id = await library.channel()
        for size in (70_000, 80_000, MEGABYTE):
            library.control.post(channel_id, media=FileKind.PDF, size=size)
        await library.read(channel_id)
        await library.reopen(away).step()
        assert [row["state"] for row in await library.rows(channel_id)] == ["wanted"] * 3
        assert count_spooled_bytes(tmp_path) == sim.counters.file_bytes == 70_000 + 80_000 + MEGABYTE
        assert (
            await admin.fetchval("SELECT max(attempts) FROM media_jobs WHERE channel_id = $1", channel_id)
            == 0
        )
        await library.make_due()
        await library.fetcher.step()
        rows = await library.rows(channel_id)
        assert [row["sha256"].hex() for row in rows] == [
            library.truth(channel_id, row["message_id"]) for row in rows
        ]
        assert [await library.files.load_size(row["sha256"]) for row in rows] == [
            row["size_bytes"] for row in rows
        ]
    assert sim.counters.file_bytes == 70_000 + 80_000 + MEGABYTE
    assert count_spooled_bytes(tmp_path) == 0


async def always_room(_size_bytes: int) -> None:
    return None


async def test_no_more_is_fetched_ahead_than_the_spool_may_hold(library: Library, tmp_path: Path) -> None:
    channel_id = await library.channel()
    for _ in range(3):
        library.control.post(channel_id, media=FileKind.JPEG)
    await library.read(channel_id)
    away = open_files(FilesSettings(endpoint="http://127.0.0.1:1", bucket="x"))
    assert away is not None
    small = MediaFetcher(
        library.office.line,
        account_id=library.office.mine.account_id,
        media=library.office.app.system.media,
        files=away,
        spool=Spool(tmp_path / "spool", max_bytes=130_000),
        why_paused=always_room,
        health=Health(probes={}),
        stopping=library.office.stopping,
    )
    with pytest.raises(Busy, match="temporary storage is full"):
        await small.step()
    assert count_spooled_bytes(tmp_path) == 120_000


async def test_news_come_before_history_and_photos_before_the_rest(library: Library) -> None:
    channel_id = await library.channel()
    for kind in (FileKind.MP4, FileKind.JPEG, FileKind.PDF, FileKind.JPEG):
        library.control.post(channel_id, media=kind, size=70_000)
    await library.read(channel_id)
    await library.office.admin.execute(
        "UPDATE media_jobs SET lane = CASE WHEN message_id > 2 THEN 'bulk' ELSE 'live' END "
        "WHERE channel_id = $1",
        channel_id,
    )
    due = await library.office.app.system.media.due(library.office.mine.account_id, max_jobs=10)
    assert [job.message_id for job in due] == [2, 1, 4, 3]


async def test_polls_go_on_while_files_are_fetched(library: Library) -> None:
    channel_id = await library.channel()
    library.control.post(channel_id, media=FileKind.MP4, size=6 * MEGABYTE)
    await library.read(channel_id)
    library.sim.faults.latency_seconds = 0.03
    fetching = asyncio.create_task(library.fetcher.step())
    await library.when_fetched(MEGABYTE, lambda: None)
    library.control.post(channel_id, "свежее")
    await library.office.poll(channel_id)
    assert not fetching.done()
    assert "свежее" in (await library.office.load_texts(channel_id)).values()
    await fetching
