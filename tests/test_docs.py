"""The documentation agrees with the code."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import PostTagged
from telegram_assistant.settings import DatabaseLogin, read_settings
from telegram_assistant.stores.postgres.database import open_pool
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import system_stores
from telegram_assistant.streams.entries import PAYLOAD
from telegram_assistant.streams.keys import stream_key
from telegram_assistant.web.page import Page
from telegram_assistant.web.site import OF_TENANT
from testkit.checkouts import CHECKOUT, copy_checkout
from testkit.engines import free_port
from testkit.factories import make_channel, make_page, make_post
from tests.streams.conftest import until

STAGES = (CHECKOUT / "docs/stages.md").read_text(encoding="utf-8")
PROGRAM = CHECKOUT / "src/telegram_assistant"
PAGES = [*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md"), CHECKOUT / "bench/README.md"]


def section(place: str) -> str:
    """The text under a heading, up to the next heading."""
    name, _, anchor = place.partition("#")
    text = re.sub(r"```.*?```", "", (CHECKOUT / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    for part in re.split(r"^(?=#+ )", text, flags=re.MULTILINE):
        heading = part.partition("\n")[0].lstrip("# ").lower()
        if re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") == anchor:
            return part
    raise AssertionError(f"there is no section {place}")


def test_the_layers_of_the_architecture_are_those_that_are_enforced() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    enforced = project["tool"]["importlinter"]["contracts"][0]["layers"]
    page = (CHECKOUT / "docs/architecture.md").read_text(encoding="utf-8")
    block = re.search(r"```\n(.*?)```", page.partition("## Layers")[2], re.DOTALL)
    assert block is not None
    assert block[1].splitlines() == enforced


def test_every_package_has_a_row_in_the_architecture() -> None:
    page = (CHECKOUT / "docs/architecture.md").read_text(encoding="utf-8")
    rows = page.partition("## Packages")[2].partition("\n### ")[0]
    first_columns = " ".join(re.findall(r"^\| (.*?) \|", rows, re.MULTILINE))
    named = {path.partition("/")[0] for path in re.findall(r"`([\w/.]+)`", first_columns)}
    existing = {
        path.name
        for path in PROGRAM.iterdir()
        if path.name[0] != "_" and (path.is_dir() or path.suffix == ".py")
    }
    assert existing - named == {"clock.py"}, "`clock.py` is explained beside `jobs.py`"
    assert named <= existing


def recipes_of_contributing() -> str:
    page = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return page.partition("\n## Recipes\n")[2].partition("\n## ")[0]


def test_the_glossary_and_the_recipe_know_every_class_of_tables() -> None:
    functions = (PROGRAM / "stores/postgres/migrations/classes.py").read_text(encoding="utf-8")
    classes = set(re.findall(r"^def (\w+)_table\(", functions, re.MULTILINE))
    assert len(classes) == 4
    row = re.search(r"^\| table class \|.*$", section("docs/glossary.md#tenants-and-access"), re.MULTILINE)
    assert row is not None
    assert set(re.findall(r"\*(\w+)\*", row[0])) == classes
    recipes = recipes_of_contributing()
    assert set(re.findall(r"`(\w+)_table`", recipes)) == classes


def test_the_sets_that_recipes_name_exist() -> None:
    """A name in capitals, a list of stores and a private function are defined in a file of their recipe."""
    recipes = recipes_of_contributing()
    missing = []
    for recipe in re.split(r"^(?=\*\*A)", recipes, flags=re.MULTILINE):
        paths = set(re.findall(r"`([\w/]+\.py)`", recipe))
        code = "\n".join(
            (root / path).read_text(encoding="utf-8")
            for path in paths
            for root in (CHECKOUT, PROGRAM)
            if (root / path).exists()
        )
        names = set(re.findall(r"`([A-Z]{3,}(?:_[A-Z]+)*|[A-Z][a-z]+Stores|_\w+)`", recipe)) - EXAMPLE_NAMES
        missing += [
            f"{recipe.partition(chr(10))[0]}: {name}"
            for name in names
            if not re.search(rf"^(?:class |async def |def )?{name}\b", code, re.MULTILINE)
        ]
    assert missing == []


EXAMPLE_NAMES = {"NAME", "VERSION", "CHECK"}


def test_the_recipe_of_a_store_names_every_list_of_stores() -> None:
    lists = set(
        re.findall(
            r"^class (\w+Stores)\b",
            (PROGRAM / "stores/postgres/stores.py").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    )
    recipes = recipes_of_contributing()
    assert set(re.findall(r"`(\w+Stores)`", recipes)) == lists


def test_every_document_is_linked() -> None:
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in PAGES
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
        if "://" not in link
    }
    found_by_name = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
    assert [page for page in PAGES if page not in linked and page.name not in found_by_name] == []


def test_every_page_of_a_tenant_is_linked_from_a_template_or_a_script() -> None:
    """Pages that need an id are linked where the thing is listed: their fixed beginning is looked for."""
    web = PROGRAM / "web"
    sources = [*web.rglob("*.html"), *web.glob("static/*.js"), *web.rglob("*.py")]
    texts = [file.read_text(encoding="utf-8") for file in sources if file.name != "site.py"]
    unlinked = []
    for route in OF_TENANT:
        if isinstance(route, Page):
            beginning, parameter, _ = route.path.partition("{")
            end = "" if parameter else r"(?:[\"'`?#{]|$)"
            if not any(re.search(rf"[\"'`}}]{re.escape(beginning)}{end}", text) for text in texts):
                unlinked.append(route.path)
    assert unlinked == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(
        r"^#+ (.*)$",
        re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL),
        re.MULTILINE,
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def site_anchors(page: Path) -> set[str]:
    """The anchors of the same headings as Python-Markdown makes them, and with it MkDocs:
    runs of blanks and hyphens become one hyphen.
    """
    return {re.sub(r"[\s-]+", "-", anchor).strip("-") for anchor in anchors(page)}


def test_links_between_pages_lead_somewhere() -> None:
    """On GitHub, and on a site that is made of the same pages."""
    broken = []
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if "://" not in link and not (
                target.exists() and (not anchor or anchor in anchors(target) & site_anchors(target))
            ):
                broken.append(f"{page.relative_to(CHECKOUT)}: {link}")
    assert broken == []


INVENTED = ("urgency.py", "/notes.py", "_notes.py")


def test_modules_that_pages_name_exist() -> None:
    """As a path from the checkout or from the package; `stages.md` and `tutorial.md` invent some."""
    missing = []
    for page in PAGES:
        for path in set(
            re.findall(r"(?<![\w/.])(?:[a-z_]+/)+[a-z_]+\.py\b", page.read_text(encoding="utf-8"))
        ):
            roots = (CHECKOUT, PROGRAM, CHECKOUT / "src/telegram_simulator")
            if not path.endswith(INVENTED) and not any((root / path).exists() for root in roots):
                missing.append(f"{page.relative_to(CHECKOUT)}: {path}")
    tour = (CHECKOUT / "docs/code-tour.md").read_text(encoding="utf-8")
    modules = set(
        re.findall(
            r"(?<![/\w])(?:api|domain|features|ingest|stages|stores|streams|telegram|vectors)/[a-z_/]+", tour
        )
    )
    missing += [
        f"docs/code-tour.md: {module}"
        for module in modules
        if not ((PROGRAM / f"{module}.py").exists() or (PROGRAM / module).is_dir())
    ]
    assert missing == []


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", STAGES, re.DOTALL)


def new_stage(copy: Path) -> None:
    """The three steps of docs/stages.md, in a copy of the checkout."""
    copy_checkout(copy)
    code, test = blocks("python")
    (copy / "src/telegram_assistant/stages/urgency.py").write_text(code, encoding="utf-8")
    (copy / "tests/stages/test_urgency.py").write_text(test, encoding="utf-8")
    pipeline = copy / "src/telegram_assistant/pipeline.py"
    imported, removed, added = (line[1:] for line in blocks("diff")[0].strip().splitlines())
    text = pipeline.read_text(encoding="utf-8")
    assert removed in text, "docs/stages.md shows another pipeline.py than there is"
    pipeline.write_text(
        text.replace(removed, added).replace(
            "from telegram_assistant.streams", f"{imported}\nfrom telegram_assistant.streams", 1
        )
    )


async def test_the_stage_of_the_documentation_passes_the_checks_of_this_repository(tmp_path: Path) -> None:
    """The types of the stage only: those of its test would need the stage installed."""
    new_stage(tmp_path)
    stage, test = (
        str(tmp_path / file)
        for file in ("src/telegram_assistant/stages/urgency.py", "tests/stages/test_urgency.py")
    )
    for command in (
        ["ruff", "check", stage, test],
        ["ruff", "format", "--check", stage, test],
        ["mypy", stage],
    ):
        where = tmp_path if command[0] == "ruff" else CHECKOUT
        checked = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", *command],
            cwd=where,
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.long
async def test_the_stage_of_the_documentation_is_built_verbatim_tested_and_run(
    database: dict[str, str], migrated_database: dict[str, str], tmp_path: Path
) -> None:
    """In a database of its own: the worker would first deliver every post that other tests have landed."""
    new_stage(tmp_path)
    port, own = free_port(), {**migrated_database, "REDIS_URL": database["REDIS_URL"]}
    environ = {
        **os.environ,
        **own,
        "PYTHONPATH": f"{tmp_path / 'src'}:{tmp_path}",
        "WORKER_PORT": str(port),
        "PYTEST_XDIST_WORKER": "docs",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "tests/stages/test_urgency.py",
    ]
    tested = await asyncio.to_thread(
        subprocess.run, command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr

    redis = Redis.from_url(own["REDIS_URL"])
    await redis.flushdb()
    installation = read_settings(own).database
    async with open_pool(installation, DatabaseLogin.SYSTEM) as pool:
        system = system_stores(pool, Wakeup())
        channel_id = await make_channel(system)
        await system.landing.land(
            make_page(make_post(channel_id=channel_id, text="Срочно: снег")), Claim(channel_id, 0)
        )
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "telegram_assistant", "run", "--roles", "worker", env=environ, cwd=tmp_path
    )
    try:
        await until(lambda: is_announced(redis, channel_id), seconds=120)
        await until(lambda: is_listed(port), seconds=120)
    finally:
        worker.send_signal(signal.SIGTERM)
        assert await worker.wait() == 0
        await redis.aclose()


async def is_announced(redis: Redis, channel_id: int) -> bool:
    entries: Any = await redis.xrange(stream_key(PostTagged, Lane.LIVE))
    return any(f'"{channel_id}/1"'.encode() in fields[PAYLOAD] for _, fields in entries)


async def is_listed(port: int) -> bool:
    """Health lists every stage with its state, its lag and its last success; metrics count it."""
    async with httpx.AsyncClient(timeout=30) as client:
        parts = (await client.get(f"http://127.0.0.1:{port}/health/details")).json()["parts"]
        metrics = (await client.get(f"http://127.0.0.1:{port}/metrics")).text
    stages = [parts.get(f"stage {name}", {}) for name in ("post_persistence", "urgency")]
    known = all(
        stage.get("status") == "ok"
        and stage.get("lag") == 0
        and "last_success" in stage
        and "oldest_seconds" in stage
        for stage in stages
    )
    return known and 'stage_processed_total{stage="urgency"}' in metrics
