"""Contents that were made to stop a program go through a running installation, and nobody else notices."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit import hostile_contents as contents
from testkit.engines import free_port
from testkit.hostile_run import UNLIMITED, measure
from testkit.servers import OwnServers, own_servers
from tests.conftest import scratch_database

pytestmark = pytest.mark.serial

SECONDS = 4.0
"""At twenty a second every content comes by once."""
MAX_P95_MS = 2_000.0
"""On a busy machine; how it compares with ordinary contents is measured by bench.hostile."""


@pytest.fixture(scope="module")
def servers() -> Iterator[OwnServers]:
    with own_servers("postgres", "redis") as running:
        yield running


def test_there_are_enough_hostile_contents_of_every_kind() -> None:
    kinds = (
        contents.texts,
        contents.edits,
        contents.pages,
        contents.robots,
        contents.pictures,
        contents.lists,
        contents.bodies,
    )
    assert all(len(kind()) >= 3 for kind in kinds)
    assert contents.count_contents() >= 60


async def test_others_are_served_while_hostile_contents_come_by(servers: OwnServers, tmp_path: Path) -> None:
    async with scratch_database(servers.environ(), "tga_hostile", template="tga") as environ:
        ports = {name: str(free_port()) for name in ("WORKER_PORT", "API_PORT")}
        places = {"FILES_DIR": str(tmp_path / "files"), "VECTORS_DIR": str(tmp_path / "vectors")}
        measured = await measure({**environ, **UNLIMITED, **ports, **places}, tmp_path, seconds=SECONDS)
    assert {status for answers in measured.answers.values() for status in answers} == {200}
    assert max(hostile for _, hostile in measured.p95_ms.values()) < MAX_P95_MS
    assert measured.left == 0
