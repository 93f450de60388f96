"""`tga models`: embedding models."""

import asyncio
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.table import Table

from telegram_assistant.ai.local.models import DEFAULT_MODEL, ModelChoices, list_installed
from telegram_assistant.ai.local.models import pull as fetch
from telegram_assistant.assembly import open_embeddings
from telegram_assistant.cli.environment import complaints, console, group_or_exit, refuse, settings_or_exit
from telegram_assistant.cli.output import AsJson, show_value
from telegram_assistant.cli.response_models import ModelResponse, ModelsResponse, ModelTrialResponse
from telegram_assistant.domain.understanding.policy import ProviderFailed
from telegram_assistant.errors import Rejected
from telegram_assistant.features.understanding.model_trials import (
    JudgedPair,
    ModelTrial,
    read_pairs,
    try_model,
)
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import AiSettings, Settings

SEE_MODELS = Reason("see_models", "`tga models list` shows the installed models")
NO_LOCAL_MODEL = Reason(
    "trial_needs_own_model", "a provider makes the embeddings of this installation, which costs money"
)
CHOOSE_OWN_MODEL = Reason(
    "choose_own_model", "set AI_EMBEDDINGS=local, or EMBEDDINGS_BASE_URL with EMBEDDINGS_IS_OWN=true"
)
CHECK_SERVER = Reason("check_embedding_server", "check EMBEDDINGS_BASE_URL and AI_EMBEDDINGS_MODEL")
app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Embedding models: download, list, try.",
)


@app.command()
def pull(
    name: Annotated[str, typer.Argument(help="Name of the model on the hub.")] = DEFAULT_MODEL,
    revision: Annotated[
        str | None,
        typer.Option(help="Commit of the model on the hub; needed for every model but the default one."),
    ] = None,
    pooling: Annotated[
        str | None, typer.Option(help="How tokens become one vector: mean, cls, last or output:NAME.")
    ] = None,
    query_prefix: Annotated[str | None, typer.Option(help="Text before each query.")] = None,
    document_prefix: Annotated[str | None, typer.Option(help="Text before each post.")] = None,
    dimensions: Annotated[
        int | None,
        typer.Option(help="Keep the first so many numbers of a vector; few models allow it."),
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Cut texts after so many tokens.")] = None,
    data_files: Annotated[
        list[str] | None,
        typer.Option(
            "--file", help="A file that model.onnx refers to, like model.onnx_data. Repeat it for several."
        ),
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
                choices=ModelChoices(
                    pooling=pooling,
                    query_prefix=query_prefix,
                    document_prefix=document_prefix,
                    dimensions=dimensions,
                    max_tokens=max_tokens,
                    data_files=tuple(data_files or ()),
                ),
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
    current_model = settings.embeddings_model_in_force
    models = ModelsResponse(
        items=[
            ModelResponse(
                name=model.card.name, size_bytes=model.size_bytes, in_use=model.card.name == current_model
            )
            for model in list_installed(settings.models)
        ]
    )
    show_value(models, partial(_print_models, folder=settings.models), as_json=as_json)


def _print_models(models: ModelsResponse, *, folder: Path) -> None:
    if not models.items:
        console.print(f"There is no model in {folder}. Download one: tga models pull")
        return
    table = Table("model", "size", "in use", pad_edge=False)
    for model in models.items:
        table.add_row(model.name, f"{model.size_bytes / 1e6:,.0f} MB", "yes" if model.in_use else "")
    console.print(table)


@app.command("try")
def try_configured(
    pairs: Annotated[
        Path, typer.Option(help="JSON lines with two texts, a and b, and whether they are the same_story.")
    ],
    as_json: AsJson = False,
) -> None:
    """Measure the configured model on pairs of texts that people have judged. Nothing is stored."""
    settings = settings_or_exit()
    if (model := settings.local_vectors_model) is None:
        raise refuse(NO_LOCAL_MODEL, CHOOSE_OWN_MODEL)
    try:
        trial = asyncio.run(_try(read_pairs(pairs), settings, model))
    except Rejected as error:
        raise refuse(error.reason, SEE_MODELS) from error
    except ProviderFailed as error:
        raise refuse(
            Reason("embedding_server_failed", "the server gave no vectors: {error}", error=str(error)),
            CHECK_SERVER,
        ) from error
    show_value(ModelTrialResponse.model_validate(asdict(trial)), _print_trial, as_json=as_json)


async def _try(pairs: list[JudgedPair], settings: Settings, model: str) -> ModelTrial:
    async with open_embeddings(settings) as embeddings:
        return await try_model(pairs, embeddings=embeddings, model=model)


def _print_trial(trial: ModelTrialResponse) -> None:
    table = Table("model", "pairs", "F1", "precision", "recall", "cosine", "numbers", "ms", pad_edge=False)
    table.add_row(
        trial.model,
        str(trial.pairs),
        f"{trial.f1:.3f}",
        f"{trial.precision:.3f}",
        f"{trial.recall:.3f}",
        f"{trial.threshold:.3f}",
        str(trial.dimensions),
        f"{trial.milliseconds:.1f}",
    )
    console.print(table)
