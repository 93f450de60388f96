"""The `tga` command. A new command is a function in this room and a line in COMMANDS."""

from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from telegram_assistant import __version__


@dataclass(frozen=True, slots=True)
class Lazy:
    """Where a command is. It is imported when it is called, so that `tga --version` need not load all of Telethon."""

    where: str
    about: str
    words_may_begin_with_minus: bool = False
    """What looks like an unknown short option is an argument: `tga search -пожар`."""

    def load(self, name: str) -> Any:
        module, _, attribute = self.where.partition(":")
        found = getattr(import_module(f"telegram_assistant.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):  # a family of commands
            return typer.main.get_command(found)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        # One letter of such a word could be taken for -h.
        words = {"ignore_unknown_options": True, "help_option_names": ["--help"]} if self.words_may_begin_with_minus else None
        app.command(name, context_settings=words)(found)
        return typer.main.get_command(app)


COMMANDS = {
    "run": Lazy("operations.run:run", "Run the program until it is told to stop."),
    "accounts": Lazy("commands.accounts:app", "Accounts that read: list, are they at risk, pause, resume, make a key."),
    "channels": Lazy("commands.channels:app", "Channels that are followed: add, list, import, coverage, poll, verify."),
    "folders": Lazy("commands.folders:app", "Folders at Telegram that are followed: add, list, remove."),
    "scheduler": Lazy("operations.scheduler:app", "How planning goes; start it over."),
    "search": Lazy("commands.search:search", "Find posts by words and meaning, for one tenant.", words_may_begin_with_minus=True),
    "changes": Lazy("commands.changes:changes", "What channels edited or deleted after publishing it."),
    "graph": Lazy("commands.graph:app", "Who forwards whom, how a post spread, similar channels, links to a page."),
    "media": Lazy("operations.media:app", "Files of posts: how many are kept, what went wrong, sweep the store."),
    "streams": Lazy("operations.streams:app", "Watch the stages at work; refill, resume."),
    "dead-letters": Lazy("operations.dead_letters:app", "Events that a stage could not process: look, replay, discard."),
    "tenants": Lazy("commands.tenants:app", "Tenants: list, create, suspend, resume, quotas, budgets."),
    "keys": Lazy("commands.keys:app", "Keys for the API: create, list, revoke."),
    "ai": Lazy("commands.ai:app", "Providers: how they are, what they cost, who may ask them."),
    "tags": Lazy("commands.tags:app", "Tags: list, hide, rename, show again."),
    "retag": Lazy("operations.retag:retag", "Tag stored posts again."),
    "models": Lazy("operations.models:app", "Sentence models on this machine: fetch, list."),
    "rebuild": Lazy("operations.rebuild:app", "Make an index anew from PostgreSQL: vectors, text, graph."),
    "doctor": Lazy("operations.install:doctor", "Check settings, Python and every server; say what to do."),
    "migrate": Lazy("operations.install:migrate", "Create or update roles, grants and tables."),
    "config": Lazy("operations.install:config", "Show the settings in force, secrets hidden."),
}


class Commands(TyperGroup):
    """The list above, as typer wants it."""

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
    help="Unofficial Telegram Assistant: follows channels, keeps every post, tells people what is new.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tga {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and end.")] = False,
) -> None:
    """Options that stand before the command."""
    del version  # its callback has answered


def main() -> None:
    """Entry point."""
    app()
