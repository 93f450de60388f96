"""The recipes of CONTRIBUTING.md, followed once in a copy of the checkout.

docs/tutorial.md builds notes of tenants; a setting, a job, an event and a prompt are added here.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from testkit.checkouts import CHECKOUT, copy_checkout, insert

PACKAGE = "src/telegram_assistant"
VERSIONS = f"{PACKAGE}/stores/postgres/migrations/versions"
LAST = max(file.name[:4] for file in (CHECKOUT / VERSIONS).glob("[0-9]*.py"))
NEXT = f"{int(LAST) + 1:04}"
TUTORIAL = (CHECKOUT / "docs/tutorial.md").read_text(encoding="utf-8")
STEP = re.compile(
    r"^(?:New file `(?P<file>[^`]+)`"
    r"|In `(?P<changed>[^`]+)`, above the line that begins with `(?P<before>[^`]+)`)"
    r":\n\n```\w+\n(?P<text>.*?)```$",
    re.MULTILINE | re.DOTALL,
)
"""A new file as it is, or lines with a plus sign in front: ruff formats whole programs only."""
STEPS = list(STEP.finditer(TUTORIAL.replace("NNNN", NEXT).replace("MMMM", LAST)))


def added_lines(step: re.Match[str]) -> str:
    return re.sub(r"^\+", "", step["text"], flags=re.MULTILINE)


def is_of_the_program(path: str) -> bool:
    """Whether the guards check the file: they fail until tests, translations and the schema page follow."""
    return path.startswith(PACKAGE) and not path.endswith(".po")


NEW_FILES = {
    step["file"]: step["text"] for step in STEPS if step["file"] and is_of_the_program(step["file"])
} | {
    # a prompt
    f"{PACKAGE}/ai/prompts/notes.md": "version: 1\n---\nSum up these notes in {language}.\n",
}
NEW_LINES = [
    *(
        (step["changed"], step["before"], added_lines(step))
        for step in STEPS
        if step["changed"] and is_of_the_program(step["changed"])
    ),
    # a setting
    (
        f"{PACKAGE}/settings/process.py",
        "    shutdown_grace_seconds: float",
        '    notes_title: str = variable("NOTES_TITLE", "Notes", help="The heading of notes.")\n',
    ),
    # a periodic job
    (
        f"{PACKAGE}/jobs.py",
        "PERIODIC = (",
        'async def count_notes(app: App, now: datetime) -> str:\n    return f"at {now:%H:%M}"\n\n\n',
    ),
    (
        f"{PACKAGE}/jobs.py",
        '    Job("make_partitions"',
        '    Job("count_notes", timedelta(hours=1), count_notes),\n',
    ),
    # an event
    (
        f"{PACKAGE}/events/posts.py",
        "class PostCrawlRequested(",
        (
            'class PostNoted(Event):\n    """A note about a post was written."""\n\n'
            '    NAME: ClassVar[str] = "posts.noted"\n    note: str = ""\n\n\n'
        ),
    ),
    (f"{PACKAGE}/events/__init__.py", "    PostParsed,", "    PostNoted,\n"),
    (f"{PACKAGE}/events/__init__.py", '    "PostParsed",', '    "PostNoted",\n'),
]
ISOLATION = "tests/stores/postgres/test_stores_isolation.py"
EVENTS = "tests/events/test_events.py"
GUARDS = {
    "tests/test_settings.py::test_every_variable_has_a_test_that_turns_it",
    "tests/stores/postgres/test_schema_diagram.py::test_the_schema_page_shows_a_freshly_migrated_database",
    f"{ISOLATION}::test_every_method_of_a_tenant_store_has_its_isolation_test",
    "tests/api/test_tenancy.py::test_every_endpoint_has_its_case",
    "tests/web/test_pages_tenancy.py::test_every_page_has_its_case",
    "tests/web/test_pages_languages.py::test_every_text_has_its_russian_with_all_plural_forms",
    f"{EVENTS}::test_an_event_is_written_as_the_golden_file_of_its_version_says[posts.noted]",
    "tests/cli/test_output_json.py::test_every_command_that_prints_data_has_the_option",
    "tests/test_translation.py::test_the_catalogue_holds_the_reasons_of_the_source",
}
"""Tests that fail until the rest of the recipe is done."""
MORE_TESTS = (
    "tests/test_translation.py::test_every_reason_is_translated_with_the_same_parameters",
    "tests/features/tenants/test_notes.py",
    "tests/test_other_recipes.py",
    "tests/test_docs.py::test_every_page_of_a_tenant_is_linked_from_a_template_or_a_script",
    f"{ISOLATION}::test_the_catalogue_has_nothing_to_complain_about",
    f"{ISOLATION}::test_every_store_method_shows_each_tenant_its_own_channels[notes.all]",
)
TESTED_LINES = [
    (step["changed"], step["before"], added_lines(step))
    for step in STEPS
    if step["changed"] and not is_of_the_program(step["changed"])
]
TESTED_FILES = {
    step["file"]: step["text"] for step in STEPS if step["file"] and not is_of_the_program(step["file"])
} | {
    "tests/events/golden/posts.noted.v1.json": None,
    "tests/test_other_recipes.py": """import pytest

from telegram_assistant.ai.prompting import prompt
from telegram_assistant.jobs import PERIODIC
from telegram_assistant.settings import read_settings


@pytest.mark.turns("NOTES_TITLE")
def test_the_setting_the_prompt_and_the_job_exist(database: dict[str, str]) -> None:
    assert read_settings({**database, "NOTES_TITLE": "Mine"}).process.notes_title == "Mine"
    assert prompt("notes").version == 1
    assert "count_notes" in {job.name for job in PERIODIC}
""",
}
GOLDEN = (
    "import sys, json; from tests.events.test_events import *; "
    "k = next(k for k in EVENTS if k.NAME == 'posts.noted'); "
)
GOLDEN += "print(k.about(POST, 2, occurred_at=MOMENT, trace_id=TRACE, note='snow').model_dump_json(indent=2))"


class Copy:
    """A copy of the checkout, and programs that run in it."""

    def __init__(self, folder: Path, database: dict[str, str]) -> None:
        self.folder = folder
        path = os.pathsep.join((str(folder / "src"), str(folder)))
        self._environ = {
            **os.environ,
            **database,
            "PYTHONPATH": path,
            "PYTEST_XDIST_WORKER": "recipes",
            "NEO4J_URI": "",
        }
        copy_checkout(folder)

    def add(self, files: dict[str, str], lines: list[tuple[str, str, str]]) -> None:
        for name, text in files.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        for name, before, text in lines:
            insert(self.folder / name, text, before=before)

    async def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return await asyncio.to_thread(
            subprocess.run,
            command,
            cwd=self.folder,
            env=self._environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    async def failures(self, *tests: str) -> set[str]:
        tested = await self.run(
            "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-rfE", *tests
        )
        assert "error" not in tested.stdout.splitlines()[-1], tested.stdout + tested.stderr
        return {
            line.split(" ", 1)[1].partition(" - ")[0]
            for line in tested.stdout.splitlines()
            if line.startswith("FAILED ")
        }


@pytest.mark.long
async def test_every_recipe_leads_to_the_end_and_what_is_left_out_is_missed(
    empty_database: dict[str, str], tmp_path: Path
) -> None:
    copy = Copy(tmp_path / "checkout", empty_database)
    copy.add(NEW_FILES, NEW_LINES)
    assert await copy.failures(*GUARDS) == GUARDS

    golden = await copy.run("-c", GOLDEN)
    copy.add({name: text or golden.stdout for name, text in TESTED_FILES.items()}, TESTED_LINES)
    migrated = await copy.run("-m", "telegram_assistant", "migrate", "--quiet")
    assert migrated.returncode == 0, migrated.stderr
    assert (await copy.run("-m", "testkit.schema_diagram")).returncode == 0
    assert await copy.failures(*GUARDS, *MORE_TESTS) == set()
    printed = await copy.run("-m", "telegram_assistant", "notes", "--json")
    assert json.loads(printed.stdout) == {"items": []}
    assert (await copy.run("scripts/generate")).returncode == 0
    assert "# NOTES_TITLE=Notes" in (copy.folder / ".env.example").read_text(encoding="utf-8")
