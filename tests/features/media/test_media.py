"""Files of posts for people: who sees them, what they are said to be,
and what stands in where there is nothing to show.
"""

import asyncio
import io
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from PIL import Image

from telegram_assistant.ai.picture_readers import PictureReaders
from telegram_assistant.assembly import ApiApp
from telegram_assistant.domain.ids import MessageId, PostId
from telegram_assistant.domain.media.content_types import ContentType
from telegram_assistant.domain.media.files import MediaState, SkipReason
from telegram_assistant.domain.media.showing import (
    MediaUnavailable,
    NoThumbnail,
    ThumbnailKey,
    ThumbnailSize,
    Unavailability,
)
from telegram_assistant.errors import Busy, Missing
from telegram_assistant.features.media.media import NO_FILE, OpenedMedia, open_media, open_thumbnail
from telegram_assistant.features.media.thumbnails import Thumbnails
from telegram_assistant.settings import FilesSettings, Settings, read_settings
from telegram_assistant.stores.files import open_files
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import make_tenant
from testkit.shortages import small_disk
from tests.ai.test_pictures import GPS, encode_image, huge_png
from tests.conftest import Admin
from tests.features.shelf import Shelf, draw_picture, open_requests_app

SMALL, MEDIUM = ThumbnailSize.SMALL, ThumbnailSize.MEDIUM


@pytest.fixture(scope="module")
async def app(installation: Settings, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ApiApp]:
    async with open_requests_app(installation, tmp_path_factory.mktemp("files")) as opened:
        yield opened


@pytest.fixture
async def shelf(app: ApiApp, system: SystemStores, admin: Admin, tmp_path: Path) -> Shelf:
    return Shelf(app, system, admin, tmp_path, await make_tenant(system))


async def open_file(shelf: Shelf, post_id: PostId) -> OpenedMedia:
    return await open_media(post_id, 0, stores=shelf.stores, files=shelf.app.files)


async def thumbnail(shelf: Shelf, post_id: PostId, size: ThumbnailSize = SMALL) -> OpenedMedia:
    return await open_thumbnail(
        post_id, 0, size, stores=shelf.stores, files=shelf.app.files, thumbnails=shelf.app.thumbnails
    )


async def content(media: OpenedMedia) -> bytes:
    return b"".join([piece async for piece in media.read(0, media.size_bytes - 1)])


async def picture(media: OpenedMedia) -> Image.Image:
    data = await content(media)
    assert len(data) == media.size_bytes
    return Image.open(io.BytesIO(data))


async def why_not(shelf: Shelf, post_id: PostId, size: ThumbnailSize = SMALL) -> Unavailability:
    with pytest.raises(MediaUnavailable) as caught:
        await thumbnail(shelf, post_id, size)
    return caught.value.why


async def test_a_file_is_opened_with_what_is_known_of_it(shelf: Shelf) -> None:
    data = draw_picture()
    media = await open_file(shelf, await shelf.post(data, file_name="Снег.jpg"))
    assert await content(media) == data
    assert b"".join([piece async for piece in media.read(10, 19)]) == data[10:20]
    assert (media.etag, media.size_bytes) == (sha256(data).hexdigest(), len(data))
    assert (media.content_type, media.download_name, media.is_private) == (
        ContentType.JPEG,
        "Снег.jpg",
        False,
    )


async def test_a_file_of_a_private_channel_says_so_and_one_without_a_name_gets_one(shelf: Shelf) -> None:
    post_id = await shelf.post(draw_picture("PNG"), is_private=True)
    media = await open_file(shelf, post_id)
    assert (media.is_private, media.download_name) == (True, f"{post_id.channel_id}-1-0.png")
    assert (await thumbnail(shelf, post_id)).is_private


async def test_to_another_tenant_a_file_is_as_missing_as_one_that_never_was(shelf: Shelf) -> None:
    post_id, stranger = await shelf.post(draw_picture()), await shelf.stranger()
    await thumbnail(shelf, post_id)
    for stores, wanted, ordinal in (
        (stranger, post_id, 0),
        (shelf.stores, PostId(post_id.channel_id, MessageId(2)), 0),
        (shelf.stores, post_id, 1),
    ):
        with pytest.raises(Missing, match=str(NO_FILE)):
            await open_media(wanted, ordinal, stores=stores, files=shelf.app.files)
        with pytest.raises(Missing, match=str(NO_FILE)):
            await open_thumbnail(
                wanted, ordinal, SMALL, stores=stores, files=shelf.app.files, thumbnails=shelf.app.thumbnails
            )


@pytest.mark.parametrize(
    ("state", "reason", "why"),
    [
        (MediaState.WANTED, None, Unavailability.WAITING),
        (MediaState.GIVEN_UP, "MESSAGE_ID_INVALID", Unavailability.GIVEN_UP),
        (MediaState.SKIPPED, SkipReason.SIZE, Unavailability.SKIPPED),
    ],
)
async def test_a_file_that_is_not_stored_says_why(
    shelf: Shelf, state: MediaState, reason: str | None, why: Unavailability
) -> None:
    post_id = await shelf.post(state=state, reason=reason)
    with pytest.raises(MediaUnavailable) as caught:
        await open_file(shelf, post_id)
    assert (caught.value.why, caught.value.skip_reason) == (
        why,
        reason if state is MediaState.SKIPPED else None,
    )
    assert await why_not(shelf, post_id) is why


async def test_a_file_that_the_store_has_lost_says_so(shelf: Shelf) -> None:
    data = draw_picture()
    post_id = await shelf.post(data)
    await shelf.files.delete([sha256(data).digest()])
    with pytest.raises(MediaUnavailable, match="missing in the store"):
        await open_file(shelf, post_id)
    assert await why_not(shelf, post_id) is Unavailability.LOST


async def test_without_a_store_there_is_no_place_for_files(shelf: Shelf) -> None:
    post_id = await shelf.post(draw_picture())
    homeless = replace(shelf, app=replace(shelf.app, files=None, thumbnails=None))
    with pytest.raises(MediaUnavailable, match="stores no files"):
        await open_file(homeless, post_id)
    assert await why_not(homeless, post_id) is Unavailability.NO_PLACE


async def test_a_store_that_is_away_is_busy(shelf: Shelf, environ: dict[str, str]) -> None:
    post_id, readers = await shelf.post(draw_picture()), PictureReaders()
    away = open_files(read_settings({**environ, "S3_ENDPOINT": "http://127.0.0.1:1"}).files)
    assert away is not None
    elsewhere = replace(shelf, app=replace(shelf.app, files=away, thumbnails=Thumbnails(away, readers)))
    with pytest.raises(Busy):
        await open_file(elsewhere, post_id)
    with pytest.raises(Busy):
        await thumbnail(elsewhere, post_id)


@pytest.mark.parametrize(("size", "dimensions"), [(SMALL, (320, 160)), (MEDIUM, (1280, 640))])
async def test_a_thumbnail_is_a_small_jpeg_that_is_made_once(
    shelf: Shelf, size: ThumbnailSize, dimensions: tuple[int, int]
) -> None:
    data = draw_picture(size=(2000, 1000))
    post_id, key = await shelf.post(data, file_name="зима.jpeg"), ThumbnailKey(sha256(data).digest(), size)
    media = await thumbnail(shelf, post_id, size)
    assert (media.content_type, media.etag, media.download_name) == (
        ContentType.JPEG,
        f"{sha256(data).hexdigest()}-{size}",
        "зима.jpeg",
    )
    image = await picture(media)
    assert (image.format, image.size) == ("JPEG", dimensions)
    assert await shelf.files.thumbnail(key) == await content(media)
    await shelf.files.delete([key.sha256])
    assert await content(await thumbnail(shelf, post_id, size)) == await content(media)


async def test_a_thumbnail_knows_nothing_of_where_its_picture_was_taken(shelf: Shelf) -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "hidden"
    media = await thumbnail(shelf, await shelf.post(draw_picture(exif=exif, xmp=GPS, comment=b"hidden")))
    assert (await picture(media)).size == (160, 320)  # upright
    assert b"hidden" not in await content(media)


async def test_what_is_transparent_stands_on_white(shelf: Shelf) -> None:
    image = await picture(await thumbnail(shelf, await shelf.post(draw_picture("PNG", mode="RGBA"))))
    assert image.mode == "RGB"
    assert image.getpixel((13, 2)) == pytest.approx((255, 255, 255), abs=4)


@pytest.mark.parametrize("form", ["PNG", "WEBP", "GIF", "BMP"])
async def test_pictures_of_every_format_have_thumbnails(shelf: Shelf, form: str) -> None:
    assert (await picture(await thumbnail(shelf, await shelf.post(draw_picture(form))))).size == (320, 160)


async def test_a_small_picture_that_only_browsers_can_read_is_shown_itself(shelf: Shelf) -> None:
    for data in (draw_picture("AVIF"), draw_picture()[:-2000]):
        post_id = await shelf.post(data)
        assert await content(await thumbnail(shelf, post_id)) == data
        assert await content(await thumbnail(shelf, post_id)) == data  # also where its failure is remembered


async def test_a_large_picture_that_cannot_be_read_has_a_tile(shelf: Shelf) -> None:
    assert (
        await why_not(shelf, await shelf.post(draw_picture("AVIF") + bytes(1_000_000)))
        is Unavailability.NO_THUMBNAIL
    )


@pytest.mark.parametrize(
    "data",
    [
        huge_png(60_000),
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        b"<!doctype html><script>alert(1)</script>",
        b"%PDF-1.7\n",
        b"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2avc1mp41",
    ],
    ids=["bomb", "svg", "html", "pdf", "film"],
)
async def test_a_bomb_a_film_and_what_is_no_picture_have_a_tile_whatever_they_are_called(
    shelf: Shelf, data: bytes
) -> None:
    post_id = await shelf.post(data, file_name="photo.jpg")
    assert await why_not(shelf, post_id) is Unavailability.NO_THUMBNAIL
    assert (await thumbnail(shelf, await shelf.post(draw_picture()))).size_bytes > 0


async def test_a_picture_that_takes_too_long_has_a_tile_and_is_not_tried_again_soon(shelf: Shelf) -> None:
    data = encode_image(
        Image.new("1", (7000, 7000)), "PNG"
    )  # a few kilobytes, and 49 million pixels to look at
    name = sha256(data).digest()
    post_id, readers = await shelf.post(data), PictureReaders(at_once=1, max_seconds=0.05)
    impatient = replace(shelf, app=replace(shelf.app, thumbnails=Thumbnails(shelf.files, readers)))
    assert await why_not(impatient, post_id) is Unavailability.NO_THUMBNAIL
    await shelf.files.delete([name])
    with pytest.raises(NoThumbnail, match="takes longer"):
        await impatient.thumbnails.get(ThumbnailKey(name, SMALL))
    await readers.close()


async def test_those_who_want_the_same_thumbnail_at_once_wait_for_one_making(shelf: Shelf) -> None:
    data = draw_picture()
    await shelf.post(data)
    thumbnails = await asyncio.gather(
        *(shelf.thumbnails.get(ThumbnailKey(sha256(data).digest(), SMALL)) for _ in range(10))
    )
    assert len({id(made) for made in thumbnails}) == 1


async def test_who_waits_too_long_is_told_to_come_back_and_then_finds_it_made(shelf: Shelf) -> None:
    data = draw_picture(size=(3000, 2000))
    key = ThumbnailKey(sha256(data).digest(), SMALL)
    await shelf.post(data)
    readers = PictureReaders(at_once=1)
    hurried = Thumbnails(shelf.files, readers, max_seconds=0.001)
    with pytest.raises(Busy, match="too many"):
        await hurried.get(key)
    async with asyncio.timeout(60):
        while await shelf.files.thumbnail(key) is None:
            await asyncio.sleep(0.05)
    assert await hurried.get(key) == await shelf.files.thumbnail(key)
    await hurried.close()
    await readers.close()


async def test_a_thumbnail_is_shown_although_the_disk_has_no_room_for_it(
    shelf: Shelf, tmp_path: Path
) -> None:
    data = draw_picture()
    post_id = await shelf.post(data)
    with small_disk(tmp_path / "disk", megabytes=8) as disk:
        full, readers = open_files(FilesSettings(folder=disk.path)), PictureReaders()
        assert full is not None
        file = tmp_path / "picture"
        file.write_bytes(data)
        await full.put(sha256(data).digest(), file)
        disk.fill()
        crowded = replace(shelf, app=replace(shelf.app, files=full, thumbnails=Thumbnails(full, readers)))
        assert (await picture(await thumbnail(crowded, post_id))).format == "JPEG"
        assert await full.thumbnail(ThumbnailKey(sha256(data).digest(), SMALL)) is None
        await readers.close()
