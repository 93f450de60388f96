"""The recipes of CONTRIBUTING.md, followed once in a copy of the checkout: tenants get notes,
with everything that belongs to them.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from testkit.checkouts import CHECKOUT, copy_checkout, insert

PACKAGE = "src/telegram_assistant"
VERSIONS = f"{PACKAGE}/stores/postgres/migrations/versions"
LAST = max(file.name[:4] for file in (CHECKOUT / VERSIONS).glob("[0-9]*.py"))
NEXT = f"{int(LAST) + 1:04}"
NEW_FILES = {
    # a table
    f"{VERSIONS}/{NEXT}_notes.py": f'''"""Notes of tenants."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import tenant_table

revision = "{NEXT}"
down_revision = "{LAST}"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE notes (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            text text NOT NULL,
            PRIMARY KEY (tenant_id, text)
        )
        """
    )
    tenant_table("notes", "What a tenant has noted.", "INSERT, SELECT")
''',
    # a store method
    f"{PACKAGE}/stores/postgres/tenants/notes.py": '''"""Notes."""

from telegram_assistant.stores.postgres.database import TenantTransactions


class Notes:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def write(self, text: str) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute("INSERT INTO notes (text) VALUES ($1) ON CONFLICT DO NOTHING", text)

    async def all(self) -> tuple[str, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT text FROM notes ORDER BY text")
            return tuple(row["text"] for row in rows)
''',
    # an endpoint
    f"{PACKAGE}/features/tenants/notes.py": '''"""Notes of a tenant."""

from telegram_assistant.errors import Missing
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores


async def list_notes(*, stores: TenantStores) -> tuple[str, ...]:
    """Returns all notes. Raises Missing if there is none."""
    notes = await stores.notes.all()
    if not notes:
        raise Missing(Reason("notes_missing", "you have written no notes"))
    return notes
''',
    f"{PACKAGE}/api/endpoints/tenants/notes.py": '''"""Notes."""

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ResponseModel
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.tenants import notes

area = Area("Notes", "Your notes.")


class NotesResponse(ResponseModel):
    """All notes."""

    items: list[str]


@area.get("/notes", scope=KeyScope.READ, example={"items": ["Snow"]})
async def list_notes(context: Context) -> NotesResponse:
    """List your notes."""
    return NotesResponse(items=list(await notes.list_notes(stores=context.stores)))
''',
    # a page
    f"{PACKAGE}/web/pages/tenants/notes.py": '''"""Notes of a tenant."""

from telegram_assistant.features.tenants.notes import list_notes
from telegram_assistant.web.views import Content, TenantView


async def show(view: TenantView) -> Content:
    return {"notes": await list_notes(stores=view.stores)}
''',
    f"{PACKAGE}/web/templates/notes.html": """{% extends "app.html" %}
{% set section = "/notes" %}
{% block title %}{{ _("Notes of the day") }}{% endblock %}
{% block main %}
<h1>{{ _("Notes of the day") }}</h1>
<ul>{% for one in notes %}<li>{{ one }}</li>{% endfor %}</ul>
{% endblock %}
""",
    # a prompt
    f"{PACKAGE}/ai/prompts/notes.md": "version: 1\n---\nSum up these notes in {language}.\n",
    # a command
    f"{PACKAGE}/cli/commands/tenants/notes.py": '''"""`tga notes`: a tenant's notes."""

from typing import Annotated

import typer

from telegram_assistant.api.endpoints.tenants.notes import list_notes
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.output import AsJson


def notes(
    tenant: Annotated[str, typer.Option("--tenant", help="Name of the tenant.")] = "default",
    as_json: AsJson = False,
) -> None:
    """List a tenant's notes."""
    del as_json  # it prints nothing else
    print_endpoint(list_notes, tenant=tenant)
''',
}
NEW_LINES = [
    # a setting
    (
        f"{PACKAGE}/settings.py",
        "    shutdown_grace_seconds: float",
        '    notes_title: str = variable("NOTES_TITLE", "Notes", help="The heading of notes.")\n',
    ),
    # a store
    (
        f"{PACKAGE}/stores/postgres/stores.py",
        "from telegram_assistant.stores.postgres.tenants.tenants",
        "from telegram_assistant.stores.postgres.tenants.notes import Notes\n",
    ),
    (f"{PACKAGE}/stores/postgres/stores.py", "    post_details: PostDetails", "    notes: Notes\n"),
    (
        f"{PACKAGE}/stores/postgres/stores.py",
        "        post_details=PostDetails(transactions)",
        "        notes=Notes(transactions),\n",
    ),
    # an endpoint
    (
        f"{PACKAGE}/api/site.py",
        "from telegram_assistant.api.endpoints.understanding",
        "from telegram_assistant.api.endpoints.tenants import notes\n",
    ),
    (f"{PACKAGE}/api/site.py", "    posts.area,", "    notes.area,\n"),
    # a page
    (
        f"{PACKAGE}/web/site.py",
        "from telegram_assistant.web.rendering",
        "from telegram_assistant.web.pages.tenants import notes\n",
    ),
    (
        f"{PACKAGE}/web/site.py",
        '    Page("/members"',
        '    Page("/notes", notes.show, "notes.html", queries=2, needs=KeyScope.READ),\n',
    ),
    # a periodic job
    (
        f"{PACKAGE}/jobs.py",
        "PERIODIC = (",
        'async def count_notes(app: App, now: datetime) -> str:\n    return f"at {now:%H:%M}"\n\n\n',
    ),
    (
        f"{PACKAGE}/jobs.py",
        '    Job("forget_notices"',
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
    # a command
    (
        f"{PACKAGE}/cli/__init__.py",
        '    "keys": Lazy',
        '    "notes": Lazy("commands.tenants.notes:notes", "List notes."),\n',
    ),
]
GUARDS = {
    "tests/test_settings.py::test_every_variable_has_a_test_that_turns_it",
    "tests/stores/postgres/test_schema_diagram.py::test_the_schema_page_shows_a_freshly_migrated_database",
    "tests/stores/postgres/test_stores_isolation.py::test_every_method_of_a_tenant_store_has_its_isolation_test",
    "tests/api/test_tenancy.py::test_every_endpoint_has_its_case",
    "tests/web/test_pages_tenancy.py::test_every_page_has_its_case",
    "tests/web/test_pages_languages.py::test_every_text_has_its_russian_with_all_plural_forms",
    "tests/events/test_events.py::test_an_event_is_written_as_the_golden_file_of_its_version_says[posts.noted]",
    "tests/cli/test_output_json.py::test_every_command_that_prints_data_has_the_option",
    "tests/test_translation.py::test_the_catalogue_holds_the_reasons_of_the_source",
}
"""What fails until the rest of the recipe is done."""
MORE_TESTS = (
    "tests/test_translation.py::test_every_reason_is_translated_with_the_same_parameters",
    "tests/test_notes.py",
    "tests/stores/postgres/test_stores_isolation.py::test_the_catalogue_has_nothing_to_complain_about",
    "tests/stores/postgres/test_stores_isolation.py::test_every_store_method_shows_each_tenant_its_own_channels[notes.all]",
)
CASE = """async def _notes(stores: TenantStores, world: World) -> set[ChannelId]:
    for channel_id in await _feed_newest(stores, world):
        await stores.notes.write(str(channel_id))
    return {ChannelId(int(text)) for text in await stores.notes.all()}


"""
NEW_REASON = (
    '#. notes_missing\n#: features/tenants/notes.py\nmsgid "you have written no notes"\n'
    'msgstr "вы не написали ни одной заметки"\n\n'
)
NEW_MESSAGE = '#: templates/notes.html\nmsgid "Notes of the day"\nmsgstr "Заметки дня"\n\n'
TESTED_LINES = [
    ("tests/stores/postgres/cases.py", "METHODS: dict", CASE),
    (
        "tests/stores/postgres/cases.py",
        '    "feed.newest"',
        '    "notes.write": _notes,\n    "notes.all": _notes,\n',
    ),
    ("tests/api/cases.py", '    "list_channels": Case()', '    "list_notes": Case(),\n'),
    (
        "tests/web/cases.py",
        '    "members.show"',
        '    "notes.show": PageCase(lambda _: "/notes", status=404),\n',
    ),
    ("tests/cli/test_output_json.py", '    "keys list"', '    "notes": "list_notes",\n'),
    ("testkit/schema_diagram.py", '        "quotas",', '        "notes",\n'),
    (f"{PACKAGE}/translations/ru/LC_MESSAGES/reasons.po", "#. budget_out_of_range", NEW_REASON),
    (f"{PACKAGE}/translations/ru/LC_MESSAGES/messages.po", "#: pages/feed/live.py", NEW_MESSAGE),
]
TESTED_FILES = {
    "tests/events/golden/posts.noted.v1.json": None,
    "tests/test_notes.py": """import pytest

from telegram_assistant.ai.prompting import prompt
from telegram_assistant.jobs import PERIODIC
from telegram_assistant.settings import Settings, read_settings
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.api_clients import asked, key_of
from testkit.factories import make_tenant
from testkit.web_clients import member_browser


@pytest.mark.turns("NOTES_TITLE")
async def test_notes_are_answered(
    installation: Settings, system: SystemStores, database: dict[str, str]
) -> None:
    tenant_id = await make_tenant(system)
    async with asked(installation) as (app, client):
        await app.tenant(tenant_id).notes.write("Snow")
        answer = await client.get("/api/v1/notes", headers=await key_of(app, tenant_id))
        async with member_browser(app, tenant_id) as browser:
            page = await browser.open("./notes")
    assert answer.json() == {"items": ["Snow"]}
    assert "<li>Snow</li>" in page.text
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
    assert "you have written no notes" in printed.stderr
    assert (await copy.run("scripts/generate")).returncode == 0
    assert "# NOTES_TITLE=Notes" in (copy.folder / ".env.example").read_text(encoding="utf-8")
