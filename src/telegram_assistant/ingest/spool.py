"""Partly downloaded files. Each lies in a folder, and its length is the offset of the next part.

A spool belongs to one machine. If another machine takes the account over, it downloads an incomplete file
from the start.
"""

import errno
import fcntl
import hashlib
import io
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from telegram_assistant.errors import Busy, NoRoom
from telegram_assistant.reasons import Reason

MAX_BYTES = 1024 * 1024 * 1024
"""How much is downloaded ahead while the store is unreachable."""
FULL_SECONDS = 15.0
NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
FORGOTTEN_AFTER_SECONDS = 2 * 86_400
NAME = "{kind}{media_id}.part"


class Spooled:
    """One file, locked against every other process."""

    def __init__(self, file: io.BufferedRandom, path: Path) -> None:
        self.path = path
        self.size_bytes = os.fstat(file.fileno()).st_size
        self._file = file

    def truncate(self, offset: int) -> None:
        """Drop everything after the offset."""
        self._file.truncate(offset)
        self.size_bytes = offset

    def append(self, piece: bytes) -> None:
        self._file.seek(self.size_bytes)
        self._file.write(piece)
        self._file.flush()
        self.size_bytes += len(piece)

    def sha256(self) -> bytes:
        """Return the digest of the whole file. Reads the file, so call it in a thread."""
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").digest()


class Spool:
    """The folder of spooled files.

    File names come from Telegram's ids, never from the name that a sender chose.
    """

    def __init__(self, folder: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    @contextmanager
    def open_file(self, media_id: int, *, is_photo: bool) -> Iterator[Spooled]:
        """Open and lock a file. Raises Busy if another process has it, or the disk fails."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._path(media_id, is_photo=is_photo)
            with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield Spooled(file, path)
        except BlockingIOError as error:
            raise Busy(
                Reason("file_fetched_elsewhere", "another process is downloading this file"),
                retry_after_seconds=FULL_SECONDS,
            ) from error
        except OSError as error:
            kind = NoRoom if error.errno in NO_ROOM else Busy
            raise kind(
                Reason(
                    "folder_unusable",
                    "the folder {folder} cannot be used ({error})",
                    folder=str(self._folder),
                    error=error.strerror or "",
                ),
                retry_after_seconds=FULL_SECONDS,
            ) from error

    def size_of(self, media_id: int, *, is_photo: bool) -> int:
        """Return how many bytes are downloaded so far."""
        try:
            return self._path(media_id, is_photo=is_photo).stat().st_size
        except OSError:
            return 0

    def remove(self, media_id: int, *, is_photo: bool) -> None:
        self._path(media_id, is_photo=is_photo).unlink(missing_ok=True)

    def require_space(self, size_bytes: int) -> None:
        """Raise Busy if the folder would hold more than it may."""
        used_bytes = sum(size for _, size, _ in self._files())
        if used_bytes + size_bytes > self._max_bytes and used_bytes:
            raise NoRoom(
                Reason("spool_full", "temporary storage is full until the file store answers"),
                retry_after_seconds=FULL_SECONDS,
            )

    def tidy(self) -> int:
        """Remove files that nobody has touched for two days. Returns their number."""
        old_paths = [
            path
            for path, _, touched_at in self._files()
            if time.time() - touched_at > FORGOTTEN_AFTER_SECONDS
        ]
        for path in old_paths:
            path.unlink(missing_ok=True)
        return len(old_paths)

    def _files(self) -> Iterator[tuple[Path, int, float]]:
        for path in (
            self._folder.glob(NAME.format(kind="[pd]", media_id="*")) if self._folder.is_dir() else ()
        ):
            try:
                file_status = path.stat()
            except FileNotFoundError:
                continue
            yield path, file_status.st_size, file_status.st_mtime

    def _path(self, media_id: int, *, is_photo: bool) -> Path:
        return self._folder / NAME.format(kind="p" if is_photo else "d", media_id=media_id)
