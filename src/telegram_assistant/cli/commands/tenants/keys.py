"""`tga keys`: API keys."""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.tenants.keys import (
    CreatedKeyResponse,
    KeysResponse,
    created_key_response,
    list_api_keys,
)
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import ACTOR, record_change
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import MAX_ITEMS, show_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson, show_value
from telegram_assistant.domain.tenants.access import (
    SCOPES_OF,
    KeyScope,
    MemberRole,
    effective_scopes,
    new_operator_key,
)
from telegram_assistant.features.people.members import add_member
from telegram_assistant.features.tenants.keys import CreatedKey, KeyMaker, make_key, revoke_key
from telegram_assistant.stores.redis.rate_limits import RateLimits

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="API keys.")

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant that owns the keys.")]


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the key, which says what it is for.")],
    tenant: TenantName = "default",
    scopes: Annotated[
        str, typer.Option(help="Scopes, separated by commas: read, write, admin, operate.")
    ] = "read",
    user: Annotated[
        str,
        typer.Option(
            help="Person that the key belongs to; the person's role limits its scopes. Empty: no person."
        ),
    ] = "",
    role: Annotated[
        MemberRole | None,
        typer.Option(help="Role of this person from now on. The first person of a tenant becomes its owner."),
    ] = None,
    days: Annotated[int, typer.Option(help="Days until the key expires; 0: never.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Create a key and show it once."""
    key_scopes = _scopes(scopes)

    async def make(assembled: App) -> CreatedKey:
        chosen_tenant = await tenant_named(assembled, tenant)
        drop_cached_keys = RateLimits(assembled.redis).drop_cached_keys
        member = (
            await add_member(
                user,
                chosen_tenant.tenant_id,
                role=role,
                users=assembled.system.users,
                drop_cached_keys=drop_cached_keys,
            )
            if user
            else None
        )
        stores, now = assembled.tenant(chosen_tenant.tenant_id), datetime.now(UTC)
        within = effective_scopes(
            SCOPES_OF[MemberRole.OWNER],
            role=member.role if member else None,
            is_operator=chosen_tenant.is_operator,
        )
        maker = KeyMaker(actor=ACTOR, scopes=within, user_id=member.user_id if member else None)
        created_key = await make_key(
            name,
            key_scopes,
            maker=maker,
            keys=stores.keys,
            now=now,
            expires_at=now + timedelta(days=days) if days else None,
        )
        await record_change(
            assembled,
            chosen_tenant.tenant_id,
            "create_api_key",
            "/keys",
            name=name,
            scopes=[*key_scopes],
            user=user or None,
        )
        return created_key

    show_value(created_key_response(with_app(make)), _print_created, as_json=as_json)


def _print_created(created_key_response: CreatedKeyResponse) -> None:
    console.print(f"Key {created_key_response.key.key_id}. It is shown only once; store it:")
    typer.echo(created_key_response.secret)


@app.command(name="list")
def show_list(tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List keys, without their secrets."""
    show_endpoint(
        lambda context: list_api_keys(context, limit=MAX_ITEMS), _print_keys, as_json=as_json, tenant=tenant
    )


def _print_keys(response: KeysResponse) -> None:
    keys = response.items
    if not keys:
        console.print("There are no keys. Start with: tga keys create NAME")
        return
    names = {key.key_id: key.name for key in keys}
    table = Table(
        "id", "name", "prefix", "scopes", "created by", "created with", "last used", "state", box=None
    )
    for key in keys:
        state = (
            "[red]revoked[/]"
            if key.revoked_at
            else f"until {key.expires_at:%Y-%m-%d}"
            if key.expires_at
            else "[green]valid[/]"
        )
        last_used = f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "–"
        parent = escape(names.get(key.parent_key_id, str(key.parent_key_id))) if key.parent_key_id else "–"
        table.add_row(
            str(key.key_id),
            escape(key.name),
            key.prefix,
            ", ".join(key.scopes),
            escape(key.created_by),
            parent,
            last_used,
            state,
        )
    console.print(table)


@app.command()
def revoke(
    key_id: Annotated[UUID, typer.Argument(help="Id of the key, from `tga keys list`.")],
    tenant: TenantName = "default",
) -> None:
    """Revoke a key, and every key that was created with it."""

    async def end(assembled: App) -> None:
        chosen_tenant = await tenant_named(assembled, tenant)
        await revoke_key(
            key_id,
            keys=assembled.tenant(chosen_tenant.tenant_id).keys,
            drop_cached_keys=RateLimits(assembled.redis).drop_cached_keys,
        )
        await record_change(assembled, chosen_tenant.tenant_id, "revoke_api_key", f"/keys/{key_id}")

    with_app(end)
    console.print("The key is revoked.")


@app.command()
def operator() -> None:
    """Print a new value for OPERATOR_KEY. It is not stored."""
    typer.echo(new_operator_key())


def _scopes(text: str) -> list[KeyScope]:
    try:
        return [KeyScope(word.strip()) for word in text.split(",") if word.strip()]
    except ValueError as error:
        raise typer.BadParameter(
            f"{error}; known scopes: {', '.join(KeyScope)}", param_hint="--scopes"
        ) from error
