"""What commands print for programs: the API's own answers, so that a program may ask either."""

from typing import Annotated

import typer

from telegram_assistant.api.shapes import Shown

AsJson = Annotated[bool, typer.Option("--json", help="Print what the API answers, for programs.")]


def print_json(answer: Shown) -> None:
    typer.echo(answer.model_dump_json(indent=2))
