"""`tga migrate`, apart from the other commands: installations and servers run it at every start,
and it loads half of what they do.
"""

import asyncio
from typing import Annotated

import typer

from telegram_assistant.cli.environment import console, group_or_exit, refuse
from telegram_assistant.cli.wording import words_of
from telegram_assistant.errors import CannotStart
from telegram_assistant.settings import DatabaseSettings
from telegram_assistant.stores.postgres import migrating


def migrate(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing on success.")] = False,
) -> None:
    """Create or update database roles, grants and tables.

    Safe to repeat, and safe while the previous release runs.
    """
    database = group_or_exit(DatabaseSettings)

    def print_sentence(sentence: str) -> None:
        if not quiet:
            console.print(sentence)

    try:
        schema = asyncio.run(migrating.migrate(database, tell=print_sentence))
    except CannotStart as error:
        raise refuse(error.why, error.remedy) from error
    print_sentence(words_of(schema.place))
