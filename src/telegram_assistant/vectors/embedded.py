"""Embedded vectors in this process: qdrant-edge, with one shard in a folder per collection.

The engine blocks the interpreter while it works, so points are written a few at a time and other tasks run in
between. Another process builds an index on a copy. Points written meanwhile are copied over while writing
continues, the last of them while writing is locked; then the copy replaces the shard.
"""

import asyncio
import fcntl
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.operations.fullness import MEGABYTE, size_in_words
from telegram_assistant.errors import CannotStart, InUse, NoRoom
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.disks import measure_folder
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.vectors.protocol import PREFIX, Hit, Point, Space, VectorQuery
from telegram_assistant.vectors.shard import AT_ONCE, Shard, index_in

log = get_logger()

INDEX_FROM = 20_000
"""Fewer points are compared one by one in a few milliseconds."""
INDEX_SHARE = 0.25
"""The index is rebuilt when a quarter of all points is not in it."""
FEW, MAX_ROUNDS = 200, 10
"""FEW points are copied over in a fraction of a second, with writing locked; more are copied first,
in rounds, while writing continues.
"""
STATE = "shards.json"
MIN_FREE_BYTES, MIN_FREE_SHARE = 64 * MEGABYTE, 0.05
"""The space that must stay free for the engine to write. It is less than the limit at which files of posts
stop, and more than one write can need.
"""
FULL_SECONDS = 15.0


class EmbeddedVectors:
    """Belongs to one process at a time: opening a folder that another process holds raises InUse."""

    def __init__(self, folder: Path, lock: TextIO, *, index_from: int) -> None:
        self.where = f"embedded, in the folder {folder}"
        self._folder = folder
        self._lock = lock
        self._index_from = index_from
        self._shards: dict[str, Shard] = {}
        self._shown: dict[str, str] = {}
        self._writing = asyncio.Lock()
        self._indexing: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, folder: Path, *, index_from: int = INDEX_FROM) -> "EmbeddedVectors":
        store = cls(folder, _lock_folder(folder), index_from=index_from)
        try:
            await store._load()
        except BaseException:
            await store.close()
            raise
        return store

    async def close(self) -> None:
        if self._indexing is not None:
            self._indexing.cancel()
            await asyncio.wait([self._indexing])
        for shard in self._shards.values():
            await shard.close()
        self._shards.clear()
        self._lock.close()

    async def collections(self) -> Mapping[str, str | None]:
        names = {collection: name for name, collection in self._shown.items()}
        return {collection: names.get(collection) for collection in self._shards}

    async def create(self, space: Space, collection: str) -> None:
        async with self._writing:
            if collection not in self._shards:
                await self._require_room()
                self._shards[collection] = await Shard.create(
                    self._folder / f"{collection}.1", space.dimension
                )
                self._save()

    async def switch(self, space: Space, collection: str) -> None:
        self._shown[space.name] = collection
        self._save()

    async def drop(self, collection: str) -> None:
        async with self._writing:
            shard = self._shards.pop(collection, None)
            self._shown = {
                name: shown_collection
                for name, shown_collection in self._shown.items()
                if shown_collection != collection
            }
            self._save()
        if shard is not None:
            await _remove(shard)

    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        for start in range(0, len(points), AT_ONCE):
            async with self._writing:
                if (shard := self._shards.get(collection)) is not None:
                    await self._require_room()
                    await shard.upsert(points[start : start + AT_ONCE])
        self._index_in_time(collection)

    async def delete(self, collection: str, post_ids: Sequence[PostId]) -> None:
        async with self._writing:
            if post_ids and (shard := self._shards.get(collection)) is not None:
                await self._require_room()
                await shard.delete(post_ids)

    async def search(self, space: Space, query: VectorQuery) -> tuple[Hit, ...]:
        shard = self._shards.get(self._shown.get(space.name, ""))
        return () if shard is None or query.reaches_nothing else await shard.search(query)

    async def count(self, collection: str) -> int:
        shard = self._shards.get(collection)
        return 0 if shard is None else await shard.count()

    async def _require_room(self, size_bytes: int = 0) -> None:
        """Raise NoRoom unless the disk keeps some room.

        The engine writes into mapped files: on a full disk, the kernel kills its process.
        """
        fullness = await asyncio.to_thread(measure_folder, self._folder)
        if fullness is None or fullness.free_bytes - size_bytes >= max(
            MIN_FREE_BYTES, fullness.size_bytes * MIN_FREE_SHARE
        ):
            return
        raise NoRoom(
            Reason(
                "vectors_have_no_room",
                "the disk of {folder} is nearly full ({free} of {size} free): vectors wait, and search "
                "continues",
                folder=str(self._folder),
                free=size_in_words(fullness.free_bytes),
                size=size_in_words(fullness.size_bytes),
            ),
            retry_after_seconds=FULL_SECONDS,
        )

    def _index_in_time(self, collection: str) -> None:
        shard = self._shards.get(collection)
        if shard is None or (self._indexing is not None and not self._indexing.done()):
            return
        if shard.points - shard.indexed >= max(self._index_from, INDEX_SHARE * shard.points):
            self._indexing = asyncio.create_task(self._index(collection, shard))

    async def _index(self, collection: str, shard: Shard) -> None:
        """Builds an index.

        After a failure searches continue without it, and the next attempt follows when as many points were
        added again.
        """
        shard.indexed = shard.points
        copy = shard.folder.with_suffix(f".{int(shard.folder.suffix[1:]) + 1}")
        is_taken = False
        try:
            async with self._writing:
                await shard.flush()
                await self._require_room(await asyncio.to_thread(_size_of, shard.folder))
                await asyncio.to_thread(shutil.copytree, shard.folder, copy)
                shard.touched = set()
            await index_in(copy)
            new_shard = await Shard.load(copy)
            is_taken = await self._replace(collection, shard, new_shard)
            if not is_taken:
                await new_shard.close()
        except Exception as error:  # noqa: BLE001 -- the engine raises plain Exceptions
            log.warning(
                "vectors_not_indexed",
                collection=collection,
                why=str(error),
                what_to_do="searches go on; look at the disk of VECTORS_DIR",
            )
        finally:
            shard.touched = None
            if not is_taken:
                shutil.rmtree(copy, ignore_errors=True)
        if is_taken:
            await _remove(shard)

    async def _replace(self, collection: str, shard: Shard, new: Shard) -> bool:
        """Replaces the shard by its indexed copy. Returns False if the shard was dropped meanwhile."""
        for _ in range(MAX_ROUNDS):
            if len(shard.touched or ()) <= FEW:
                break
            await shard.carry_over(new)
        async with self._writing:
            if self._shards.get(collection) is not shard:
                return False
            await shard.carry_over(new)
            self._shards[collection] = new
            self._save()
        log.info("vectors_indexed", collection=collection, points=new.points)
        return True

    async def _load(self) -> None:
        """Loads the shards named in the state file, and deletes unfinished ones."""
        file = self._folder / STATE
        state = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"shards": {}, "shown": {}}
        for leftover in self._folder.glob(f"{PREFIX}*"):
            if leftover.name not in state["shards"].values():
                await asyncio.to_thread(shutil.rmtree, leftover)
        for collection, name in state["shards"].items():
            try:
                self._shards[collection] = await Shard.load(self._folder / name)
            except Exception as error:
                reason = Reason(
                    "vectors_unreadable",
                    "the vectors in {folder} cannot be read ({error})",
                    folder=str(self._folder / name),
                    error=str(error),
                )
                remedy = Reason(
                    "rebuild_vectors",
                    "Remove the folder {folder} and run `tga rebuild vectors`",
                    folder=str(self._folder),
                )
                raise CannotStart(reason, remedy=remedy) from error
        self._shown = {
            name: collection for name, collection in state["shown"].items() if collection in self._shards
        }

    def _save(self) -> None:
        state = {
            "shards": {collection: shard.folder.name for collection, shard in self._shards.items()},
            "shown": self._shown,
        }
        draft = self._folder / f"{STATE}.new"
        draft.write_text(json.dumps(state, indent=1), encoding="utf-8")
        draft.replace(self._folder / STATE)


async def _remove(shard: Shard) -> None:
    await shard.close()
    await asyncio.to_thread(shutil.rmtree, shard.folder)


def _lock_folder(folder: Path) -> TextIO:
    """Locks the folder; the engine itself would let a second process create a shard in it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (folder / "lock").open("a", encoding="utf-8")
    except OSError as error:
        raise CannotStart(
            Reason(
                "folder_unusable",
                "the folder {folder} cannot be used ({error})",
                folder=str(folder),
                error=error.strerror or "",
            ),
            remedy=Reason("correct_vectors_folder", "Make it writable, or correct VECTORS_DIR"),
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise InUse(
            Reason(
                "vectors_in_use",
                "another process uses the vectors in {folder}, and only one can",
                folder=str(folder),
            ),
            remedy=Reason(
                "share_vectors",
                "Run worker and api in one process (`tga run`), or start a Qdrant server and set QDRANT_URL",
            ),
        ) from error
    return lock


def _size_of(folder: Path) -> int:
    """The space that the files take on the disk; mapped files are larger than that."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))
