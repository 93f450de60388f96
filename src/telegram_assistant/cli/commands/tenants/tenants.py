"""`tga tenants`: tenants of the installation."""

import shlex
from collections.abc import Sequence
from typing import Annotated

import typer
from pydantic import ByteSize, TypeAdapter, ValidationError
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.tenants.tenants import TenantResponse, TenantsResponse, tenant_response
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_operation
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson, show_value
from telegram_assistant.domain.posts.post import Json
from telegram_assistant.features.tenants import tenants
from telegram_assistant.features.understanding.spending import micro_of, money_of
from telegram_assistant.stores.postgres.tenants.tenant_operations import TenantSummary
from telegram_assistant.stores.redis.rate_limits import RateLimits

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Tenants: list, create, suspend, resume, quotas, budgets.",
)

MAX_TENANTS = 100_000
DEFAULT_QUOTA = "default"
Name = Annotated[str, typer.Argument(help="Name of the tenant.")]


@app.command(name="list")
def show_list(as_json: AsJson = False) -> None:
    """List tenants: channels, media, spending and state."""
    response = TenantsResponse(items=list(with_app(all_tenants)), next=None)
    show_value(response, _print_tenants, as_json=as_json)


def _print_tenants(response: TenantsResponse) -> None:
    table = Table(
        "tenant",
        "channels",
        "accounts",
        "keys",
        "media",
        "of",
        "spent this month",
        "of",
        "state",
        pad_edge=False,
    )
    for tenant in response.items:
        spent_text, limit = (
            (money_of(tenant.budget.used_micro), money_of(tenant.budget.micro))
            if tenant.budget
            else ("–", "–")
        )
        counts = (
            str(tenant.channels),
            str(tenant.accounts),
            str(tenant.keys),
            decimal(tenant.media_bytes),
            _quota(tenant),
        )
        table.add_row(escape(tenant.name), *counts, spent_text, limit, _state(tenant))
    console.print(table)


@app.command()
def create(name: Name, as_json: AsJson = False) -> None:
    """Create a tenant."""

    async def work(assembled: App) -> TenantResponse:
        created_summary = await tenants.create_tenant(name, tenants=assembled.api.tenant_operations)
        return await _record_change(assembled, created_summary, "create_tenant", name=name)

    next_steps = (
        f"tga channels add @name --tenant {shlex.quote(name)}, tga keys create NAME --tenant "
        f"{shlex.quote(name)}"
    )
    _print_result(with_app(work), f"Tenant {name} is created. Next: {next_steps}", as_json)


@app.command()
def suspend(
    name: Name,
    why: Annotated[
        str,
        typer.Option(help="Why the tenant is suspended. Its API requests receive this text in the error."),
    ],
    as_json: AsJson = False,
) -> None:
    """Suspend a tenant: its keys are refused, its accounts are not used, and no channel is read for it.

    Nothing is deleted.
    """

    async def work(assembled: App) -> TenantResponse:
        tenant, operations = await tenant_named(assembled, name), assembled.api.tenant_operations
        drop_cached_keys = RateLimits(assembled.redis).drop_cached_keys
        changed_tenant = await tenants.suspend_tenant(
            tenant.public_id, why=why, tenants=operations, drop_cached_keys=drop_cached_keys
        )
        return await _record_change(assembled, changed_tenant, "suspend_tenant", reason=why)

    _print_result(
        with_app(work),
        f"Tenant {name} is suspended. To resume it: tga tenants resume {shlex.quote(name)}",
        as_json,
    )


@app.command()
def resume(name: Name, as_json: AsJson = False) -> None:
    """Resume a suspended tenant."""

    async def work(assembled: App) -> TenantResponse:
        tenant, drop_cached_keys = (
            await tenant_named(assembled, name),
            RateLimits(assembled.redis).drop_cached_keys,
        )
        changed_tenant = await tenants.resume_tenant(
            tenant.public_id, tenants=assembled.api.tenant_operations, drop_cached_keys=drop_cached_keys
        )
        return await _record_change(assembled, changed_tenant, "resume_tenant")

    _print_result(with_app(work), f"Tenant {name} is resumed.", as_json)


@app.command()
def quota(
    name: Name,
    size: Annotated[
        str | None,
        typer.Argument(
            help='Quota like 500MB or 20GB, or "default" for MEDIA_QUOTA_BYTES. Without it, show the quota.'
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show or set the media quota of a tenant."""
    max_bytes = None if size is None or size == DEFAULT_QUOTA else _bytes(size)

    async def work(assembled: App) -> TenantResponse:
        tenant, operations = await tenant_named(assembled, name), assembled.api.tenant_operations
        if size is None:
            return tenant_response(
                await tenants.one_tenant(tenant.public_id, tenants=operations), settings=assembled.settings
            )
        changed_tenant = await tenants.set_media_quota(tenant.public_id, max_bytes, tenants=operations)
        return await _record_change(assembled, changed_tenant, "set_media_quota", max_bytes=max_bytes)

    response = with_app(work)
    _print_result(
        response,
        f"{name} stores {decimal(response.media_bytes)} of media; quota: {_quota(response)}.",
        as_json,
    )


@app.command()
def budget(
    name: Name,
    money: Annotated[
        str | None,
        typer.Option(help="Monthly budget in money, like 500 or 12.50. Without it, show the budget."),
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(min=0, help="Monthly budget in tokens. Without it: no limit on tokens.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show or set a tenant's monthly budget for AI providers."""

    async def work(assembled: App) -> TenantResponse:
        if money is not None:
            return await set_budget(assembled, name, money, tokens)
        tenant, operations = await tenant_named(assembled, name), assembled.api.tenant_operations
        return tenant_response(
            await tenants.one_tenant(tenant.public_id, tenants=operations), settings=assembled.settings
        )

    show_value(with_app(work), lambda response: print_budgets([response]), as_json=as_json)


async def set_budget(assembled: App, name: str, money: str, tokens: int | None) -> TenantResponse:
    tenant, micro = await tenant_named(assembled, name), micro_of(money)
    changed_tenant = await tenants.set_budget(
        tenant.public_id, micro=micro, tokens=tokens, tenants=assembled.api.tenant_operations
    )
    return await _record_change(assembled, changed_tenant, "set_tenant_budget", micro=micro, tokens=tokens)


async def all_tenants(assembled: App) -> tuple[TenantResponse, ...]:
    page = await tenants.list_tenants(tenants=assembled.api.tenant_operations, limit=MAX_TENANTS)
    return tuple(tenant_response(tenant, settings=assembled.settings) for tenant in page.tenants)


def print_budgets(responses: Sequence[TenantResponse]) -> None:
    """Prints the budgets of tenants that have one."""
    unit = responses[0].unit if responses else ""
    table = Table("tenant", "month", f"spent, {unit}", f"of, {unit}", "tokens", "of", pad_edge=False)
    for response in responses:
        if response.budget is not None:
            limit = "–" if response.budget.tokens is None else f"{response.budget.tokens:,}"
            spent_text = (
                money_of(response.budget.used_micro),
                money_of(response.budget.micro),
                f"{response.budget.used_tokens:,}",
                limit,
            )
            table.add_row(escape(response.name), f"{response.budget.month:%Y-%m}", *spent_text)
    empty_text = (
        "No budget is set, so no paid calls are made. Set one: tga tenants budget default --money 500"
    )
    console.print(table if table.row_count else empty_text)


async def _record_change(app: App, tenant: TenantSummary, action: str, **facts: Json) -> TenantResponse:
    """Records the change in the operator's audit log, like a change over HTTP."""
    await record_operation(app, action, f"/tenants/{tenant.public_id}", **facts)
    return tenant_response(tenant, settings=app.settings)


def _print_result(response: TenantResponse, sentence: str, as_json: bool) -> None:
    show_value(response, lambda _: console.print(escape(sentence)), as_json=as_json)


def _quota(response: TenantResponse) -> str:
    return "no limit" if response.media_quota_bytes is None else decimal(response.media_quota_bytes)


def _state(response: TenantResponse) -> str:
    if response.suspended_at is None:
        return "[green]active[/]"
    return (
        f"[yellow]suspended since {response.suspended_at:%Y-%m-%d %H:%M}: "
        f"{escape(response.suspended_reason or '')}[/]"
    )


def _bytes(size_text: str) -> int:
    try:
        return int(TypeAdapter(ByteSize).validate_python(size_text))
    except ValidationError as error:
        raise typer.BadParameter(
            f"{size_text!r} is not a size; write it like 500MB or 20GB", param_hint="size"
        ) from error
