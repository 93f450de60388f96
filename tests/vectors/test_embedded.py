"""The embedded store alone: one process, its folder, its index."""

import asyncio
import json
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.search.query import Has
from telegram_assistant.errors import Busy, CannotStart, InUse
from telegram_assistant.settings import VectorSettings, read_group
from telegram_assistant.vectors.embedded import FEW, EmbeddedVectors
from telegram_assistant.vectors.opening import examine, open_search, open_searchable, open_vectors
from telegram_assistant.vectors.protocol import Reach, Space, VectorQuery
from telegram_assistant.vectors.sharing import SharedVectors
from tests.vectors.conftest import DIMENSION, directions, make_point

SPACE = Space("tests/model", DIMENSION)
FIRST = SPACE.collection(1)
ALL = Reach(local=frozenset({ChannelId(1)}))
WRITE_AND_DIE = """
import asyncio, os, signal, sys
from pathlib import Path
from telegram_assistant.vectors.embedded import EmbeddedVectors
from tests.vectors.test_embedded import FIRST, SPACE
from tests.vectors.conftest import directions, make_point

async def main():
    store = await EmbeddedVectors.open(Path(sys.argv[1]))
    await store.create(SPACE, FIRST)
    await store.switch(SPACE, FIRST)
    await store.upsert(FIRST, [make_point(1, n, v) for n, v in zip(range(1, 301), directions(1))])
    await store.delete(FIRST, [make_point(1, 7, ()).post_id])
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@pytest.mark.turns("VECTORS_DIR")
async def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    settings = read_group(VectorSettings, {"VECTORS_DIR": str(tmp_path / "vectors")})
    vector = next(directions(1))
    async with open_vectors(settings) as store:
        assert store is not None
        await store.create(SPACE, FIRST)
        await store.switch(SPACE, FIRST)
        await store.upsert(FIRST, [make_point(1, 1, vector)])
    async with open_vectors(settings) as store:
        assert store is not None
        assert len(await store.search(SPACE, VectorQuery(vector=vector, reach=ALL, limit=5))) == 1
    async with open_vectors(read_group(VectorSettings, {})) as store:
        assert store is None


async def test_a_process_that_does_not_have_the_vectors_searches_through_the_one_that_does(
    tmp_path: Path,
) -> None:
    settings = read_group(VectorSettings, {"VECTORS_DIR": str(tmp_path)})
    vector = next(directions(1))
    sought = VectorQuery(
        vector=vector, reach=ALL, limit=5, since=datetime(2026, 1, 1, tzinfo=UTC), has=(Has.IMAGE,)
    )
    async with open_vectors(settings) as store:
        assert store is not None
        await store.create(SPACE, FIRST)
        await store.switch(SPACE, FIRST)
        await store.upsert(FIRST, [make_point(1, 1, vector, flags=["image"]), make_point(1, 2, vector)])
        async with open_searchable(settings) as other:
            assert isinstance(other, SharedVectors)
            assert await other.search(SPACE, sought) == await store.search(SPACE, sought)
            assert [hit.post_id.message_id for hit in await other.search(SPACE, sought)] == [1]
    with pytest.raises(Busy, match="does not answer"):
        await other.search(SPACE, sought)
    async with open_searchable(settings) as free:
        assert isinstance(free, EmbeddedVectors)


async def test_a_role_that_only_searches_may_start_before_the_one_with_the_vectors(tmp_path: Path) -> None:
    settings = read_group(VectorSettings, {"VECTORS_DIR": str(tmp_path / "vectors")})
    vector = next(directions(1))
    sought = VectorQuery(vector=vector, reach=ALL, limit=5)
    async with open_search(settings) as api:
        assert api is not None
        with pytest.raises(Busy, match="does not answer"):
            await api.search(SPACE, sought)
        async with open_vectors(settings) as store:
            assert store is not None
            await store.create(SPACE, FIRST)
            await store.switch(SPACE, FIRST)
            await store.upsert(FIRST, [make_point(1, 1, vector)])
            assert [hit.post_id.message_id for hit in await api.search(SPACE, sought)] == [1]
    async with open_search(read_group(VectorSettings, {})) as nothing:
        assert nothing is None


async def test_a_killed_process_loses_nothing_and_leaves_the_folder_free(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", WRITE_AND_DIE, str(tmp_path))
    assert await process.wait() == -signal.SIGKILL
    store = await EmbeddedVectors.open(tmp_path)
    assert await store.count(FIRST) == 299
    await store.close()


async def test_a_second_process_is_refused_with_what_to_do_and_the_doctor_explains(tmp_path: Path) -> None:
    settings = read_group(VectorSettings, {"VECTORS_DIR": str(tmp_path)})
    async with open_vectors(settings):
        with pytest.raises(InUse, match=r"only one can\. Run worker and api in one process") as refused:
            async with open_vectors(settings):
                pass
        assert isinstance(refused.value, CannotStart)
        [finding] = await examine(settings, "tests/model")
        assert "used by a running process" in str(finding.what)


async def test_the_doctor_says_what_is_used_by_which_model_and_how_much_is_in_it(tmp_path: Path) -> None:
    settings = read_group(VectorSettings, {"VECTORS_DIR": str(tmp_path)})
    async with open_vectors(settings) as store:
        assert store is not None
        for space in (SPACE, Space("tests/older", DIMENSION)):
            await store.create(space, space.collection(1))
            await store.switch(space, space.collection(1))
        await store.upsert(FIRST, [make_point(1, 1, next(directions(1)))])
    [finding] = await examine(settings, "tests/model")
    assert f"{FIRST}: 1" in str(finding.what)
    assert "the model is tests/model" in str(finding.what)
    assert "tga rebuild vectors" in str(finding.remedy)
    [finding] = await examine(read_group(VectorSettings, {}), "tests/model")
    assert str(finding.what) == "no QDRANT_URL and no VECTORS_DIR: search finds posts by words only"


async def test_the_folder_is_closed_to_other_users(tmp_path: Path) -> None:
    async with open_vectors(VectorSettings(folder=tmp_path / "new" / "vectors")):
        assert (tmp_path / "new" / "vectors").stat().st_mode & 0o777 == 0o700


async def test_a_folder_that_cannot_be_used_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotStart, match=r"cannot be used .* correct VECTORS_DIR"):
        await EmbeddedVectors.open(tmp_path / "file")
    (tmp_path / "shards.json").write_text(
        json.dumps({"shards": {FIRST: f"{FIRST}.1"}, "shown": {}}), encoding="utf-8"
    )
    with pytest.raises(CannotStart, match="run `tga rebuild vectors`"):
        await EmbeddedVectors.open(tmp_path)


async def test_what_is_written_while_an_index_is_built_is_carried_over(tmp_path: Path) -> None:
    store = await EmbeddedVectors.open(tmp_path, index_from=200)
    await store.create(SPACE, FIRST)
    await store.switch(SPACE, FIRST)
    given = directions(1)
    points = [make_point(1, number, next(given)) for number in range(1, 201)]
    await store.upsert(FIRST, points)
    while not (tmp_path / f"{FIRST}.2").exists():
        await asyncio.sleep(0.005)
    late, moved = make_point(1, 999, next(given)), make_point(1, 2, next(given))
    more = [
        make_point(1, 1000 + number, next(given)) for number in range(FEW + 1)
    ]  # too many to carry over while nobody writes
    await store.upsert(FIRST, [late, moved, *more])
    await store.delete(FIRST, [points[0].post_id])
    while (tmp_path / f"{FIRST}.1").exists():
        assert len(await store.search(SPACE, VectorQuery(vector=late.vector, reach=ALL, limit=5))) == 5
        await asyncio.sleep(0.01)
    assert await store.count(FIRST) == 200 + len(more)
    for point in (late, moved, points[150], *more[::50]):
        [nearest] = await store.search(SPACE, VectorQuery(vector=point.vector, reach=ALL, limit=1))
        assert (nearest.post_id, round(nearest.score, 2)) == (point.post_id, 1.0)
    await store.close()
    again = await EmbeddedVectors.open(tmp_path)
    assert await again.count(FIRST) == 200 + len(more)
    await again.close()


async def test_what_an_interrupted_index_has_left_is_cleared(tmp_path: Path) -> None:
    store = await EmbeddedVectors.open(tmp_path)
    await store.create(SPACE, FIRST)
    await store.close()
    (tmp_path / f"{FIRST}.2").mkdir()
    store = await EmbeddedVectors.open(tmp_path)
    assert not (tmp_path / f"{FIRST}.2").exists()
    assert list(await store.collections()) == [FIRST]
    await store.close()
