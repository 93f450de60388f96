"""Files on their way: what has come so far lies in a folder, and its length is where the next piece begins.

A spool belongs to one machine. Another one that takes the account over begins a file that was half fetched again.
"""

import fcntl
import hashlib
import io
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from telegram_assistant.errors import Busy

MAX_BYTES = 1024 * 1024 * 1024
"""While the store is away, so much is fetched ahead."""
FULL_SECONDS = 15.0
FORGOTTEN_AFTER_SECONDS = 2 * 86_400
NAME = "{kind}{media_id}.part"


class Spooled:
    """One file, locked against every other process."""

    def __init__(self, file: io.BufferedRandom, path: Path) -> None:
        self.path = path
        self.size_bytes = os.fstat(file.fileno()).st_size
        self._file = file

    def begin_at(self, offset: int) -> None:
        """Forget what lies behind."""
        self._file.truncate(offset)
        self.size_bytes = offset

    def append(self, piece: bytes) -> None:
        self._file.seek(self.size_bytes)
        self._file.write(piece)
        self._file.flush()
        self.size_bytes += len(piece)

    def sha256(self) -> bytes:
        """Of all of it. Reads the file: for a thread."""
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").digest()


class Spool:
    """The folder. Names are made from Telegram's numbers, never from what a sender has called a file."""

    def __init__(self, folder: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    @contextmanager
    def opened(self, media_id: int, *, is_photo: bool) -> Iterator[Spooled]:
        """Busy when another process has it, or the disk does not let us."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._path(media_id, is_photo=is_photo)
            with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield Spooled(file, path)
        except BlockingIOError as error:
            raise Busy("another process fetches this file", retry_after_seconds=FULL_SECONDS) from error
        except OSError as error:
            raise Busy(f"the folder {self._folder} cannot be used ({error.strerror})", retry_after_seconds=FULL_SECONDS) from error

    def size_of(self, media_id: int, *, is_photo: bool) -> int:
        """How much has come so far."""
        try:
            return self._path(media_id, is_photo=is_photo).stat().st_size
        except OSError:
            return 0

    def remove(self, media_id: int, *, is_photo: bool) -> None:
        self._path(media_id, is_photo=is_photo).unlink(missing_ok=True)

    def require_room(self, size_bytes: int) -> None:
        """Busy when the folder holds as much as it may."""
        held = sum(size for _, size, _ in self._held())
        if held + size_bytes > self._max_bytes and held:
            raise Busy("as much is fetched as may wait for the store", retry_after_seconds=FULL_SECONDS)

    def tidy(self) -> int:
        """Remove what nobody has touched for two days; how many."""
        old = [path for path, _, touched in self._held() if time.time() - touched > FORGOTTEN_AFTER_SECONDS]
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)

    def _held(self) -> Iterator[tuple[Path, int, float]]:
        for path in self._folder.glob(NAME.format(kind="[pd]", media_id="*")) if self._folder.is_dir() else ():
            try:
                found = path.stat()
            except FileNotFoundError:
                continue
            yield path, found.st_size, found.st_mtime

    def _path(self, media_id: int, *, is_photo: bool) -> Path:
        return self._folder / NAME.format(kind="p" if is_photo else "d", media_id=media_id)
