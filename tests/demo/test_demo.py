"""`tga demo`: shows posts without Telegram, finds them by meaning, shows the same ones again, ends without a
trace of processes, and removes only what it made.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import pytest
import redis as redis_client
from playwright.async_api import Page, expect

from telegram_assistant.demo.folder import CONTENTS, MARKER, DemoState
from telegram_assistant.graph.server import Neo4jServer
from telegram_assistant.settings import GraphSettings, read_group
from testkit.chromium import ENGLISH_DESKTOP, Hands, open_chromium, open_tab
from testkit.demos import TGA, OpenApi, Started, find_started, running_demo, still_running, without_servers
from testkit.engines import Engine, free_port, running_engine
from testkit.models import MINILM, package_models
from tests.conftest import named_database

pytestmark = [pytest.mark.serial, pytest.mark.long]

CHANNELS = 31
QUESTION = "/search?limit=50&q=scientists+observe+distant+worlds"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with running_engine("redis", tmp_path / "redis") as running:
        yield running


def tga_demo(folder: Path, environ: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    command = [*TGA, "demo", "--folder", str(folder), "--no-browser", *options]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)


def until_new(api: OpenApi, since: datetime) -> None:
    """Waits for a post that was published after that moment."""
    deadline = time.monotonic() + 120
    while datetime.fromisoformat(api.get("/feed?limit=1")["items"][0]["posted_at"]) <= since:
        assert time.monotonic() < deadline, "no new post arrives"
        time.sleep(0.5)


def until_listed(api: OpenApi, *paths: str) -> None:
    """Waits until each of these lists has something."""
    deadline = time.monotonic() + 120
    for path in paths:
        while not api.get(path)["items"]:
            assert time.monotonic() < deadline, f"{path} stays empty"
            time.sleep(0.1)


def until_found_by_meaning(api: OpenApi) -> None:
    """Waits for a post that has no word of the question: the worker has the vectors, and the api asks it."""
    deadline = time.monotonic() + 120
    while not any(post["by_meaning"] and not post["by_words"] for post in api.get(QUESTION)["items"]):
        assert time.monotonic() < deadline, "no post is found by meaning"
        time.sleep(0.5)


async def read_in_a_browser(api: OpenApi) -> None:
    """By the printed link, with the keyboard alone: a story is the first thing to see; posts are there,
    new ones are counted, and one opens.
    """
    async with open_chromium() as chromium, open_tab(chromium, ENGLISH_DESKTOP, api.address) as page:
        hands = Hands(page, by_keys=True)
        await page.goto(api.login)
        await hands.press(page.locator("main button"))
        await expect(page.locator("article.story h2").first).to_be_visible()
        await page.keyboard.type("gf")
        await hands.press(page.locator("[data-live] a"))
        await page.wait_for_load_state()
        await hands.press(page.locator("article [data-act=open]").first)
        await page.wait_for_url("**/post/**")
        await expect(page.locator("main .text").first).to_be_visible()
        for section, something in (("s", "article.post"), ("d", "article.digest")):
            await until_shown(page, section, something)


async def until_shown(page: Page, section: str, something: str) -> None:
    """Looks into a section again and again, until its page shows it."""
    deadline = time.monotonic() + 120
    while not await page.locator(something).count():
        assert time.monotonic() < deadline, f"{page.url} stays empty"
        await page.keyboard.type(f"g{section}")
        await page.wait_for_load_state()


def state_of(folder: Path) -> DemoState:
    return DemoState.model_validate_json((folder / MARKER).read_bytes())


async def load_databases(environ: dict[str, str], demo: DemoState) -> set[str]:
    """The database and the logins of this demo."""
    admin = await asyncpg.connect(named_database(environ["DATABASE_ADMIN_URL"], "postgres"))
    rows = await admin.fetch("SELECT datname AS name FROM pg_database UNION ALL SELECT rolname FROM pg_roles")
    await admin.close()
    return {row["name"] for row in rows if row["name"].startswith(demo.database)}


async def load_constraints(environ: dict[str, str], demo: DemoState) -> set[str]:
    """Constraints of this demo in Neo4j."""
    server = Neo4jServer(read_group(GraphSettings, environ))
    rows = await server.read("SHOW CONSTRAINTS YIELD name")
    await server.close()
    return {row["name"] for row in rows if row["name"].startswith(demo.database.capitalize())}


async def test_it_shows_the_same_posts_at_its_next_start_and_removes_only_its_own(
    environ: dict[str, str], engine: Engine, tmp_path: Path
) -> None:
    folder, port, models = tmp_path / "demo", str(free_port()), package_models(tmp_path / "models")
    given = {**environ, "REDIS_URL": engine.url, "MODELS_DIR": str(models)}
    others = redis_client.Redis(port=engine.port, db=0)
    others.set("mine", 1)
    redis_client.Redis(port=engine.port, db=15).set("mine", 1)

    with running_demo(folder, given, "--port", port) as demo:
        api = demo.until_open()
        assert [line[2:13].strip() for line in demo.lines if line.startswith("✔")][-4:] == [
            "accounts",
            "channels",
            "first posts",
            "first story",
        ]
        assert {channel["folder"] for channel in api.get("/channels?limit=100")["items"]} == {
            "Новости",
            "Tech & Science",
            "Наблюдение",
        }
        assert len(api.get("/channels?limit=100")["items"]) == CHANNELS
        opened_at = datetime.now(UTC)
        await read_in_a_browser(api)
        until_new(api, opened_at)
        channel_id = api.get("/channels?limit=1")["items"][0]["channel_id"]
        until_listed(api, "/alerts?limit=1", "/watches", f"/channels/{channel_id}/similar")
        until_found_by_meaning(api)
        assert f"Search also finds posts by meaning ({MINILM})." in demo.output
        assert (folder / "vectors" / "search.sock").is_socket()
        first, started, state = api.posts(), find_started(folder), state_of(folder)
        assert await load_databases(given, state) == {state.database, state.api_login, state.system_login}
        assert await load_constraints(given, state)
        assert set(still_running(started)) == {"simulator", "roles"}
        assert demo.stop() == 0
    assert still_running(started) == []

    with running_demo(folder, given, "--port", port) as demo:
        again = demo.until_open().posts()
        in_use = tga_demo(folder, given, "--port", str(free_port()))
        assert (in_use.returncode, "is running" in in_use.stderr) == (1, True)
        assert tga_demo(folder, given, "--remove").returncode == 1
        assert demo.stop(signal.SIGINT) == 0
    assert first.keys() - again.keys() == set()
    assert sum(again[key] == text for key, text in first.items()) > 0.95 * len(first)  # a few are edited

    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    removed = tga_demo(folder, given, "--remove")
    assert (removed.returncode, "notes.txt" in removed.stdout) == (0, True)
    assert [entry.name for entry in folder.iterdir()] == ["notes.txt"]
    assert (await load_databases(given, state), await load_constraints(given, state)) == (set(), set())
    assert others.info("keyspace").keys() == {"db0", "db15"}


def test_servers_of_its_own_outlive_a_killed_demo_and_end_with_the_next(
    environ: dict[str, str], tmp_path: Path
) -> None:
    folder, nothing, port = tmp_path / "demo", without_servers(environ), str(free_port())
    with running_demo(folder, nothing, "--port", port) as demo:
        first, killed = demo.until_open().posts(), find_started(folder)
        demo.process.kill()
        demo.process.wait()
        until_ended(killed, {"roles"})
    assert set(still_running(killed)) == {"postgres", "redis", "simulator"}
    with running_demo(folder, nothing, "--port", port) as demo:
        again, started = demo.until_open().posts(), find_started(folder)
        assert still_running(killed) == []
        os.kill(started["redis"][0], signal.SIGKILL)
        assert demo.process.wait(60) == 1
    assert "redis ended by itself" in demo.output
    assert first.keys() <= again.keys()
    assert still_running(started) == []
    assert set(CONTENTS) >= {entry.name for entry in folder.iterdir()}
    assert tga_demo(folder, nothing, "--remove").returncode == 0
    assert not folder.exists()


def until_ended(started: Started, names: set[str]) -> None:
    deadline = time.monotonic() + 60
    while names & set(still_running(started)):
        assert time.monotonic() < deadline, "they do not end"
        time.sleep(0.1)


def test_a_demo_that_is_stopped_while_it_starts_leaves_nothing_running(
    environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "demo"
    with running_demo(folder, without_servers(environ), "--port", str(free_port())) as demo:
        deadline = time.monotonic() + 60
        while not (folder / "processes.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        started = find_started(folder)
        assert demo.stop(signal.SIGINT) == 0
    assert still_running(started) == []


def test_what_cannot_work_is_refused_in_words_before_anything_starts(
    environ: dict[str, str], engine: Engine, tmp_path: Path
) -> None:
    foreign, demo = tmp_path / "foreign", tmp_path / "demo"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine", encoding="utf-8")
    given = {**environ, "REDIS_URL": engine.url}
    cases = (
        (tga_demo(foreign, given), "is not empty and contains no demo"),
        (tga_demo(foreign, given, "--remove"), "`tga demo` did not create"),
        (tga_demo(demo, given | {"REDIS_URL": ""}), "only one of DATABASE_URL and REDIS_URL is set"),
        (tga_demo(demo, given | {"DATABASE_URL": "mysql://x"}), "DATABASE_URL is wrong"),
        (tga_demo(demo, given, "--port", str(engine.port)), "Choose another one with --port"),
    )
    for done, complaint in cases:
        assert (done.returncode, complaint in done.stderr) == (1, True), done.stderr
    assert tga_demo(demo, given, "--remove").returncode == 0
    assert not (demo / MARKER).exists()
    assert [entry.name for entry in foreign.iterdir()] == ["thesis.txt"]
