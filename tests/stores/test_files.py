from pathlib import Path

import pytest

from telegram_assistant.domain.finding import Verdict
from telegram_assistant.settings import FilesSettings, read_settings
from telegram_assistant.stores.files import examine, open_files
from tests.wire import Heard, listener


async def heard_of(environ: dict[str, str], **changed: str) -> Heard:
    """What an S3 server hears when a file is written with these settings."""
    async with listener() as server:
        settings = read_settings({**environ, "S3_ENDPOINT": f"http://127.0.0.1:{server.port}", **changed}).files
        store = open_files(settings)
        assert store is not None
        await store.put_async("a/b", b"x")
    return server


@pytest.mark.turns("S3_ENDPOINT")
@pytest.mark.turns("S3_BUCKET")
async def test_a_file_is_put_into_the_bucket_of_the_server(environ: dict[str, str]) -> None:
    heard = await heard_of(environ, S3_BUCKET="pictures")
    assert heard.requests[0].startswith("PUT /pictures/a/b ")


@pytest.mark.turns("S3_REGION")
@pytest.mark.turns("S3_ACCESS_KEY_ID")
async def test_requests_are_signed_with_the_key_for_the_region(environ: dict[str, str]) -> None:
    heard = await heard_of(environ, S3_REGION="ru-7", S3_ACCESS_KEY_ID="key17")
    assert "Credential=key17/" in heard.requests[0]
    assert "/ru-7/s3/aws4_request" in heard.requests[0]


@pytest.mark.turns("S3_SECRET_ACCESS_KEY")
async def test_a_wrong_secret_is_refused_by_the_real_server(environ: dict[str, str]) -> None:
    assert [finding.verdict for finding in await examine(read_settings(environ).files)] == [Verdict.OK]
    wrong = await examine(read_settings({**environ, "S3_SECRET_ACCESS_KEY": "wrong"}).files)
    assert [finding.verdict for finding in wrong] == [Verdict.BAD]
    assert "S3_SECRET_ACCESS_KEY" in wrong[0].remedy


@pytest.mark.turns("S3_FORCE_PATH_STYLE")
async def test_without_path_style_the_bucket_is_part_of_the_host(environ: dict[str, str]) -> None:
    settings = {**environ, "S3_ENDPOINT": "http://localhost:1", "S3_BUCKET": "pictures"}
    by_path = await examine(read_settings({**settings, "S3_FORCE_PATH_STYLE": "true"}).files)
    by_host = await examine(read_settings({**settings, "S3_FORCE_PATH_STYLE": "false"}).files)
    assert "http://localhost:1/pictures/doctor" in by_path[0].what
    assert "http://pictures.localhost:1/doctor" in by_host[0].what
    by_address = read_settings({**settings, "S3_ENDPOINT": "http://127.0.0.1:1", "S3_FORCE_PATH_STYLE": "false"}).files
    assert "needs a host name" in (await examine(by_address))[0].what


@pytest.mark.turns("FILES_DIR")
async def test_without_a_server_files_go_to_the_folder(tmp_path: Path) -> None:
    store = open_files(FilesSettings(folder=tmp_path / "media"))
    assert store is not None
    await store.put_async("a/b", b"x")
    assert (tmp_path / "media/a/b").read_bytes() == b"x"
    assert [finding.verdict for finding in await examine(FilesSettings(folder=tmp_path / "media"))] == [Verdict.OK]


async def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = await examine(FilesSettings(folder=tmp_path / "file" / "below"))
    assert [finding.verdict for finding in found] == [Verdict.BAD]
    assert "FILES_DIR" in found[0].remedy


async def test_neither_server_nor_folder_is_allowed_and_said() -> None:
    assert [finding.verdict for finding in await examine(FilesSettings())] == [Verdict.OFF]
