"""Both engines. The server is asked only where one is named: no registry has it."""

import os
import random
from collections.abc import AsyncIterator, Iterator
from math import sqrt
from pathlib import Path

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.settings import VectorSettings, read_group
from telegram_assistant.vectors.opening import open_vectors
from telegram_assistant.vectors.protocol import Payload, Point, Space, Vectors
from testkit.factories import fresh_number
from tests.vectors.indexed import vectors_in

DIMENSION = 24


@pytest.fixture(params=["embedded", "server"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    if request.param == "embedded":
        return {"VECTORS_DIR": str(tmp_path / "vectors")}
    if not os.environ.get("QDRANT_URL"):
        pytest.skip("QDRANT_URL is not set: there is no Qdrant server to ask")
    return vectors_in(tmp_path)


@pytest.fixture
async def vectors(engine: dict[str, str]) -> AsyncIterator[Vectors]:
    async with open_vectors(read_group(VectorSettings, engine)) as store:
        assert store is not None
        yield store


@pytest.fixture
async def space(vectors: Vectors) -> AsyncIterator[Space]:
    """A model that no other test has, with its first collection."""
    own = Space(f"tests/model-{fresh_number()}", DIMENSION)
    await vectors.create(own, own.collection(1))
    await vectors.switch(own, own.collection(1))
    yield own
    for collection in await vectors.collections():
        if own.holds(collection):
            await vectors.drop(collection)


def directions(seed: int) -> Iterator[tuple[float, ...]]:
    """Vectors of length one, the same for the same seed."""
    rng = random.Random(seed)
    while True:
        drawn = [rng.gauss() for _ in range(DIMENSION)]
        length = sqrt(sum(number * number for number in drawn))
        yield tuple(number / length for number in drawn)


def make_point(
    channel_id: int, message_id: int, vector: tuple[float, ...], **facts: int | str | list[str]
) -> Point:
    payload: Payload = {"channel": channel_id, "at": 1_790_000_000, **facts}
    return Point(PostId(ChannelId(channel_id), MessageId(message_id)), vector, payload)
