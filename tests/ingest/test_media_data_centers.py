"""Files in data centres that are not the account's own."""

import asyncio
from pathlib import Path

import pytest

from telegram_assistant.errors import LeaseLost
from telegram_assistant.settings import Settings
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.post import FileKind
from tests.conftest import Admin
from tests.ingest.library import Library, in_folder, open_library
from tests.ingest.test_media import MEGABYTE, PART, calls
from tests.streams.conftest import until

SECOND_DC = 4


async def nobody_connected(library: Library) -> bool:
    return not library.sim.connections


async def test_a_file_in_another_data_centre_is_asked_for_there_at_once(library: Library) -> None:
    channel_id = await library.channel()
    for _ in range(3):
        library.control.post(channel_id, media=FileKind.JPEG, dc_id=SECOND_DC)
    await library.read(channel_id)
    await library.fetcher.step()
    rows = await library.rows(channel_id)
    assert [row["sha256"].hex() for row in rows] == [
        library.truth(channel_id, row["message_id"]) for row in rows
    ]
    assert calls(library) == 3
    assert calls(library, "auth.exportAuthorization") == calls(library, "auth.importAuthorization") == 1
    assert not any(error.startswith("FILE_MIGRATE") for error in library.sim.counters.errors)


async def test_the_other_data_centre_may_drop_us_and_the_login_there_is_kept(library: Library) -> None:
    size = 3 * MEGABYTE
    channel_id = await library.channel()
    library.control.post(channel_id, media=FileKind.MP4, size=size, dc_id=SECOND_DC)
    await library.read(channel_id)
    library.sim.faults.latency_seconds = 0.01
    dropping = asyncio.create_task(library.when_fetched(MEGABYTE, library.sim.drop_connections))
    await library.fetcher.step()
    await dropping
    await library.make_due()
    await library.fetcher.step()
    assert [row["state"] for row in await library.rows(channel_id)] == ["stored"]
    assert library.sim.counters.file_bytes <= size + PART
    assert calls(library, "auth.importAuthorization") == 1


async def test_a_data_centre_that_is_away_holds_up_no_other(library: Library) -> None:
    channel_id = await library.channel()
    for dc_id in (SECOND_DC, SECOND_DC, 2, 2):
        library.control.post(channel_id, media=FileKind.JPEG, dc_id=dc_id)
    await library.read(channel_id)
    library.sim.ports[SECOND_DC] = 1
    await library.fetcher.step()
    assert [row["state"] for row in await library.rows(channel_id)] == [
        "wanted",
        "wanted",
        "stored",
        "stored",
    ]
    assert not await library.fetcher.step()


async def test_a_login_that_the_other_data_centre_has_forgotten_is_taken_there_again(
    library: Library,
) -> None:
    channel_id = await library.channel()
    library.control.post(channel_id, media=FileKind.JPEG, dc_id=SECOND_DC)
    await library.read(channel_id)
    library.control.fail("upload.getFile", code=401, message="AUTH_KEY_UNREGISTERED")
    await library.fetcher.step()
    assert [row["state"] for row in await library.rows(channel_id)] == ["wanted"]
    await library.make_due()
    await library.fetcher.step()
    assert [row["state"] for row in await library.rows(channel_id)] == ["stored"]
    assert calls(library, "auth.importAuthorization") == 2


async def test_the_end_of_the_lease_ends_every_connection_and_every_request(library: Library) -> None:
    channel_id = await library.channel()
    library.control.post(channel_id, media=FileKind.JPEG, dc_id=SECOND_DC)
    await library.read(channel_id)
    await library.fetcher.step()
    assert {connection.dc_id for connection in library.sim.connections} == {2, SECOND_DC}
    library.control.post(channel_id, media=FileKind.JPEG, size=70_000, dc_id=SECOND_DC)
    await library.read(channel_id)
    library.office.mine.lease.extend(-1e9)
    with pytest.raises(LeaseLost):
        await library.fetcher.step()


async def test_a_closed_line_leaves_no_connection_anywhere(
    installation: Settings, sim: Simulator, admin: Admin, tmp_path: Path
) -> None:
    async with open_library(installation, sim, admin, in_folder(tmp_path)) as library:
        channel_id = await library.channel()
        library.control.post(channel_id, media=FileKind.JPEG, dc_id=SECOND_DC)
        await library.read(channel_id)
        await library.fetcher.step()
        assert len(sim.connections) == 2
    await until(lambda: nobody_connected(library))
