"""A first look before any login: previews on, no account; then an account logs in and takes over."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from telegram_assistant.telegram.vault import make_key
from telegram_simulator.control.client import ControlClient
from testkit.engines import free_port
from testkit.programs import INGEST, load_texts, program, tga
from testkit.simulators import simulator
from tests.journeys.installation import until

TECH, NAME = 1_500_000_002, "tech_daily"
PHONE = "79990000007"


@dataclass
class Beginner:
    """Somebody who has just installed the program."""

    environ: dict[str, str]
    telegram: ControlClient
    folder: Path
    admin: Any

    def tga(self, *arguments: str) -> str:
        done = tga(*arguments, environ=self.environ, folder=self.folder)
        return done.stdout + done.stderr

    async def count(self, what: str) -> int:
        return int(await self.admin.fetchval(f"SELECT count(*) FROM {what}"))


@pytest.fixture(scope="module")
def telegram() -> Iterator[tuple[ControlClient, str]]:
    with simulator("tiny") as running, running.control() as control:
        yield control, running.where["web"]


@pytest.fixture
async def beginner(
    migrated_database: dict[str, str], telegram: tuple[ControlClient, str], tmp_path: Path
) -> AsyncIterator[Beginner]:
    control, web = telegram
    environ = {
        **migrated_database,
        "PREVIEWS_URL": web,
        "INGEST_PORT": str(free_port()),
        "PARSER_SCHEDULER_INTERVAL_SEC": "1",
    }
    admin = await asyncpg.connect(environ["DATABASE_ADMIN_URL"])
    yield Beginner(environ, control, tmp_path, admin)
    await admin.close()


async def test_previews_are_off_unless_they_are_asked_for(beginner: Beginner, tmp_path: Path) -> None:
    before = beginner.telegram.state()["web_requests"]
    with program(*INGEST, environ=beginner.environ, log=tmp_path / "off.log"):
        assert "waits: no account can do it" in beginner.tga("channels", "add", f"@{NAME}", "--wait", "3")
    assert beginner.telegram.state()["web_requests"] == before


@pytest.mark.turns("PREVIEWS_ENABLED")
@pytest.mark.turns("PREVIEWS_URL")
async def test_a_channel_is_read_before_any_login_and_an_account_takes_over(
    beginner: Beginner, tmp_path: Path
) -> None:
    beginner.environ["PREVIEWS_ENABLED"] = "true"
    with program(*INGEST, environ=beginner.environ, log=tmp_path / "previews.log"):
        assert beginner.tga("channels", "add", f"@{NAME}", "--wait", "30") == f"@{NAME}: follows Tech Daily\n"

        async def is_stored() -> bool:
            return await beginner.count("posts") > 0

        await until(is_stored, "the newest posts are stored", seconds=60)
        output = beginner.tga("channels", "coverage")
        assert "preview" in output
        assert "rounded" in output
    everything = {number: text for (_, number), text in load_texts(beginner.telegram, [TECH]).items()}
    by_preview = {
        row["message_id"]: row["text"]
        for row in await beginner.admin.fetch("SELECT message_id, text FROM posts")
    }
    assert by_preview.items() <= everything.items()
    assert max(by_preview) == max(everything)

    session = beginner.telegram.session(PHONE)
    account = {
        "TELEGRAM_API_ID": "1",
        "TELEGRAM_API_HASH": "any",
        "SESSION_ENCRYPTION_KEY": make_key(),
        "TELEGRAM_SESSION_STRING": session,
    }
    with program(*INGEST, environ={**beginner.environ, **account}, log=tmp_path / "account.log"):

        async def is_taken_over() -> bool:
            previews = await beginner.count("posts WHERE facts->>'source' = 'preview'")
            return previews == 0 and await beginner.count("poll_schedule WHERE account_id IS NOT NULL") == 1

        await until(is_taken_over, "the account has read what the preview had shown", seconds=60)
        assert await beginner.count("post_versions") == 0
        assert "complete" in beginner.tga("channels", "coverage") or "filling" in beginner.tga(
            "channels", "coverage"
        )
    stored = {
        row["message_id"]: row["text"]
        for row in await beginner.admin.fetch("SELECT message_id, text FROM posts")
    }
    assert by_preview.items() <= stored.items() <= everything.items()
