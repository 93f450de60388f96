"""`tga changes`: posts that channels edited or deleted after publishing them."""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.text import Text

from telegram_assistant.api.endpoints.posts.changes import QuietChangesResponse, list_changes
from telegram_assistant.api.request_context import RequestContext
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.cli.wording import words_of
from telegram_assistant.domain.posts.differences import Piece, PieceChange
from telegram_assistant.domain.posts.meaning import MeaningKind
from telegram_assistant.features.channels.channels import pick
from telegram_assistant.features.posts.changes import DescribedChange, quiet_changes
from telegram_assistant.stores.postgres.posts.changes import ChangeKind, ChangeOrder

STYLES = {PieceChange.SAME: "", PieceChange.REMOVED: "red", PieceChange.ADDED: "green"}
MARKS = {PieceChange.SAME: ("", ""), PieceChange.REMOVED: ("[-", "-]"), PieceChange.ADDED: ("{+", "+}")}
"""The marks of `git diff --word-diff`, so that output without colours shows changes too."""
AROUND = 60
"""Characters of unchanged text shown on each side of a change."""


def changes(
    tenant: Annotated[str, typer.Option(help="Tenant that follows the channels.")] = "default",
    channel: Annotated[
        str | None, typer.Option(help="Only changes in this channel: its id, @name or title.")
    ] = None,
    by: Annotated[
        ChangeOrder, typer.Option(help="newest, reach (most views) or meaning (most changed) first.")
    ] = ChangeOrder.NEWEST,
    only: Annotated[ChangeKind | None, typer.Option(help="Only edits, or only deletions.")] = None,
    what: Annotated[MeaningKind | None, typer.Option(help="Only edits that changed this.")] = None,
    days: Annotated[float, typer.Option(min=0, help="How many days back to look.")] = 7.0,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of changes.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List edits with their differences, and deletions with the deleted text."""

    async def answer(ask: RequestContext) -> QuietChangesResponse:
        of = None if channel is None else pick(await ask.stores.followed.channels(), channel).channel_id
        return await list_changes(
            ask,
            since=ask.now - timedelta(days=days),
            order=by,
            kind=only,
            meaning=what,
            channel_id=of,
            limit=limit,
        )

    if as_json:
        print_endpoint(answer, tenant=tenant)
        return

    async def look(app: App) -> tuple[tuple[DescribedChange, ...], ZoneInfo]:
        known = await tenant_named(app, tenant)
        stores = app.tenant(known.tenant_id)
        channel_ids = (
            None if channel is None else [pick(await stores.followed.channels(), channel).channel_id]
        )
        kinds = tuple(ChangeKind) if only is None else (only,)
        since = datetime.now(UTC) - timedelta(days=days)
        meanings = () if what is None else (what,)
        page = await quiet_changes(
            since,
            stores=stores,
            order=by,
            kinds=kinds,
            meanings=meanings,
            channel_ids=channel_ids,
            limit=limit,
        )
        return page.changes, ZoneInfo(app.settings.telemetry.time_zone)

    described_changes, zone = with_app(look, needs_redis=False)
    if not described_changes:
        console.print(f"No edits or deletions were noticed in the last {days:g} days.")
    for described in described_changes:
        _show(described, zone)


def _show(described: DescribedChange, zone: ZoneInfo) -> None:
    change = described.change
    reach = "" if change.views is None else f", seen {change.views:,} times"
    head = Text(described.channel, style="bold")
    head.append(
        f"  {change.kind.value} {change.changed_at.astimezone(zone):%Y-%m-%d %H:%M}",
        style="yellow" if change.after else "red",
    )
    head.append(f"  posted {change.posted_at.astimezone(zone):%Y-%m-%d %H:%M}{reach}  ", style="not bold")
    head.append(described.link, style="blue")
    console.print(head)
    for meaning in described.meaning:
        console.print(Text(words_of(meaning.words), style="bold"))
    body = Text()
    if change.kind is ChangeKind.DELETED:
        body.append(change.before.strip() or "(no text)", style="red")
    elif change.before == change.after:
        body.append("(the text is the same: a picture, a file or a link changed)", style="dim")
    else:
        for place, piece in enumerate(described.pieces):
            begins, ends = MARKS[piece.change]
            text = _shorten(piece, first=place == 0, last=place == len(described.pieces) - 1)
            body.append(f"{begins}{text}{ends}", style=STYLES[piece.change])
    console.print(body)
    console.print()


def _shorten(piece: Piece, *, first: bool, last: bool) -> str:
    """Shortens long unchanged pieces; never shortens a change."""
    text = piece.text
    if piece.change is not PieceChange.SAME or len(text) <= 2 * AROUND:
        return text
    head = "" if first else text[:AROUND]
    tail = "" if last else text[-AROUND:]
    return f"{head} … {tail}"
