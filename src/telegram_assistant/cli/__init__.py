"""The `tga` command. A new command is a function in this package and an entry in COMMANDS."""

import gc
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from telegram_assistant import __version__


@dataclass(frozen=True, slots=True)
class Lazy:
    """The location of a command.

    It is imported when it is called, so that `tga --version` does not load Telethon.
    """

    where: str
    about: str
    words_may_begin_with_minus: bool = False
    """Treat an unknown short option as an argument: `tga search -пожар`."""

    def load(self, name: str) -> Any:
        module, _, attribute = self.where.partition(":")
        command = getattr(_import_module(f"telegram_assistant.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):  # a group of commands
            return typer.main.get_command(command)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        # Without -h: a letter of such a word could be taken for it.
        words = (
            {"ignore_unknown_options": True, "help_option_names": ["--help"]}
            if self.words_may_begin_with_minus
            else None
        )
        app.command(name, context_settings=words)(command)
        return typer.main.get_command(app)


def _import_module(module: str) -> ModuleType:
    """Imports without garbage collection, an eighth of the time,
    and excludes what stays for the life of the process from later collections.
    """
    gc.disable()
    try:
        return import_module(module)
    finally:
        gc.freeze()
        gc.enable()


COMMANDS = {
    "run": Lazy("commands.operations.run:run", "Run one or more roles until stopped."),
    "demo": Lazy(
        "commands.operations.demo:demo", "Run everything with simulated channels, without a Telegram account."
    ),
    "accounts": Lazy(
        "commands.accounts.accounts:app",
        "Telegram accounts: log in, list, show risk, pause, resume, make a session key.",
    ),
    "channels": Lazy(
        "commands.channels.channels:app", "Followed channels: add, list, import, coverage, poll, verify."
    ),
    "folders": Lazy("commands.channels.folders:app", "Followed Telegram folders: add, list, remove."),
    "scheduler": Lazy("commands.operations.scheduler:app", "The scheduler: show its status, reset it."),
    "ask": Lazy("commands.ask:ask", "Answer a question from the posts of a tenant's channels."),
    "search": Lazy(
        "commands.search:search",
        "Search the posts of a tenant by words and meaning.",
        words_may_begin_with_minus=True,
    ),
    "today": Lazy("commands.stories.today:today", "Show what is new for a person since their last visit."),
    "stories": Lazy(
        "commands.stories.stories:stories",
        "List what several channels tell of the same event, or show one story.",
    ),
    "changes": Lazy(
        "commands.posts.changes:changes", "List posts that channels edited or deleted after publishing them."
    ),
    "digest": Lazy(
        "commands.digests.digests:app",
        "Print what changed in the channels of a tenant; say when digests come, and where.",
    ),
    "marks": Lazy("commands.stories.marks:app", "Stories that a person saved, is done with or follows."),
    "links": Lazy("commands.sharing:app", "Public links of a person: make, list, revoke."),
    "interests": Lazy(
        "commands.digests.interests:app", "Interests of a person: topics, and what they said of stories."
    ),
    "trends": Lazy("commands.stories.trends:trends", "List stories that many channels told at once."),
    "lists": Lazy(
        "commands.lists:app", "Lists of posts and stories with notes: make, show, add, note, move."
    ),
    "watches": Lazy("commands.watches:app", "Watches: add, list, preview, pause, and their alerts."),
    "graph": Lazy(
        "commands.graph:app", "Who forwards whom, how a post spread, similar channels, links to a page."
    ),
    "media": Lazy("commands.media:app", "Media files of posts: show status and errors, clean up the store."),
    "processes": Lazy(
        "commands.operations.processes:processes",
        "Running processes: roles, version, health, when each was last heard.",
    ),
    "jobs": Lazy("commands.operations.jobs:app", "Periodic jobs: list them, run one now."),
    "streams": Lazy(
        "commands.operations.streams:app",
        "Pipeline stages: watch, announce posts again, resume a stopped stage.",
    ),
    "dead-letters": Lazy(
        "commands.operations.dead_letters:app",
        "Events that a stage could not process: list, show, replay, discard.",
    ),
    "tenants": Lazy(
        "commands.tenants.tenants:app", "Tenants: list, create, suspend, resume, quotas, budgets."
    ),
    "people": Lazy("commands.people:app", "People who log in to the pages: list, make a one-time link."),
    "keys": Lazy("commands.tenants.keys:app", "API keys: create, list, revoke."),
    "ai": Lazy("commands.understanding.ai:app", "AI providers: status, usage, budgets, policies, consent."),
    "tags": Lazy("commands.understanding.tags:app", "Tags: list, hide, rename, show again."),
    "retag": Lazy(
        "commands.understanding.retag:retag",
        "Tag stored posts again with the current vocabulary, model and prompt.",
    ),
    "models": Lazy("commands.understanding.models:app", "Local embedding models: download, list."),
    "rebuild": Lazy(
        "commands.operations.rebuild:app", "Rebuild an index from PostgreSQL: vectors, text, graph."
    ),
    "prepare": Lazy(
        "commands.operations.prepare:prepare", "Make the secrets of an installation in containers, as files."
    ),
    "doctor": Lazy(
        "commands.operations.install:doctor",
        "Check settings, Python and every server, and say how to fix problems.",
    ),
    "migrate": Lazy(
        "commands.operations.migrate:migrate", "Create or update database roles, grants and tables."
    ),
    "config": Lazy("commands.operations.install:config", "Show the settings in force; secrets are hidden."),
}


class Commands(TyperGroup):
    """Presents COMMANDS to typer."""

    def list_commands(self, ctx: object) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: object, cmd_name: str) -> Any:
        return COMMANDS[cmd_name].load(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: object, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.about) for name, command in COMMANDS.items()])


app = typer.Typer(
    name="tga",
    cls=Commands,
    help="Unofficial Telegram Assistant: follows Telegram channels, stores every post, "
    "and makes it searchable.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"tga {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Options before the command."""
    del version  # its callback has printed it


def main() -> None:
    """Entry point of the `tga` command."""
    app()
