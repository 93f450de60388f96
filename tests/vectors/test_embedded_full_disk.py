"""Embedded vectors on a disk that runs full.

Without a look at the disk, the kernel would kill this process.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import NoRoom
from telegram_assistant.vectors.embedded import EmbeddedVectors
from telegram_assistant.vectors.protocol import Point, Reach, Space, VectorQuery
from testkit.shortages import MB, SmallDisk, small_disk
from tests.vectors.conftest import DIMENSION, directions, make_point

SPACE = Space("tests/full", DIMENSION)
COLLECTION = SPACE.collection(1)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", megabytes=160) as mounted:
        yield mounted


@pytest.fixture
async def vectors(disk: SmallDisk) -> AsyncIterator[EmbeddedVectors]:
    store = await EmbeddedVectors.open(disk.path / "vectors")
    await store.create(SPACE, COLLECTION)
    await store.switch(SPACE, COLLECTION)
    yield store
    await store.close()


def points(first: int, count: int) -> list[Point]:
    return [
        make_point(7, first + number, vector)
        for number, vector in zip(range(count), directions(first), strict=False)
    ]


async def test_vectors_wait_for_room_searches_go_on_and_nothing_is_lost(
    vectors: EmbeddedVectors, disk: SmallDisk
) -> None:
    await vectors.upsert(COLLECTION, points(1, 100))
    disk.fill(leave_bytes=MB)
    with pytest.raises(NoRoom, match="vectors wait"):
        await vectors.upsert(COLLECTION, points(101, 3000))
    with pytest.raises(NoRoom):
        await vectors.create(SPACE, SPACE.collection(2))
    query = VectorQuery(vector=points(5, 1)[0].vector, limit=3, reach=Reach(local=frozenset({ChannelId(7)})))
    assert len(await vectors.search(SPACE, query)) == 3
    disk.empty()
    await vectors.upsert(COLLECTION, points(101, 3000))
    assert await vectors.count(COLLECTION) == 3100
