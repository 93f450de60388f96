import asyncio
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest

from telegram_assistant.domain.media.showing import ThumbnailKey, ThumbnailSize
from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.errors import Busy, Rejected
from telegram_assistant.settings import FilesSettings, read_settings
from telegram_assistant.stores.files import PIECE_BYTES, Files, examine, open_files
from tests.wire import RecordedRequests, listener


def list_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def record_requests(environ: dict[str, str], **changed: str) -> RecordedRequests:
    """The requests that an S3 server gets when a file is written with these settings."""
    async with listener() as server:
        settings = read_settings(
            {**environ, "S3_ENDPOINT": f"http://127.0.0.1:{server.port}", **changed}
        ).files
        files = open_files(settings)
        assert files is not None
        await files.put(bytes(32), Path(__file__))
    return server


@pytest.mark.turns("S3_ENDPOINT")
@pytest.mark.turns("S3_BUCKET")
async def test_a_file_is_put_into_the_bucket_of_the_server(environ: dict[str, str]) -> None:
    server = await record_requests(environ, S3_BUCKET="pictures")
    assert server.requests[0].startswith(f"PUT /pictures/media/00/00/{'00' * 32} ")


@pytest.mark.turns("S3_REGION")
@pytest.mark.turns("S3_ACCESS_KEY_ID")
async def test_requests_are_signed_with_the_key_for_the_region(environ: dict[str, str]) -> None:
    server = await record_requests(environ, S3_REGION="ru-7", S3_ACCESS_KEY_ID="key17")
    assert "Credential=key17/" in server.requests[0]
    assert "/ru-7/s3/aws4_request" in server.requests[0]


@pytest.mark.turns("S3_SECRET_ACCESS_KEY")
async def test_a_wrong_secret_is_refused_by_the_real_server(environ: dict[str, str]) -> None:
    assert [finding.verdict for finding in await examine(read_settings(environ).files)] == [Severity.OK]
    wrong = await examine(read_settings({**environ, "S3_SECRET_ACCESS_KEY": "wrong"}).files)
    assert [finding.verdict for finding in wrong] == [Severity.BAD]
    assert "S3_SECRET_ACCESS_KEY" in str(wrong[0].remedy)


@pytest.mark.turns("S3_FORCE_PATH_STYLE")
async def test_without_path_style_the_bucket_is_part_of_the_host(environ: dict[str, str]) -> None:
    settings = {**environ, "S3_ENDPOINT": "http://localhost:1", "S3_BUCKET": "pictures"}
    by_path = await examine(read_settings({**settings, "S3_FORCE_PATH_STYLE": "true"}).files)
    by_host = await examine(read_settings({**settings, "S3_FORCE_PATH_STYLE": "false"}).files)
    assert "http://localhost:1/pictures/doctor" in str(by_path[0].what)
    assert "http://pictures.localhost:1/doctor" in str(by_host[0].what)
    by_address = read_settings(
        {**settings, "S3_ENDPOINT": "http://127.0.0.1:1", "S3_FORCE_PATH_STYLE": "false"}
    ).files
    assert "needs a host name" in str((await examine(by_address))[0].what)


@pytest.mark.turns("FILES_DIR")
async def test_without_a_server_files_go_to_the_folder(tmp_path: Path) -> None:
    files = open_files(FilesSettings(folder=tmp_path / "media"))
    assert files is not None
    await files.put(bytes(32), Path(__file__))
    assert b"".join([piece async for piece in files.read(bytes(32))]).startswith(b"import")
    assert f"media/00/00/{'00' * 32}" in {
        str(path.relative_to(tmp_path / "media")) for path in list_files(tmp_path)
    }
    assert [finding.verdict for finding in await examine(FilesSettings(folder=tmp_path / "media"))] == [
        Severity.OK
    ]


async def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    findings = await examine(FilesSettings(folder=tmp_path / "file" / "below"))
    assert [finding.verdict for finding in findings] == [Severity.BAD]
    assert "FILES_DIR" in str(findings[0].remedy)


async def test_neither_server_nor_folder_is_allowed_and_said() -> None:
    assert [finding.verdict for finding in await examine(FilesSettings())] == [Severity.OFF]


async def test_a_process_that_only_shows_files_needs_to_keep_thumbnails_alone(tmp_path: Path) -> None:
    """Its folder is read-only, except for thumbnails."""
    settings = FilesSettings(folder=tmp_path)
    (tmp_path / "doctor").write_text("in the way, as on a read-only disk", encoding="utf-8")
    assert [finding.verdict for finding in await examine(settings)] == [Severity.BAD]
    (finding,) = await examine(settings, only_shows=True)
    assert (finding.verdict, finding.what.code) == (Severity.OK, "files_shown")
    (tmp_path / "thumbs/doctor").rmdir()
    (tmp_path / "thumbs/doctor").write_text("in the way", encoding="utf-8")
    assert [finding.verdict for finding in await examine(settings, only_shows=True)] == [Severity.BAD]


@pytest.fixture(params=["s3", "folder"])
def files(request: pytest.FixtureRequest, environ: dict[str, str], tmp_path: Path) -> Files:
    """Both places, one suite."""
    settings = (
        read_settings(environ).files if request.param == "s3" else FilesSettings(folder=tmp_path / "files")
    )
    opened = open_files(settings)
    assert opened is not None
    return opened


def write_file(tmp_path: Path, content: bytes) -> tuple[bytes, Path]:
    """A file that was in no store before."""
    path, content = tmp_path / "file", content + uuid4().bytes
    path.write_bytes(content)
    return sha256(content).digest(), path


async def content(files: Files, name: bytes) -> bytes:
    return b"".join([piece async for piece in files.read(name)])


async def test_what_was_put_is_read_back_and_listed_under_its_hash(files: Files, tmp_path: Path) -> None:
    name, path = write_file(tmp_path, b"\x00\xff" * 3_000_000)
    assert await files.load_size(name) is None
    await files.put(name, path)
    assert await files.load_size(name) == path.stat().st_size
    assert await content(files, name) == path.read_bytes()
    listed = {file.sha256: file async for file in files.list_files(name[0])}
    assert listed[name].size_bytes == path.stat().st_size
    assert abs(listed[name].modified_at - datetime.now(UTC)) < timedelta(minutes=1)


async def test_the_same_bytes_put_at_once_by_many_are_there_once(files: Files, tmp_path: Path) -> None:
    name, path = write_file(tmp_path, b"once")
    await asyncio.gather(*(files.put(name, path) for _ in range(8)))
    assert [file.sha256 async for file in files.list_files(name[0])].count(name) == 1
    assert await content(files, name) == path.read_bytes()


async def test_a_part_of_a_file_is_read_in_pieces(files: Files, tmp_path: Path) -> None:
    name, path = write_file(tmp_path, bytes(range(256)) * 10_000)
    await files.put(name, path)
    whole = path.read_bytes()
    assert await files.first_bytes(name, 300) == (whole[:300], len(whole))
    assert await files.first_bytes(name, len(whole) + 1) == (whole, len(whole))
    for first, last in (
        (0, 0),
        (5, 9),
        (len(whole) - 1, len(whole) - 1),
        (7, len(whole) - 1),
        (PIECE_BYTES - 1, PIECE_BYTES),
        (0, PIECE_BYTES - 1),
    ):
        pieces = [piece async for piece in files.read_range(name, first, last)]
        assert b"".join(pieces) == whole[first : last + 1]
        assert max(map(len, pieces)) <= PIECE_BYTES


async def test_of_a_file_that_is_not_there_no_part_is_read(files: Files, tmp_path: Path) -> None:
    name, path = write_file(tmp_path, bytes(2 * PIECE_BYTES))
    with pytest.raises(Rejected, match="not in the store"):
        await files.first_bytes(name, 10)
    await files.put(name, path)
    pieces = files.read_range(name, 0, 2 * PIECE_BYTES - 1)
    assert await anext(pieces) == bytes(PIECE_BYTES)
    await files.delete([name])
    with pytest.raises(Rejected, match="not in the store"):
        await anext(pieces)


async def test_thumbnails_are_kept_and_listed_beside_the_files(files: Files) -> None:
    name = sha256(uuid4().bytes).digest()
    small, medium = (ThumbnailKey(name, size) for size in ThumbnailSize)
    assert await files.thumbnail(small) is None
    await files.put_thumbnail(small, b"first")
    await files.put_thumbnail(small, b"small")
    await files.put_thumbnail(medium, b"medium")
    assert (await files.thumbnail(small), await files.thumbnail(medium)) == (b"small", b"medium")
    assert {thumbnail async for thumbnail in files.list_thumbnails(name[0]) if thumbnail.sha256 == name} == {
        small,
        medium,
    }
    assert name not in {file.sha256 async for file in files.list_files(name[0])}
    await files.delete_thumbnails([small])
    await files.delete_thumbnails([small, medium])
    assert (await files.thumbnail(small), await files.thumbnail(medium)) == (None, None)


async def test_what_is_deleted_is_gone_and_may_be_deleted_again(files: Files, tmp_path: Path) -> None:
    name, path = write_file(tmp_path, b"gone")
    await files.put(name, path)
    await files.delete([name])
    await files.delete([name])
    assert await files.load_size(name) is None
    with pytest.raises(Rejected, match="not in the store"):
        await content(files, name)


async def test_what_is_not_named_by_its_hash_is_not_ours(tmp_path: Path) -> None:
    files = open_files(FilesSettings(folder=tmp_path))
    assert files is not None
    (tmp_path / "media/00/00").mkdir(parents=True)
    (tmp_path / "media/00/00/notes.txt").write_text("somebody's")
    (tmp_path / "thumbs/00/00").mkdir(parents=True)
    (tmp_path / f"thumbs/00/00/{'00' * 32}-huge.jpg").write_text("somebody's")
    assert [file async for file in files.list_files(0)] == []
    assert [thumbnail async for thumbnail in files.list_thumbnails(0)] == []


async def test_a_store_that_is_away_is_busy(environ: dict[str, str], tmp_path: Path) -> None:
    name, path = write_file(tmp_path, b"x")
    away = open_files(read_settings({**environ, "S3_ENDPOINT": "http://127.0.0.1:1"}).files)
    assert away is not None
    key = ThumbnailKey(name, ThumbnailSize.SMALL)
    attempts = (
        *(away.put(name, path), away.load_size(name), away.delete([name]), content(away, name)),
        *(away.first_bytes(name, 1), anext(away.read_range(name, 0, 1)), anext(away.list_thumbnails(0))),
        *(away.thumbnail(key), away.put_thumbnail(key, b"x"), away.delete_thumbnails([key])),
    )
    for attempt in attempts:
        with pytest.raises(Busy, match="cannot be used"):
            await attempt
