"""`tga graph`: who forwards whom, how a post spread, where it was first seen, similar channels,
links to a page.
"""

import re
from datetime import datetime
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.graph import (
    ForwardsResponse,
    GraphChannelResponse,
    GraphResponse,
    LinkingPostsResponse,
    SharingPostResponse,
    SimilarChannelsResponse,
    SpreadResponse,
    get_spread,
    list_forwards,
    list_linking_posts,
    list_similar_channels,
)
from telegram_assistant.api.request_context import RequestContext
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import complaints, console, zone_here
from telegram_assistant.cli.output import AsJson
from telegram_assistant.cli.response_models import FirstSeenResponse
from telegram_assistant.domain.graph.graph_facts import DAYS_KEPT
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.errors import Rejected
from telegram_assistant.features.channels.channels import find_followed
from telegram_assistant.features.graph import FirstSeen, GraphScope, first_link, first_seen
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

    async def answer(context: RequestContext) -> ForwardsResponse:
        return await list_forwards(
            context, channel_id=await _channel(context.stores, channel), days=days, limit=limit
        )

    show_endpoint(answer, _print_forwards, as_json=as_json, tenant=tenant, with_graph=True)


def _print_forwards(response: ForwardsResponse) -> None:
    table = Table("channel", "forwards", "posts", "last", pad_edge=False)
    for edge in response.items:
        table.add_row(_name(edge.channel), _name(edge.source), str(edge.posts), edge.last_day.isoformat())
    console.print(table if response.items else f"Nothing was forwarded since {response.since}.")
    _print_notice(response)


@app.command(name="spread")
def show_spread(
    post: PostName,
    tenant: TenantName = "default",
    days: Days = 30,
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """List who forwarded a post and when, earliest first."""

    async def answer(context: RequestContext) -> SpreadResponse:
        subject_post_id = await _post(context.stores, post)
        return await get_spread(
            context, subject_post_id.channel_id, subject_post_id.message_id, days=days, limit=limit
        )

    show_endpoint(answer, _print_spread, as_json=as_json, tenant=tenant, with_graph=True)


def _print_spread(response: SpreadResponse) -> None:
    if response.original is not None:
        _print_post("written", response.original)
    else:
        console.print(
            f"written by {_name(response.source)}; the post is not available: its channel is "
            "not followed, or the post no longer exists"
        )
    for forward in response.forwards:
        _print_post("forwarded", forward)
    _print_notice(response)


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

    async def answer(context: RequestContext) -> FirstSeenResponse:
        scope = GraphScope(context.stores, context.app.graph, context.now, days)
        sighting = await (
            first_seen(scope, await _post(scope.stores, what))
            if POST.fullmatch(what)
            else first_link(scope, what)
        )
        return _first(sighting, context)

    show_endpoint(answer, _print_first, as_json=as_json, tenant=tenant, with_graph=True)


def _print_first(response: FirstSeenResponse) -> None:
    if response.posted_at is None:
        console.print(f"No followed channel has posted it since {response.since}.")
    else:
        word = "written" if response.is_original else "first seen"
        _print_line(word, response.posted_at, response.channel or "", response.link or "")
    _print_notice(response)


@app.command()
def similar(
    channel: Annotated[str, typer.Argument(help="The channel: its id, @name or title.")],
    tenant: TenantName = "default",
    days: Days = 30,
    limit: Limit = 10,
    as_json: AsJson = False,
) -> None:
    """List channels that share sources, pages and names with a channel."""

    async def answer(context: RequestContext) -> SimilarChannelsResponse:
        of = await find_followed(channel, followed=context.stores.followed)
        return await list_similar_channels(context, of.channel_id, days=days, limit=limit)

    show_endpoint(answer, _print_similar, as_json=as_json, tenant=tenant, with_graph=True)


def _print_similar(response: SimilarChannelsResponse) -> None:
    table = Table("channel", "score", "shared", "for example", pad_edge=False)
    for neighbour in response.items:
        table.add_row(
            _name(neighbour.channel),
            f"{neighbour.score:.2f}",
            str(neighbour.shared),
            escape(", ".join(shared_item_response.what for shared_item_response in neighbour.examples)),
        )
    empty_text = f"No followed channel shares anything with it since {response.since}."
    console.print(table if response.items else empty_text)


@app.command()
def links(
    url: Annotated[str, typer.Argument(help="URL of the page.")],
    tenant: TenantName = "default",
    days: Days = 30,
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """List posts that link to a page, earliest first."""
    show_endpoint(
        lambda context: list_linking_posts(context, url, days=days, limit=limit),
        _print_links,
        as_json=as_json,
        tenant=tenant,
        with_graph=True,
    )


def _print_links(response: LinkingPostsResponse) -> None:
    for post in response.items:
        _print_post("links", post)
    if not response.items:
        console.print(f"No followed channel has linked to it since {response.since}.")


async def _channel(stores: TenantStores, channel_reference: str | None) -> ChannelId | None:
    return (
        None
        if channel_reference is None
        else (await find_followed(channel_reference, followed=stores.followed)).channel_id
    )


async def _post(stores: TenantStores, post_reference: str) -> PostId:
    match = POST.fullmatch(post_reference)
    if match is None:
        raise Rejected(
            Reason(
                "not_a_post",
                "{written!r} is not a post: write its link, like t.me/name/17, or channel/message",
                written=post_reference,
            )
        )
    channel, message_id = match["channel"], MessageId(int(match["message"]))
    if channel.isdecimal():
        return PostId.parse(f"{channel}/{message_id}")
    followed_channel = await find_followed(f"@{channel.removeprefix('@')}", followed=stores.followed)
    return PostId(followed_channel.channel_id, message_id)


def _name(channel: GraphChannelResponse) -> str:
    return (
        escape(channel.channel)
        if channel.is_followed
        else f"channel {channel.channel_id} [dim](not followed)[/]"
    )


def _print_post(word: str, post: SharingPostResponse) -> None:
    _print_line(word, post.posted_at, post.channel.channel, post.link)


def _print_line(word: str, posted_at: datetime, channel: str, link: str) -> None:
    console.print(
        f"{posted_at.astimezone(zone_here()):%Y-%m-%d %H:%M:%S}  {word:<11}  "
        f"[bold]{escape(channel)}[/]  [blue]{link}[/]"
    )


def _first(sighting: FirstSeen, context: RequestContext) -> FirstSeenResponse:
    first_post = sighting.first
    return FirstSeenResponse(
        since=sighting.since,
        post_id=str(first_post.post_id) if first_post else None,
        channel=first_post.channel.title if first_post else None,
        link=first_post.link if first_post else None,
        posted_at=first_post.posted_at if first_post else None,
        is_original=sighting.is_original,
        answered_by=sighting.by.engine,
        notice=context.translate(sighting.by.why) or "",
    )


def _print_notice(response: GraphResponse | FirstSeenResponse) -> None:
    if response.notice:
        complaints.print(f"[dim]Answered by PostgreSQL: {escape(response.notice)}.[/]")
