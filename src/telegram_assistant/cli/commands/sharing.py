"""`tga links`: public links of a person; and copies of what leaves the pages."""

from collections.abc import Awaitable, Callable
from typing import Annotated
from uuid import UUID

import typer
from rich.table import Table

from telegram_assistant.api.endpoints.sharing import (
    CreatedPublicLinkResponse,
    ExportResponse,
    PublicLinkRequest,
    PublicLinksResponse,
    create_public_link,
    list_public_links,
    revoke_public_link,
)
from telegram_assistant.api.request_context import RequestContext
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_change
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.endpoints import context_for, show_endpoint
from telegram_assistant.cli.environment import complaints, console, zone_here
from telegram_assistant.cli.output import AsJson
from telegram_assistant.cli.wording import words_of
from telegram_assistant.domain.sharing.links import MAX_DAYS, MIN_DAYS, USUAL_DAYS, PublicLinkKind
from telegram_assistant.features.sharing.public_links import find_private_channels, warn_of_private_channels

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Public links of a person: a story or a digest for everybody who has the link.",
)

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant of the person.")]
PersonName = Annotated[
    str, typer.Option("--person", help="Name of the person. Empty: the only one of the tenant.")
]


@app.command()
def create(
    kind: Annotated[PublicLinkKind, typer.Argument(help="What the link shows.")],
    subject: Annotated[
        str, typer.Argument(help="Id of any post of the story, CHANNEL/MESSAGE, or of the digest.")
    ],
    days: Annotated[
        int, typer.Option(min=MIN_DAYS, max=MAX_DAYS, help="How many days it works.")
    ] = USUAL_DAYS,
    person: PersonName = "",
    tenant: TenantName = "default",
    as_json: AsJson = False,
) -> None:
    """Make a public link. Its address is shown only once.

    A note names the private channels whose posts it shows.
    """

    async def make(context: RequestContext) -> CreatedPublicLinkResponse:
        private = await find_private_channels(kind, subject, stores=context.stores, own=context.own)
        if private:
            complaints.print(f"[yellow]note[/] {words_of(warn_of_private_channels(private))}.")
        created_public_link_response = await create_public_link(
            context, PublicLinkRequest(kind=kind, subject=subject, days=days)
        )
        link_id = str(created_public_link_response.link.link_id)
        await record_change(context.app, context.caller.tenant_id, "create_public_link", link_id)
        return created_public_link_response

    show_endpoint(
        make,
        lambda created: typer.echo(created.url),
        as_json=as_json,
        tenant=tenant,
        person=person,
        needs_redis=False,
    )


@app.command("list")
def show_list(person: PersonName = "", tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List the public links of a person that still work."""
    show_endpoint(
        list_public_links, _print_links, as_json=as_json, tenant=tenant, person=person, needs_redis=False
    )


@app.command()
def revoke(
    link: Annotated[UUID, typer.Argument(help="Id of the link, as `tga links list` shows it.")],
    person: PersonName = "",
    tenant: TenantName = "default",
) -> None:
    """Revoke a public link. It stops working at once."""

    async def end(assembled: App) -> None:
        context = await context_for(assembled, tenant, person=person, for_people=True)
        await revoke_public_link(context, link)
        await record_change(assembled, context.caller.tenant_id, "revoke_public_link", str(link))

    with_app(end, needs_redis=False)
    console.print("The link no longer works.")


def print_copy(
    endpoint: Callable[[RequestContext], Awaitable[ExportResponse]], *, tenant: str, person: str | None = None
) -> None:
    """Prints a copy as it is, with headings in the language of the terminal."""

    async def call(assembled: App) -> ExportResponse:
        return await endpoint(await context_for(assembled, tenant, person=person, for_people=True))

    typer.echo(with_app(call, needs_redis=False).text, nl=False)


def _print_links(response: PublicLinksResponse) -> None:
    if not response.items:
        console.print("There are no public links. Start with: tga links create story CHANNEL/MESSAGE")
        return
    zone = zone_here()
    table = Table("link", "shows", "until", box=None)
    for link in response.items:
        until = f"{link.expires_at.astimezone(zone):%Y-%m-%d %H:%M}"
        table.add_row(str(link.link_id), f"{link.kind.value} {link.subject}", until)
    console.print(table)
