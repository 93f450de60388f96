"""`tga graph`: who forwards whom, how a post spread, who had it first, which channels are alike, who links to a page."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from pydantic_core import to_json
from rich.markup import escape
from rich.table import Table

from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.domain.ids import MessageId, PostId
from telegram_assistant.domain.spreading import DAYS_KEPT
from telegram_assistant.errors import Rejected
from telegram_assistant.features.channels import pick
from telegram_assistant.features.graph import (
    Asking,
    By,
    Place,
    Showing,
    first_link,
    first_seen,
    similar_channels,
    spread,
    who_forwards,
    who_links,
)

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Forwards, spread, first seen, similar channels, links.")

TenantName = Annotated[str, typer.Option("--tenant", help="Whose channels.")]
Days = Annotated[int, typer.Option(min=1, max=DAYS_KEPT, help="So many days back.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
PostName = Annotated[str, typer.Argument(help="A post: its link at t.me, or channel/message.")]

POST = re.compile(r"(?:https?://)?(?:t\.me/)?(?:c/)?(?P<channel>@?\w+)/(?P<message>\d+)/?")


@app.command()
def forwards(
    channel: Annotated[str | None, typer.Argument(help="Only what this channel forwards and who forwards it: its id, @name or title.")] = None,
    tenant: TenantName = "default",
    days: Days = 30,
    limit: Limit = 30,
    as_json: AsJson = False,
) -> None:
    """Who forwards whom, the most first."""

    async def ask(asking: Asking, _zone: ZoneInfo) -> None:
        of = None if channel is None else pick(await asking.stores.followed.channels(), channel).channel_id
        found = await who_forwards(asking, channel_id=of, limit=limit)
        if as_json:
            return _print_json(found)
        table = Table("channel", "forwards", "posts", "last", pad_edge=False)
        for one in found.forwarded:
            table.add_row(_name(one.channel), _name(one.source), str(one.posts), one.last_day.isoformat())
        console.print(table if found.forwarded else f"Nothing was forwarded since {found.since}.")
        return _tell(found.by)

    _asked(ask, tenant, days)


@app.command(name="spread")
def show_spread(post: PostName, tenant: TenantName = "default", days: Days = 30, limit: Limit = 100, as_json: AsJson = False) -> None:
    """Who has forwarded a post, and when: the first first."""

    async def ask(asking: Asking, zone: ZoneInfo) -> None:
        found = await spread(asking, await _post(asking, post), limit=limit)
        if as_json:
            return _print_json(found)
        if found.original is not None:
            _print_showing("written", found.original, zone)
        else:
            console.print(f"written by {_name(found.source)}, which is not followed, or gone")
        for one in found.forwards:
            _print_showing("forwarded", one, zone)
        return _tell(found.by)

    _asked(ask, tenant, days)


@app.command()
def first(
    what: Annotated[str, typer.Argument(help="A post (its link at t.me, or channel/message), or the address of a page.")],
    tenant: TenantName = "default",
    days: Days = 30,
    as_json: AsJson = False,
) -> None:
    """Where a post, or a link to a page, was seen first."""

    async def ask(asking: Asking, zone: ZoneInfo) -> None:
        found = await (first_seen(asking, await _post(asking, what)) if POST.fullmatch(what) else first_link(asking, what))
        if as_json:
            return _print_json(found)
        if found.first is None:
            console.print(f"Nobody has shown it since {found.since}.")
        else:
            _print_showing("written" if found.is_original else "first shown", found.first, zone)
        return _tell(found.by)

    _asked(ask, tenant, days)


@app.command()
def similar(
    channel: Annotated[str, typer.Argument(help="Its id, @name or title.")],
    tenant: TenantName = "default",
    days: Days = 30,
    limit: Limit = 10,
    as_json: AsJson = False,
) -> None:
    """Channels that forward, link to and speak of the same."""

    async def ask(asking: Asking, _zone: ZoneInfo) -> None:
        found = await similar_channels(asking, pick(await asking.stores.followed.channels(), channel).channel_id, limit=limit)
        if as_json:
            return _print_json(found)
        table = Table("channel", "score", "shared", "for example", pad_edge=False)
        for one in found.similar:
            table.add_row(_name(one.channel), f"{one.score:.2f}", str(one.shared), escape(", ".join(shared.what for shared in one.examples)))
        return console.print(table if found.similar else f"No followed channel shares anything with it since {found.since}.")

    _asked(ask, tenant, days)


@app.command()
def links(
    url: Annotated[str, typer.Argument(help="The address of a page.")],
    tenant: TenantName = "default",
    days: Days = 30,
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """Which posts lead to a page, the first first."""

    async def ask(asking: Asking, zone: ZoneInfo) -> None:
        found = await who_links(asking, url, limit=limit)
        if as_json:
            return _print_json(found)
        for one in found.posts:
            _print_showing("links", one, zone)
        return None if found.posts else console.print(f"No followed channel has linked to it since {found.since}.")

    _asked(ask, tenant, days)


def _asked(ask: Callable[[Asking, ZoneInfo], Awaitable[None]], tenant: str, days: int) -> None:
    async def work(assembled: App) -> None:
        known = await tenant_named(assembled, tenant)
        asking = Asking(assembled.tenant(known.tenant_id), assembled.graph_index, datetime.now(UTC), days)
        await ask(asking, ZoneInfo(assembled.settings.telemetry.time_zone))

    with_app(work)


async def _post(asking: Asking, written: str) -> PostId:
    found = POST.fullmatch(written)
    if found is None:
        raise Rejected(f"{written!r} is no post: write its link, like t.me/name/17, or channel/message")
    channel, message = found["channel"], MessageId(int(found["message"]))
    if channel.isdecimal():
        return PostId.parse(f"{channel}/{message}")
    return PostId(pick(await asking.stores.followed.channels(), f"@{channel.removeprefix('@')}").channel_id, message)


def _name(place: Place) -> str:
    return escape(place.title) if place.is_followed else f"channel {place.channel_id} [dim](not followed)[/]"


def _print_showing(word: str, one: Showing, zone: ZoneInfo) -> None:
    console.print(f"{one.posted_at.astimezone(zone):%Y-%m-%d %H:%M:%S}  {word:<11}  [bold]{escape(one.channel.title)}[/]  [blue]{one.link}[/]")


def _print_json(found: object) -> None:
    typer.echo(to_json(found, indent=2))


def _tell(by: By) -> None:
    if by.why:
        complaints.print(f"[dim]Answered by PostgreSQL: {by.why}.[/]")
