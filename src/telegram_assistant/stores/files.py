"""The media store, in S3 or in a folder on disk. Files are named by their SHA-256, so the same bytes are
never stored twice.

media/xx/yy/SHA256              a file
thumbs/xx/yy/SHA256-SIZE.jpg   its thumbnail of that size, which can always be made again
"""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from obstore.exceptions import BaseError, NotFoundError, PermissionDeniedError, UnauthenticatedError
from obstore.store import LocalStore, S3Store

from telegram_assistant.domain.media.showing import ThumbnailKey, ThumbnailSize
from telegram_assistant.domain.operations.diagnosis import Finding, bad, off, ok
from telegram_assistant.errors import Busy, Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import FilesSettings

SUBJECT = "files"
START_S3 = Reason("start_s3", "start the S3 server, or correct S3_ENDPOINT and S3_BUCKET")
OPEN_FOLDER = Reason("open_files_folder", "make the folder writable, or correct FILES_DIR")
TIMEOUT_SECONDS = 8.0
ANSWER_SECONDS = 2.0
RETRY_AFTER_SECONDS = 15.0
AT_ONCE_BYTES = 32 * 1024 * 1024
"""Larger files are uploaded in parts; a server keeps the parts of an
aborted upload until its own rules remove them.
"""
PIECE_BYTES = 1024 * 1024
THUMBNAILS = "thumbs/"
OURS = re.compile(r"media/([0-9a-f]{2})/([0-9a-f]{2})/(\1\2[0-9a-f]{60})")
OUR_THUMBNAILS = re.compile(
    rf"thumbs/([0-9a-f]{{2}})/([0-9a-f]{{2}})/(\1\2[0-9a-f]{{60}})-({'|'.join(ThumbnailSize)})\.jpg"
)
NOT_STORED = Reason("file_not_stored", "this file is not in the store")


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file in the store."""

    sha256: bytes
    size_bytes: int
    modified_at: datetime


class Files:
    """One interface to S3 and to a folder.

    Raises Busy for passing errors: a server that is down, a full disk, a wrong key.
    """

    def __init__(self, store: S3Store | LocalStore, location: Reason) -> None:
        self.where = location
        self._store = store

    async def put(self, sha256: bytes, file: Path) -> None:
        """Stores a file, completely or not at all. Storing the same bytes again changes nothing."""
        with _busy(self.where):
            await self._store.put_async(_path(sha256), file, chunk_size=AT_ONCE_BYTES, max_concurrency=2)

    async def load_size(self, sha256: bytes) -> int | None:
        """Returns None if the file is not in the store."""
        with _busy(self.where):
            try:
                metadata = await self._store.head_async(_path(sha256))
            except (NotFoundError, FileNotFoundError):
                return None
        return int(metadata["size"])

    async def answers(self) -> None:
        """Raises Busy if the store does not answer.

        An answer that refuses the key is one: `examine` looks at what the key may do.
        """
        with _busy(self.where):
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._store.head_async(_path(bytes(32)))
            except (NotFoundError, FileNotFoundError, PermissionDeniedError, UnauthenticatedError):
                return

    async def read(self, sha256: bytes) -> AsyncIterator[bytes]:
        """Reads the file piece by piece. Raises Rejected if it is not in the store."""
        with _busy(self.where):
            try:
                stored_file = await self._store.get_async(_path(sha256))
            except (NotFoundError, FileNotFoundError) as error:
                raise Rejected(NOT_STORED) from error
            async for piece in stored_file.stream():
                yield bytes(piece)

    async def first_bytes(self, sha256: bytes, count: int) -> tuple[bytes, int]:
        """The first bytes of a file, and the size of all of it. Raises Rejected if it is not in the store."""
        with _busy(self.where):
            try:
                stored_file = await self._store.get_async(_path(sha256), options={"range": (0, count)})
            except (NotFoundError, FileNotFoundError) as error:
                raise Rejected(NOT_STORED) from error
            return bytes(await stored_file.bytes_async()), int(stored_file.meta["size"])

    async def read_range(self, sha256: bytes, first_byte: int, last_byte: int) -> AsyncIterator[bytes]:
        """Reads the bytes from `first` to `last`, both included. Raises Rejected if the file is not in the
        store.

        Every piece is a request of its own, so that a reader may take its time: the store's time limits count
        for one piece.
        """
        for start in range(first_byte, last_byte + 1, PIECE_BYTES):
            with _busy(self.where):
                try:
                    piece = await self._store.get_range_async(
                        _path(sha256), start=start, end=min(start + PIECE_BYTES, last_byte + 1)
                    )
                except (NotFoundError, FileNotFoundError) as error:
                    raise Rejected(NOT_STORED) from error
            yield bytes(piece)

    async def delete(self, files: Sequence[bytes]) -> None:
        """Deletes files; a missing file is no error."""
        await self._delete([_path(sha256) for sha256 in files])

    async def list_files(self, first_byte: int) -> AsyncIterator[ListedFile]:
        """All files whose hash begins with this byte, in no particular order.

        Ignores objects with other names.
        """
        with _busy(self.where):
            async for entries in self._store.list(f"media/{first_byte:02x}/"):
                for entry in entries:
                    if path_match := OURS.fullmatch(entry["path"]):
                        yield ListedFile(
                            bytes.fromhex(path_match[3]), int(entry["size"]), entry["last_modified"]
                        )

    async def put_thumbnail(self, key: ThumbnailKey, data: bytes) -> None:
        with _busy(self.where):
            await self._store.put_async(_thumbnail_path(key), data)

    async def thumbnail(self, key: ThumbnailKey) -> bytes | None:
        """Returns None if it has not been made yet."""
        with _busy(self.where):
            try:
                stored_file = await self._store.get_async(_thumbnail_path(key))
            except (NotFoundError, FileNotFoundError):
                return None
            return bytes(await stored_file.bytes_async())

    async def delete_thumbnails(self, keys: Sequence[ThumbnailKey]) -> None:
        """Deletes thumbnails; a missing one is no error."""
        await self._delete([_thumbnail_path(key) for key in keys])

    async def list_thumbnails(self, first_byte: int) -> AsyncIterator[ThumbnailKey]:
        """All thumbnails of files whose hash begins with this byte, in no particular order.

        Ignores objects with other names.
        """
        with _busy(self.where):
            async for entries in self._store.list(f"{THUMBNAILS}{first_byte:02x}/"):
                for entry in entries:
                    if path_match := OUR_THUMBNAILS.fullmatch(entry["path"]):
                        yield ThumbnailKey(bytes.fromhex(path_match[3]), ThumbnailSize(path_match[4]))

    async def _delete(self, paths: Sequence[str]) -> None:
        with _busy(self.where):
            for path in paths:
                try:
                    await self._store.delete_async(path)
                except (NotFoundError, FileNotFoundError):
                    continue


def _path(sha256: bytes) -> str:
    name = sha256.hex()
    return f"media/{name[:2]}/{name[2:4]}/{name}"


def _thumbnail_path(key: ThumbnailKey) -> str:
    name = key.sha256.hex()
    return f"{THUMBNAILS}{name[:2]}/{name[2:4]}/{name}-{key.size}.jpg"


@contextmanager
def _busy(location: Reason) -> Iterator[None]:
    try:
        yield
    except (BaseError, OSError, TimeoutError) as error:
        raise Busy(
            Reason(
                "files_unusable", "{where} cannot be used ({error})", where=location, error=_reason(error)
            ),
            retry_after_seconds=RETRY_AFTER_SECONDS,
        ) from error


def open_files(settings: FilesSettings) -> Files | None:
    """The media store, or None if none is configured."""
    store = _open(settings)
    return None if store is None else Files(store, _where(settings))


def _open(settings: FilesSettings) -> S3Store | LocalStore | None:
    if settings.endpoint:
        return S3Store(
            settings.bucket,
            endpoint=_endpoint(settings),
            region=settings.region,
            access_key_id=settings.access_key_id.get_secret_value(),
            secret_access_key=settings.secret_access_key.get_secret_value(),
            virtual_hosted_style_request=not settings.force_path_style,
            client_options={
                "allow_http": settings.endpoint.startswith("http://"),
                "connect_timeout": "3s",
                "timeout": "30s",
            },
            retry_config={"max_retries": 1},
        )
    return LocalStore(settings.folder, mkdir=True) if settings.folder else None


def _where(settings: FilesSettings) -> Reason:
    if settings.endpoint:
        return Reason(
            "files_in_bucket",
            "S3 at {endpoint}, bucket {bucket}",
            endpoint=settings.endpoint,
            bucket=settings.bucket,
        )
    return Reason("files_in_folder", "the folder {folder}", folder=str(settings.folder))


def _endpoint(settings: FilesSettings) -> str:
    if settings.force_path_style:
        return settings.endpoint
    parts = urlsplit(settings.endpoint)
    if parts.hostname and parts.hostname.replace(".", "").isdecimal():
        raise ValueError("S3_FORCE_PATH_STYLE=false needs a host name in S3_ENDPOINT, not an address")
    return f"{parts.scheme}://{settings.bucket}.{parts.netloc}"


async def examine(settings: FilesSettings, *, only_shows: bool = False) -> list[Finding]:
    """Writes, reads and deletes one small file.

    A process that only shows files must be able to keep thumbnails, and needs no more.
    """
    if settings.endpoint and not settings.bucket:
        reason = Reason(
            "one_set_without_other",
            "{present} is set, but {missing} is not",
            present="S3_ENDPOINT",
            missing="S3_BUCKET",
        )
        return [bad(SUBJECT, reason, remedy=Reason("name_bucket", "name the bucket in S3_BUCKET"))]
    location = _where(settings)
    try:
        store = _open(settings)
        if store is None:
            return [
                off(SUBJECT, Reason("files_off", "no S3_ENDPOINT and no FILES_DIR: files are not stored"))
            ]
        async with asyncio.timeout(TIMEOUT_SECONDS):
            if only_shows and settings.folder and not settings.endpoint:
                await _try_out(store, THUMBNAILS)
                return [
                    ok(
                        SUBJECT,
                        Reason(
                            "files_shown",
                            "{where}; this process shows files and stores their thumbnails",
                            where=location,
                        ),
                    )
                ]
            await _try_out(store, "")
    except (PermissionDeniedError, UnauthenticatedError):
        remedy = Reason(
            "check_bucket_key",
            "check S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, and their right to read, write and delete "
            "in the bucket",
        )
        return [
            bad(SUBJECT, Reason("files_refuse_key", "{where} refuses the key", where=location), remedy=remedy)
        ]
    except (BaseError, OSError, TimeoutError, ValueError) as error:
        reason = Reason(
            "files_unusable", "{where} cannot be used ({error})", where=location, error=_reason(error)
        )
        return [bad(SUBJECT, reason, remedy=START_S3 if settings.endpoint else OPEN_FOLDER)]
    return [ok(SUBJECT, location)]


async def _try_out(store: S3Store | LocalStore, folder: str) -> None:
    path = f"{folder}doctor/{uuid.uuid4()}"
    await store.put_async(path, b"doctor")
    await (await store.get_async(path)).bytes_async()
    await store.delete_async(path)


def _reason(error: Exception) -> str:
    """The first line of the library's message: it names the address and the cause, never the key."""
    lines = str(error).strip().splitlines()
    return lines[0][:160] if lines else type(error).__name__
