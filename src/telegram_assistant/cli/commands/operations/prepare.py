"""`tga prepare`: makes the secrets of an installation in containers."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from telegram_assistant.cli.environment import complaints, console, refuse
from telegram_assistant.errors import CannotStart
from telegram_assistant.features.operations.preparing import prepare_secrets
from telegram_assistant.settings import unknown_names


def prepare(
    folder: Annotated[
        Path, typer.Argument(help="Folder for the secrets; it gets one folder for each process.")
    ],
    database: Annotated[str, typer.Option(help="Host, port and name of the database.")] = "postgres:5432/tga",
) -> None:
    """Make the secrets of an installation in containers, as files.

    Those that exist stay; those in the environment are taken over.
    """
    try:
        written_names = prepare_secrets(folder, database=database, environ=os.environ)
    except CannotStart as error:
        raise refuse(error.why, error.remedy) from error
    for sentence in unknown_names(
        os.environ, in_file=os.environ.keys()
    ):  # of .env, which no other container sees as a whole
        complaints.print(f"[yellow]warning[/] {escape(sentence)}", soft_wrap=True)
    console.print(f"written: {', '.join(written_names)}" if written_names else "all secrets exist")
