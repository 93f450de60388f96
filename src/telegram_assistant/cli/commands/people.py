"""`tga people`: who may log in to the pages."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.people.members import MembersResponse, list_members
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import ACTOR, record_change
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.features.people.members import add_member, remove_by_name
from telegram_assistant.features.people.people import LOGIN_LINK_LASTS, make_login_link
from telegram_assistant.stores.redis.rate_limits import RateLimits

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="People who log in to the pages."
)

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant of the people.")]
PersonName = Annotated[str, typer.Argument(help="Name of the person.")]


@app.command(name="list")
def show_list(tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List the people of a tenant and their roles."""
    show_endpoint(list_members, _print_members, as_json=as_json, tenant=tenant)


def _print_members(response: MembersResponse) -> None:
    if not response.items:
        console.print("Nobody is a member yet. Start with: tga people link NAME")
        return
    table = Table("name", "role", "joined", "last seen", box=None)
    for member in response.items:
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
        chosen_tenant = await tenant_named(assembled, tenant)
        member = await add_member(
            name,
            chosen_tenant.tenant_id,
            role=role,
            users=assembled.system.users,
            drop_cached_keys=RateLimits(assembled.redis).drop_cached_keys,
        )
        token = await make_login_link(member.user_id, users=assembled.system.users, created_by=ACTOR)
        await record_change(
            assembled,
            chosen_tenant.tenant_id,
            "make_login_link",
            "/people",
            name=member.name,
            role=member.role.value,
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
        chosen_tenant = await tenant_named(assembled, tenant)
        drop_cached_keys = RateLimits(assembled.redis).drop_cached_keys
        await remove_by_name(
            name, chosen_tenant.tenant_id, users=assembled.system.users, drop_cached_keys=drop_cached_keys
        )
        await record_change(assembled, chosen_tenant.tenant_id, "remove_member", "/people", name=name)

    with_app(end)
    console.print("Removed.")
