"""`tga graph`: who forwards whom, how a post spread, where it was first seen, similar channels,
links to a page.
"""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.graph import (
    ForwardsResponse,
    SimilarChannelsResponse,
    SpreadResponse,
    get_spread,
    list_forwards,
    list_linking_posts,
    list_similar_channels,
)
from telegram_assistant.api.request_context import RequestContext as Request
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.cli.output import AsJson, print_json
from telegram_assistant.cli.response_models import FirstSeenResponse
from telegram_assistant.cli.wording import words_of
from telegram_assistant.domain.graph.graph_facts import DAYS_KEPT
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.errors import Rejected
from telegram_assistant.features.channels.channels import pick
from telegram_assistant.features.graph import (
    AnsweredSource,
    FirstSeen,
    GraphChannel,
    GraphScope,
    SharingPost,
    first_link,
    first_seen,
    similar_channels,
    spread,
    who_forwards,
    who_links,
)
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Forwards, spread, first seen, similar channels, links.",
)

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant that follows the channels.")]
Days = Annotated[int, typer.Option(min=1, max=DAYS_KEPT, help="How many days back to look.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of results.")]
PostName = Annotated[str, typer.Argument(help="The post: its t.me link, or channel/message.")]

POST = re.compile(r"(?:https?://)?(?:t\.me/)?(?:c/)?(?P<channel>@?\w+)/(?P<message>\d+)/?")


@app.command()
def forwards(
    channel: Annotated[
        str | None, typer.Argument(help="Only forwards by this channel or from it: its id, @name or title.")
    ] = None,
    tenant: TenantName = "default",
    days: Days = 30,
    limit: Limit = 30,
    as_json: AsJson = False,
) -> None:
    """List which channels forward which, the most frequent first."""

    async def answer(ask: Request) -> ForwardsResponse:
        return await list_forwards(
            ask, channel_id=await _channel(ask.stores, channel), days=days, limit=limit
        )

    if as_json:
        print_endpoint(answer, tenant=tenant, with_graph=True)
        return

    async def ask(scope: GraphScope, _zone: ZoneInfo) -> None:
        forwarding = await who_forwards(scope, channel_id=await _channel(scope.stores, channel), limit=limit)
        table = Table("channel", "forwards", "posts", "last", pad_edge=False)
        for edge in forwarding.forwarded:
            table.add_row(_name(edge.channel), _name(edge.source), str(edge.posts), edge.last_day.isoformat())
        console.print(table if forwarding.forwarded else f"Nothing was forwarded since {forwarding.since}.")
        return _print_source(forwarding.by)

    _run(ask, tenant, days)


@app.command(name="spread")
def show_spread(
    post: PostName,
    tenant: TenantName = "default",
    days: Days = 30,
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """List who forwarded a post and when, earliest first."""

    async def answer(ask: Request) -> SpreadResponse:
        of = await _post(ask.stores, post)
        return await get_spread(ask, of.channel_id, of.message_id, days=days, limit=limit)

    if as_json:
        print_endpoint(answer, tenant=tenant, with_graph=True)
        return

    async def ask(scope: GraphScope, zone: ZoneInfo) -> None:
        spreading = await spread(scope, await _post(scope.stores, post), limit=limit)
        if spreading.original is not None:
            _print_post("written", spreading.original, zone)
        else:
            console.print(
                f"written by {_name(spreading.source)}; the post is not available: its channel is "
                "not followed, or the post no longer exists"
            )
        for forward in spreading.forwards:
            _print_post("forwarded", forward, zone)
        return _print_source(spreading.by)

    _run(ask, tenant, days)


@app.command()
def first(
    what: Annotated[
        str, typer.Argument(help="A post (its t.me link, or channel/message), or the URL of a page.")
    ],
    tenant: TenantName = "default",
    days: Days = 30,
    as_json: AsJson = False,
) -> None:
    """Show where a post, or a link to a page, was first seen."""

    async def ask(scope: GraphScope, zone: ZoneInfo) -> None:
        sighting = await (
            first_seen(scope, await _post(scope.stores, what))
            if POST.fullmatch(what)
            else first_link(scope, what)
        )
        if as_json:
            return print_json(_first(sighting))
        if sighting.first is None:
            console.print(f"No followed channel has posted it since {sighting.since}.")
        else:
            _print_post("written" if sighting.is_original else "first seen", sighting.first, zone)
        return _print_source(sighting.by)

    _run(ask, tenant, days)


@app.command()
def similar(
    channel: Annotated[str, typer.Argument(help="The channel: its id, @name or title.")],
    tenant: TenantName = "default",
    days: Days = 30,
    limit: Limit = 10,
    as_json: AsJson = False,
) -> None:
    """List channels that share sources, pages and names with a channel."""

    async def answer(ask: Request) -> SimilarChannelsResponse:
        of = pick(await ask.stores.followed.channels(), channel).channel_id
        return await list_similar_channels(ask, of, days=days, limit=limit)

    if as_json:
        print_endpoint(answer, tenant=tenant, with_graph=True)
        return

    async def ask(scope: GraphScope, _zone: ZoneInfo) -> None:
        similarity = await similar_channels(
            scope, pick(await scope.stores.followed.channels(), channel).channel_id, limit=limit
        )
        table = Table("channel", "score", "shared", "for example", pad_edge=False)
        for neighbour in similarity.similar:
            table.add_row(
                _name(neighbour.channel),
                f"{neighbour.score:.2f}",
                str(neighbour.shared),
                escape(", ".join(shared.what for shared in neighbour.examples)),
            )
        return console.print(
            table
            if similarity.similar
            else f"No followed channel shares anything with it since {similarity.since}."
        )

    _run(ask, tenant, days)


@app.command()
def links(
    url: Annotated[str, typer.Argument(help="URL of the page.")],
    tenant: TenantName = "default",
    days: Days = 30,
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """List posts that link to a page, earliest first."""
    if as_json:
        print_endpoint(
            lambda request: list_linking_posts(request, url, days=days, limit=limit),
            tenant=tenant,
            with_graph=True,
        )
        return

    async def ask(scope: GraphScope, zone: ZoneInfo) -> None:
        linking = await who_links(scope, url, limit=limit)
        for post in linking.posts:
            _print_post("links", post, zone)
        return (
            None
            if linking.posts
            else console.print(f"No followed channel has linked to it since {linking.since}.")
        )

    _run(ask, tenant, days)


def _run(ask: Callable[[GraphScope, ZoneInfo], Awaitable[None]], tenant: str, days: int) -> None:
    async def work(assembled: App) -> None:
        known = await tenant_named(assembled, tenant)
        scope = GraphScope(assembled.tenant(known.tenant_id), assembled.graph, datetime.now(UTC), days)
        await ask(scope, ZoneInfo(assembled.settings.telemetry.time_zone))

    with_app(work, with_graph=True)


async def _channel(stores: TenantStores, written: str | None) -> ChannelId | None:
    return None if written is None else pick(await stores.followed.channels(), written).channel_id


async def _post(stores: TenantStores, written: str) -> PostId:
    match = POST.fullmatch(written)
    if match is None:
        raise Rejected(
            Reason(
                "not_a_post",
                "{written!r} is not a post: write its link, like t.me/name/17, or channel/message",
                written=written,
            )
        )
    channel, message = match["channel"], MessageId(int(match["message"]))
    if channel.isdecimal():
        return PostId.parse(f"{channel}/{message}")
    return PostId(pick(await stores.followed.channels(), f"@{channel.removeprefix('@')}").channel_id, message)


def _name(place: GraphChannel) -> str:
    return escape(place.title) if place.is_followed else f"channel {place.channel_id} [dim](not followed)[/]"


def _print_post(word: str, post: SharingPost, zone: ZoneInfo) -> None:
    console.print(
        f"{post.posted_at.astimezone(zone):%Y-%m-%d %H:%M:%S}  {word:<11}  "
        f"[bold]{escape(post.channel.title)}[/]  [blue]{post.link}[/]"
    )


def _first(sighting: FirstSeen) -> FirstSeenResponse:
    first = sighting.first
    return FirstSeenResponse(
        since=sighting.since,
        post_id=str(first.post_id) if first else None,
        channel=first.channel.title if first else None,
        link=first.link if first else None,
        posted_at=first.posted_at if first else None,
        is_original=sighting.is_original,
        answered_by=sighting.by.engine,
        notice="" if sighting.by.why is None else str(sighting.by.why),
    )


def _print_source(by: AnsweredSource) -> None:
    if by.why:
        complaints.print(f"[dim]Answered by PostgreSQL: {words_of(by.why)}.[/]")
