"""Settings for commands, from the environment and `.env`, with clear messages if they are not valid."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

import typer
from dotenv.parser import parse_stream
from rich.console import Console

from telegram_assistant.cli.wording import words_of
from telegram_assistant.errors import SettingsError
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import (
    Settings,
    SettingsGroup,
    TelemetrySettings,
    read_group,
    read_settings,
    unknown_names,
)

# Output to a file or another program is not cut to the width of a terminal.
console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200)
complaints = Console(stderr=True, highlight=False, soft_wrap=True)


@dataclass(frozen=True, slots=True)
class EnvFile:
    """The values in `.env`, and the lines that could not be parsed."""

    values: Mapping[str, str]
    problems: tuple[str, ...]
    """They do not quote the line: it may contain a secret."""


def env_file(path: Path = Path(".env")) -> EnvFile:
    if not path.is_file():
        return EnvFile({}, ())
    with path.open(encoding="utf-8") as lines:
        bindings = list(parse_stream(lines))
    wrong = [
        binding
        for binding in bindings
        if binding.error or (binding.key is not None and binding.value is None)
    ]
    problems = tuple(
        f"line {binding.original.line} of {path} has no effect: it does not have the form NAME=value"
        for binding in wrong
    )
    return EnvFile(
        {
            binding.key: binding.value
            for binding in bindings
            if binding.key is not None and binding.value is not None
        },
        problems,
    )


def environment() -> Mapping[str, str]:
    """Exported variables take precedence over `.env` in the current folder."""
    return {**env_file().values, **os.environ}


def doubts() -> list[str]:
    """Returns warnings about probable mistakes: unknown names, and lines that cannot be parsed."""
    file_variables = env_file()
    return [*file_variables.problems, *unknown_names(os.environ, in_file=file_variables.values.keys())]


def settings_or_exit() -> Settings:
    """Returns the settings, or prints one line per problem and exits with code 2."""
    with _errors_in_words():
        return read_settings(environment())


def group_or_exit[G: SettingsGroup](group: type[G]) -> G:
    """The same for a command that needs only one group of settings."""
    with _errors_in_words():
        return read_group(group, environment())


def zone_here() -> ZoneInfo:
    """The time zone in which tables show moments."""
    return ZoneInfo(read_group(TelemetrySettings, environment()).time_zone)


@contextmanager
def _errors_in_words() -> Iterator[None]:
    for sentence in doubts():
        complaints.print(f"[yellow]note[/] {sentence}")
    try:
        yield
    except SettingsError as error:
        for problem in error.problems:
            complaints.print(f"[red]wrong[/] {problem}")
        complaints.print("See .env.example for every variable, or run `tga doctor`.")
        raise typer.Exit(2) from error


def refuse(why: Reason, remedy: Reason) -> typer.Exit:
    """Prints why a command cannot continue and what to do."""
    complaints.print(f"[red]{words_of(why)}.[/]\n{words_of(remedy)}.")
    return typer.Exit(1)
