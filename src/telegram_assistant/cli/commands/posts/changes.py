"""`tga changes`: posts that channels edited or deleted after publishing them."""

from datetime import timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.text import Text

from telegram_assistant.api.endpoints.posts.changes import (
    CaughtChangesResponse,
    QuietChangeResponse,
    QuietChangesResponse,
    list_caught_changes,
    list_changes,
)
from telegram_assistant.api.endpoints.posts.posts import TextPieceResponse
from telegram_assistant.api.endpoints.sharing import export_caught_changes
from telegram_assistant.api.request_context import RequestContext
from telegram_assistant.cli.commands.sharing import print_copy
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import console, zone_here
from telegram_assistant.cli.output import AsJson
from telegram_assistant.domain.posts.differences import PieceChange
from telegram_assistant.domain.posts.meaning import MeaningKind
from telegram_assistant.features.channels.channels import find_followed
from telegram_assistant.features.sharing.formats import ShareFormat
from telegram_assistant.stores.postgres.posts.changes import ChangeKind, ChangeOrder

STYLES = {PieceChange.SAME: "", PieceChange.REMOVED: "red", PieceChange.ADDED: "green"}
MARKS = {PieceChange.SAME: ("", ""), PieceChange.REMOVED: ("[-", "-]"), PieceChange.ADDED: ("{+", "+}")}
"""The marks of `git diff --word-diff`, so that output without colours shows changes too."""
CONTEXT_CHARACTERS = 60
"""Characters of unchanged text shown on each side of a change."""


def changes(  # noqa: PLR0913, PLR0917 -- each is an option
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
    caught: Annotated[
        bool, typer.Option("--caught", help="The five of the last seven days with the most views.")
    ] = False,
    copy_as: Annotated[
        ShareFormat | None,
        typer.Option("--as", help="With --caught: print a copy with sources: text, markdown, csv or json."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List edits with their differences, and deletions with the deleted text."""
    if copy_as is not None and not caught:
        raise typer.BadParameter("only a copy of --caught can be printed")
    if caught:
        _show_caught(tenant, copy_as, as_json=as_json)
        return

    async def answer(context: RequestContext) -> QuietChangesResponse:
        followed_channel = (
            None
            if channel is None
            else (await find_followed(channel, followed=context.stores.followed)).channel_id
        )
        return await list_changes(
            context,
            since=context.now - timedelta(days=days),
            order=by,
            kind=only,
            meaning=what,
            channel_id=followed_channel,
            limit=limit,
        )

    def print_changes(response: QuietChangesResponse) -> None:
        if not response.items:
            console.print(f"No edits or deletions were noticed in the last {days:g} days.")
        zone = zone_here()
        for change in response.items:
            _print_change(change, zone)

    show_endpoint(answer, print_changes, as_json=as_json, tenant=tenant, needs_redis=False)


def _show_caught(tenant: str, copy_as: ShareFormat | None, *, as_json: bool) -> None:
    if copy_as is not None:
        print_copy(lambda context: export_caught_changes(context, share_format=copy_as), tenant=tenant)
    else:
        show_endpoint(list_caught_changes, _print_caught, as_json=as_json, tenant=tenant, needs_redis=False)


def _print_caught(response: CaughtChangesResponse) -> None:
    if not response.items:
        console.print("No edit that changes the meaning, and no deletion, in the last seven days.")
    for change in response.items:
        _print_change(change, zone_here())


def _print_change(change: QuietChangeResponse, zone: ZoneInfo) -> None:
    reach = "" if change.views is None else f", seen {change.views:,} times"
    heading = Text(change.channel, style="bold")
    heading.append(
        f"  {change.kind.value} {change.changed_at.astimezone(zone):%Y-%m-%d %H:%M}",
        style="yellow" if change.after else "red",
    )
    heading.append(f"  posted {change.posted_at.astimezone(zone):%Y-%m-%d %H:%M}{reach}  ", style="not bold")
    heading.append(change.link, style="blue")
    console.print(heading)
    for meaning in change.meaning:
        console.print(Text(meaning.words, style="bold"))
    body = Text()
    if change.kind is ChangeKind.DELETED:
        body.append(change.before.strip() or "(no text)", style="red")
    elif change.before == change.after:
        body.append("(the text is the same: a picture, a file or a link changed)", style="dim")
    else:
        for index, piece in enumerate(change.difference):
            opening, closing = MARKS[piece.change]
            text = _shorten(piece, is_first=index == 0, is_last=index == len(change.difference) - 1)
            body.append(f"{opening}{text}{closing}", style=STYLES[piece.change])
    console.print(body)
    console.print()


def _shorten(piece: TextPieceResponse, *, is_first: bool, is_last: bool) -> str:
    """Shortens long unchanged pieces; never shortens a change."""
    text = piece.text
    if piece.change is not PieceChange.SAME or len(text) <= 2 * CONTEXT_CHARACTERS:
        return text
    beginning = "" if is_first else text[:CONTEXT_CHARACTERS]
    tail = "" if is_last else text[-CONTEXT_CHARACTERS:]
    return f"{beginning} … {tail}"
