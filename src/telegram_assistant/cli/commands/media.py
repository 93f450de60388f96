"""`tga media`: media files of posts."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_operation
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson, show_value
from telegram_assistant.cli.response_models import (
    MediaFilesResponse,
    MediaStatusResponse,
    MediaTroubleResponse,
    MediaUsageResponse,
)
from telegram_assistant.cli.wording import say_here, words_of
from telegram_assistant.domain.media.files import MediaState, SkipReason
from telegram_assistant.errors import Rejected
from telegram_assistant.features.media import upkeep as media
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.disks import download_folders, reason_to_pause_downloads
from telegram_assistant.stores.postgres.media.upkeep import MediaSurvey

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Media files of posts."
)


@app.command()
def status(
    limit: Annotated[
        int, typer.Option(min=1, max=1000, help="Maximum number of tenants and of errors.")
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Show how many files are stored, wanted, skipped or given up, the usage of each tenant,
    and the last errors.
    """

    async def look(assembled: App) -> MediaStatusResponse:
        file_place, settings = (
            str(assembled.files.where if assembled.files else SkipReason.NO_PLACE.words),
            assembled.settings,
        )
        paused_reason = await reason_to_pause_downloads(
            download_folders(settings), min_free_percent=settings.files.min_free_percent
        )
        survey = await media.survey_media(upkeep=assembled.system.media_upkeep, limit=limit)
        return _response(survey, file_place, paused_reason, words=str if as_json else say_here)

    show_value(with_app(look), _print_status, as_json=as_json)


def _print_status(status: MediaStatusResponse) -> None:
    if status.downloads_paused is not None:
        console.print(f"[red]{escape(status.downloads_paused)}[/]\n")
    console.print(
        f"{status.objects} files, {decimal(status.object_bytes)}, in the store: {escape(status.store)}\n"
    )
    table = Table(pad_edge=False)
    for name in ("state", "files", "bytes", "why"):
        table.add_column(name, justify="right" if name in {"files", "bytes"} else "left")
    for files in status.items:
        why = words_of(SkipReason(files.reason).words if files.reason else None)
        table.add_row(files.state.replace("_", " "), str(files.files), decimal(files.bytes), why)
    console.print(table)
    console.print("\nStored by tenant:")
    for tenant_usage in status.usage:
        console.print(
            f"  {escape(tenant_usage.tenant_name)}  {decimal(tenant_usage.media_bytes)}"
            + (f" of {decimal(tenant_usage.limit_bytes)}" if tenant_usage.limit_bytes is not None else "")
        )
    if status.troubles:
        console.print(
            "\nLast errors (wanted files are tried again automatically, files that were given up are not):"
        )
    for trouble in status.troubles:
        tried_text = f"tried {trouble.attempts} times" if trouble.state == MediaState.WANTED else "given up"
        console.print(f"  {trouble.post_id}  {tried_text}: {escape(trouble.why)}")


def _response(
    survey: MediaSurvey, where: str, paused_because: Reason | None, *, words: Callable[[Reason], str]
) -> MediaStatusResponse:
    return MediaStatusResponse(
        store=where,
        downloads_paused=None if paused_because is None else words(paused_because),
        objects=survey.objects,
        object_bytes=survey.object_bytes,
        items=[
            MediaFilesResponse(state=state, reason=reason or None, files=file_count, bytes=size_bytes)
            for (state, reason), (file_count, size_bytes) in survey.files.items()
        ],
        usage=[
            MediaUsageResponse(
                tenant_name=tenant_usage.name,
                media_bytes=tenant_usage.media_bytes,
                limit_bytes=tenant_usage.limit_bytes,
            )
            for tenant_usage in survey.usage
        ],
        troubles=[
            MediaTroubleResponse(
                post_id=str(trouble.post_id),
                state=trouble.state,
                attempts=trouble.attempts,
                why=words(trouble.why),
            )
            for trouble in survey.troubles
        ],
    )


@app.command()
def sweep(
    force: Annotated[
        bool, typer.Option("--force", help="Clean up even if very many files are missing or unknown.")
    ] = False,
) -> None:
    """Delete files that are unknown or unused, and download missing ones again.

    This also runs automatically every six hours.
    """

    async def work(assembled: App) -> media.SweepResult:
        if assembled.files is None:
            raise Rejected(
                Reason(
                    "file_store_not_set", "no storage for files is configured: set S3_ENDPOINT or FILES_DIR"
                )
            )
        swept = await media.sweep(
            files=assembled.files, upkeep=assembled.system.media_upkeep, now=datetime.now(UTC), force=force
        )
        await record_operation(
            assembled, "sweep_media", "/media", force=force, deleted=swept.orphans + swept.unused
        )
        return swept

    swept = with_app(work)
    console.print(
        f"{swept.files} files checked, {swept.orphans} unknown and {swept.unused} unused ones deleted, "
        f"and {swept.thumbnails} thumbnails; "
        f"{swept.missing} will be downloaded again."
    )
