"""`tga people`: who may log in to the pages."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.people.members import list_members
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import ACTOR, record_change
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.features.people.members import remove_by_name
from telegram_assistant.features.people.people import LOGIN_LINK_LASTS, check_name, make_login_link
from telegram_assistant.features.tenants.keys import announce_changed_keys
from telegram_assistant.stores.postgres.people.members import ListedMember
from telegram_assistant.stores.redis.rate_limits import RateLimits

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="People who log in to the pages."
)

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant of the people.")]
PersonName = Annotated[str, typer.Argument(help="Name of the person.")]


@app.command(name="list")
def show_list(tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List the people of a tenant and their roles."""
    if as_json:
        print_endpoint(list_members, tenant=tenant)
        return

    async def look(assembled: App) -> tuple[ListedMember, ...]:
        known = await tenant_named(assembled, tenant)
        return await assembled.tenant(known.tenant_id).members.all()

    members = with_app(look)
    if not members:
        console.print("Nobody is a member yet. Start with: tga people link NAME")
        return
    table = Table("name", "role", "joined", "last seen", box=None)
    for member in members:
        table.add_row(
            escape(member.name),
            member.role.value,
            f"{member.joined_at:%Y-%m-%d}",
            f"{member.seen_at:%Y-%m-%d %H:%M}" if member.seen_at else "never",
        )
    console.print(table)


@app.command()
def link(
    name: PersonName,
    tenant: TenantName = "default",
    role: Annotated[
        MemberRole | None,
        typer.Option(help="Role from now on. Without it a member keeps theirs; the first person is owner."),
    ] = None,
) -> None:
    """Print a link that lets a person in once.

    Adds them to the tenant if they are new; helps who has forgotten a password.
    """

    async def make(assembled: App) -> str:
        known = await tenant_named(assembled, tenant)
        member = await assembled.system.users.join(known.tenant_id, check_name(name), role=role)
        if role is not None:
            await announce_changed_keys(RateLimits(assembled.redis).drop_cached_keys)
        token = await make_login_link(member.user_id, users=assembled.system.users, created_by=ACTOR)
        await record_change(
            assembled, known.tenant_id, "make_login_link", "/people", name=member.name, role=member.role.value
        )
        return f"{assembled.settings.pages_url}/link/{token}"

    address = with_app(make)
    console.print(f"It works once, within {LOGIN_LINK_LASTS.total_seconds() / 3600:.0f} h:")
    typer.echo(address)


@app.command()
def remove(name: PersonName, tenant: TenantName = "default") -> None:
    """Remove a person from a tenant.

    Their invitations, keys and feeds there end at once, and their receivers are paused.
    """

    async def end(assembled: App) -> None:
        known = await tenant_named(assembled, tenant)
        drop_cached_keys = RateLimits(assembled.redis).drop_cached_keys
        await remove_by_name(
            name, known.tenant_id, users=assembled.system.users, drop_cached_keys=drop_cached_keys
        )
        await record_change(assembled, known.tenant_id, "remove_member", "/people", name=name)

    with_app(end)
    console.print("Removed.")
