"""JSON output of commands: the same as the response of the API."""

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
