"""`tga models`: local embedding models."""

from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.table import Table

from telegram_assistant.ai.local.models import DEFAULT_MODEL, InstalledModel, installed
from telegram_assistant.ai.local.models import pull as fetch
from telegram_assistant.cli.environment import complaints, console, group_or_exit, refuse
from telegram_assistant.cli.output import AsJson, print_json
from telegram_assistant.cli.response_models import ModelResponse, ModelsResponse
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import AiSettings

SEE_MODELS = Reason("see_models", "`tga models list` shows the installed models")
app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Local embedding models: download, list.",
)


@app.command()
def pull(
    name: Annotated[str, typer.Argument(help="Name of the model on the hub.")] = DEFAULT_MODEL,
    revision: Annotated[
        str | None,
        typer.Option(help="Commit of the model on the hub; needed for every model but the default one."),
    ] = None,
) -> None:
    """Download an embedding model, or check one that was copied by hand. Later starts need no network."""
    settings = group_or_exit(AiSettings)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), console=complaints, transient=True
    ) as progress:
        bar = progress.add_task(name, total=None)
        try:
            model = fetch(
                name,
                models=settings.models,
                hub=settings.hub_url,
                tell=lambda file, size: progress.update(bar, description=file, completed=size),
                revision=revision,
            )
        except Rejected as error:
            raise refuse(error.reason, SEE_MODELS) from error
    console.print(f"{model.card.name} is in {model.folder}")
    for file, digest in model.card.sha256.items():
        console.print(f"  {file} SHA-256 {digest}")


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List installed models, and show which one is in use."""
    settings = group_or_exit(AiSettings)
    models, used = list(installed(settings.models)), settings.embeddings_model_in_force
    if as_json:
        print_json(
            ModelsResponse(
                items=[
                    ModelResponse(
                        name=model.card.name, size_bytes=model.size_bytes, in_use=model.card.name == used
                    )
                    for model in models
                ]
            )
        )
        return
    if not models:
        console.print(f"There is no model in {settings.models}. Download one: tga models pull")
        return
    console.print(_table(models, used))


def _table(models: list[InstalledModel], used: str) -> Table:
    table = Table("model", "size", "in use", pad_edge=False)
    for model in models:
        table.add_row(
            model.card.name, f"{model.size_bytes / 1e6:,.0f} MB", "yes" if model.card.name == used else ""
        )
    return table
