"""Settings for commands: the environment, then `.env`; and clear words when they make no sense."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import typer
from dotenv import dotenv_values
from rich.console import Console

from telegram_assistant.errors import SettingsError
from telegram_assistant.settings import Group, Settings, read_group, read_settings, unknown_names

# what goes to a file or another program is not cut to the width of a window
console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200)
complaints = Console(stderr=True, highlight=False, soft_wrap=True)


def environment() -> Mapping[str, str]:
    """What is exported wins over what `.env` in this folder says."""
    written = {name: value for name, value in dotenv_values(Path(".env"), interpolate=False).items() if value is not None}
    return {**written, **os.environ}


def settings_or_exit() -> Settings:
    """The settings, or one line per problem and exit code 2."""
    with _told_in_words():
        return read_settings(environment())


def group_or_exit[G: Group](group: type[G]) -> G:
    """The same for a command that needs only some of them."""
    with _told_in_words():
        return read_group(group, environment())


@contextmanager
def _told_in_words() -> Iterator[None]:
    for sentence in unknown_names(environment()):
        complaints.print(f"[yellow]note[/] {sentence}")
    try:
        yield
    except SettingsError as error:
        for problem in error.problems:
            complaints.print(f"[red]wrong[/] {problem}")
        complaints.print("See .env.example for every variable, or run `tga doctor`.")
        raise typer.Exit(2) from error


def refuse(why: str, remedy: str) -> typer.Exit:
    """Tell a person why a command cannot go on, and what to do."""
    complaints.print(f"[red]{why}.[/]\n{remedy}.")
    return typer.Exit(1)
