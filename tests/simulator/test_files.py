"""Files: real formats, exact bytes, expired references, a second data centre, and the rules of pieces."""

import io

import pytest
from PIL import Image
from telethon import TelegramClient, errors
from telethon.tl import functions, types

from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.files import make_file
from telegram_simulator.world.post import File, FileKind
from telegram_simulator.world.tiny import CITY
from tests.simulator.conftest import PHONE

STARTS = {
    FileKind.JPEG: b"\xff\xd8\xff",
    FileKind.PNG: b"\x89PNG",
    FileKind.WEBP: b"RIFF",
    FileKind.GIF: b"GIF8",
    FileKind.MP4: b"\x00\x00\x00\x1cftyp",
    FileKind.PDF: b"%PDF-",
}


@pytest.mark.parametrize("kind", FileKind)
@pytest.mark.parametrize("size", [40_000, 40_001, 262_144])
def test_a_file_is_of_its_format_and_of_exactly_its_size(kind: FileKind, size: int) -> None:
    file = File(12345, kind, size, 2)
    made = make_file(file)
    assert len(made) == size
    assert made.startswith(STARTS[kind])
    assert made == make_file(file)
    assert made != make_file(File(54321, kind, size, 2))
    if kind.value.startswith("image"):
        with Image.open(io.BytesIO(made)) as picture:
            picture.load()
            assert (picture.format, picture.size) == (kind.partition("/")[2].upper(), (320, 200))


def test_a_film_is_made_of_whole_boxes() -> None:
    made, position, names = make_file(File(7, FileKind.MP4, 50_000, 2)), 0, []
    while position < len(made):
        names.append(made[position + 4 : position + 8])
        position += int.from_bytes(made[position : position + 4], "big")
    assert (names, position) == ([b"ftyp", b"mdat", b"moov", b"free"], 50_000)


@pytest.mark.parametrize("message_id", [8, 10, 14, 16, 20, 22])
async def test_a_download_is_exact_to_the_byte(
    sim: Simulator, client: TelegramClient, message_id: int
) -> None:
    message = await client.get_messages("gorod_news", ids=message_id)
    file = sim.world.file_of(CITY, message_id)
    assert file is not None
    assert await client.download_media(message, bytes) == make_file(file)


@pytest.mark.parametrize("message_id", [9, 17])
async def test_t20_a_file_elsewhere_is_first_asked_for_at_home_then_where_it_is(
    sim: Simulator, client: TelegramClient, message_id: int
) -> None:
    message = await client.get_messages("gorod_news", ids=message_id)
    file = sim.world.file_of(CITY, message_id)
    assert file is not None
    assert await client.download_media(message, bytes) == make_file(file)
    assert sim.counters.errors["FILE_MIGRATE_4"] == 1
    assert sim.counters.calls[PHONE, "auth.exportAuthorization"] == 1
    assert {call.dc_id for call in sim.counters.trace if call.method == "upload.getFile"} == {2, 4}


async def test_t20_an_expired_reference_is_raised_for_photos_and_a_fresh_message_mends_it(
    control: Control, client: TelegramClient
) -> None:
    message = await client.get_messages("gorod_news", ids=8)
    control.expire_references()
    with pytest.raises(errors.FileReferenceExpiredError):
        await client.download_media(message, bytes)
    assert len(await client.download_media(await client.get_messages("gorod_news", ids=8), bytes)) == 48_000


@pytest.mark.parametrize(
    ("offset", "limit", "error"),
    [
        (0, 1000, errors.LimitInvalidError),
        (0, 4096 * 3, errors.LimitInvalidError),
        (0, 2 * 1024 * 1024, errors.LimitInvalidError),
        (100, 4096, errors.OffsetInvalidError),
        (1024 * 1024 - 4096, 8192, errors.LimitInvalidError),
    ],
)
async def test_pieces_have_rules(
    client: TelegramClient, offset: int, limit: int, error: type[Exception]
) -> None:
    message = await client.get_messages("gorod_news", ids=10)
    document = message.document
    location = types.InputDocumentFileLocation(document.id, document.access_hash, document.file_reference, "")
    with pytest.raises(error):
        await client(functions.upload.GetFileRequest(location, offset, limit))


async def test_past_the_end_there_is_nothing_and_strange_references_are_refused(
    client: TelegramClient,
) -> None:
    document = (await client.get_messages("gorod_news", ids=10)).document
    location = types.InputDocumentFileLocation(document.id, document.access_hash, document.file_reference, "")
    assert (await client(functions.upload.GetFileRequest(location, 1024 * 1024, 4096))).bytes == b""
    strange = types.InputDocumentFileLocation(document.id, document.access_hash, b"strange", "")
    with pytest.raises(errors.FileReferenceInvalidError):
        await client(functions.upload.GetFileRequest(strange, 0, 4096))
    other = types.InputDocumentFileLocation(
        document.id + 1, document.access_hash, document.file_reference, ""
    )
    with pytest.raises(errors.FileIdInvalidError):
        await client(functions.upload.GetFileRequest(other, 0, 4096))
    photo = types.InputPeerPhotoFileLocation(types.InputPeerSelf(), 5)
    with pytest.raises(errors.LocationInvalidError):
        await client(functions.upload.GetFileRequest(photo, 0, 4096))
