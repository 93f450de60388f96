"""What commands print for programs: what the API answers, so that a program may ask either."""

from typing import Annotated

import typer
from pydantic import BaseModel

AsJson = Annotated[bool, typer.Option("--json", help="Print what the API answers, for programs.")]


def print_json(answer: BaseModel) -> None:
    typer.echo(answer.model_dump_json(indent=2))
