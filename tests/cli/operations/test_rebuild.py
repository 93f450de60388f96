"""`tga rebuild`."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
from typer.testing import CliRunner

from telegram_assistant.cli import app
from telegram_assistant.features.operations.vector_upkeep import keep_vectors
from telegram_assistant.settings import DatabaseLogin, read_settings
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.stores import system_stores
from testkit.models import MINILM
from tests.ai.conftest import minilm
from tests.vectors.indexed import (
    SPACE,
    index_of,
    land,
    make_followed_channel,
    open_with_vectors,
    vectors_in,
)

__all__ = ["minilm"]


def test_without_vectors_there_is_nothing_to_rebuild(runner: CliRunner) -> None:
    result = runner.invoke(app, ["rebuild", "vectors"])
    assert result.exit_code == 1
    assert "vectors are off: set QDRANT_URL or VECTORS_DIR" in result.stderr


@pytest.mark.parametrize("is_running", [False, True], ids=["nobody has them", "a process that runs has them"])
async def test_vectors_are_made_anew_by_whoever_has_them(
    is_running: bool, migrated_database: dict[str, str], minilm: Path, tmp_path: Path
) -> None:
    variables = {"MODELS_DIR": str(minilm), "AI_EMBEDDINGS_MODEL": MINILM, **vectors_in(tmp_path / "vectors")}

    async def command() -> str:
        environ = {**os.environ, **migrated_database, **variables}
        called = (sys.executable, "-m", "telegram_assistant", "rebuild", "vectors")
        process = await asyncio.create_subprocess_exec(
            *called, env=environ, stdout=PIPE, stderr=PIPE, cwd=tmp_path
        )
        output, progress = await process.communicate()
        assert process.returncode == 0
        assert "vectors: 0 of about" in progress.decode()
        return output.decode()

    async with open_with_vectors(migrated_database, models=minilm, folder=tmp_path / "vectors") as running:
        channel_id, _ = await make_followed_channel(running.system)
        await index_of(running).write(await land(running.system, channel_id, "Snow", "Rain", "Ice"))
        if is_running:
            stores, stopping = running.system, asyncio.Event()
            keeping = asyncio.create_task(
                keep_vectors(
                    stopping,
                    index=running.index,
                    states=stores.post_states,
                    rebuilds=stores.rebuilds,
                    model=MINILM,
                    owner=running.instance,
                    fills_gaps=False,
                )
            )
            try:
                printed = await command()
            finally:
                stopping.set()
                await keeping
    if not is_running:
        printed = await command()
    assert printed.strip() == "3 posts are in the new collection, and searches use it."
    async with open_with_vectors(migrated_database, models=minilm, folder=tmp_path / "vectors") as again:
        assert await index_of(again).vectors.collections() == {SPACE.collection(2): SPACE.name}
        assert await index_of(again).vectors.count(SPACE.collection(2)) == 3


async def test_words_are_made_anew_by_the_command(
    migrated_database: dict[str, str], runner: CliRunner
) -> None:
    settings = read_settings(migrated_database)
    async with open_pool(settings.database, DatabaseLogin.SYSTEM) as pool:
        system = system_stores(pool, Wakeup())
        channel_id, _ = await make_followed_channel(system)
        await land(system, channel_id, "Snow", "Rain", "Ice")
    result = await asyncio.to_thread(runner.invoke, app, ["rebuild", "text"], env=migrated_database)
    assert result.stdout.strip() == "The words of 3 posts are in the new table, and searches use it."
