"""Output of commands: JSON like the response of the API, or a table of the same value."""

from collections.abc import Callable
from typing import Annotated

import typer
from pydantic import BaseModel

AsMarkdown = Annotated[
    bool,
    typer.Option(
        "--markdown", help="Print messages in the Markdown that Telegram reads, one after the other."
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON: the API's response, if the API has this operation.")
]


def print_json(answer: BaseModel) -> None:
    typer.echo(answer.model_dump_json(indent=2))


def show_value[T: BaseModel](answer: T, print_table: Callable[[T], None], *, as_json: bool) -> None:
    """Prints a value as JSON or, for people, with `print_table`."""
    if as_json:
        print_json(answer)
    else:
        print_table(answer)
