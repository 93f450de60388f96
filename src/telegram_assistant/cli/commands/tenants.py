"""`tga tenants`: whom the installation works for."""

import shlex
from collections.abc import Sequence
from typing import Annotated

import typer
from pydantic import ByteSize, TypeAdapter, ValidationError
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.tenants import TenantResponse, TenantsResponse, tenant_response
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson, print_json
from telegram_assistant.domain.posts.post import Json
from telegram_assistant.features import tenants
from telegram_assistant.features.spending import micro_of, money_of
from telegram_assistant.stores.postgres.tenants.audit import AuditedAction
from telegram_assistant.stores.postgres.tenants.tenant_operations import TenantSummary
from telegram_assistant.stores.redis.rate_limits import RateLimits

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Tenants: list, create, suspend, resume, quotas, budgets.")

ACTOR = "command line"
MAX_TENANTS = 100_000
DEFAULT_QUOTA = "default"
Name = Annotated[str, typer.Argument(help="Its name.")]


@app.command(name="list")
def show_list(as_json: AsJson = False) -> None:
    """Every tenant: what it follows, keeps and spends, and whether it is suspended."""
    found = with_app(all_tenants)
    if as_json:
        return print_json(TenantsResponse(items=list(found), next=None))
    table = Table("tenant", "channels", "accounts", "keys", "media", "of", "spent this month", "of", "state", pad_edge=False)
    for one in found:
        spent, limit = (money_of(one.budget.used_micro), money_of(one.budget.micro)) if one.budget else ("–", "–")
        counts = (str(one.channels), str(one.accounts), str(one.keys), decimal(one.media_bytes), _quota(one))
        table.add_row(escape(one.name), *counts, spent, limit, _state(one))
    return console.print(table)


@app.command()
def create(name: Name, as_json: AsJson = False) -> None:
    """Create a tenant."""

    async def work(assembled: App) -> TenantResponse:
        created = await tenants.create_tenant(name, tenants=assembled.api.tenant_operations)
        return await _noted(assembled, created, "create_tenant", name=name)

    next_steps = f"tga channels add @name --tenant {shlex.quote(name)}, tga keys create NAME --tenant {shlex.quote(name)}"
    _tell(with_app(work), f"Tenant {name} is there. Next: {next_steps}", as_json)


@app.command()
def suspend(name: Name, why: Annotated[str, typer.Option(help="The tenant's programs are told so.")], as_json: AsJson = False) -> None:
    """Refuse its keys, let its accounts rest, and read no channel for it. Everything is kept."""

    async def work(assembled: App) -> TenantResponse:
        known, operations = await tenant_named(assembled, name), assembled.api.tenant_operations
        tell_change = RateLimits(assembled.redis).tell_change
        done = await tenants.suspend_tenant(known.public_id, why=why, tenants=operations, tell_change=tell_change)
        return await _noted(assembled, done, "suspend_tenant", reason=why)

    _tell(with_app(work), f"Tenant {name} is suspended. To let it go on: tga tenants resume {shlex.quote(name)}", as_json)


@app.command()
def resume(name: Name, as_json: AsJson = False) -> None:
    """Let a suspended tenant go on where it was."""

    async def work(assembled: App) -> TenantResponse:
        known, tell_change = await tenant_named(assembled, name), RateLimits(assembled.redis).tell_change
        done = await tenants.resume_tenant(known.public_id, tenants=assembled.api.tenant_operations, tell_change=tell_change)
        return await _noted(assembled, done, "resume_tenant")

    _tell(with_app(work), f"Tenant {name} goes on where it was.", as_json)


@app.command()
def quota(
    name: Name,
    size: Annotated[str | None, typer.Argument(help='Like 500MB or 20GB, or "default": as MEDIA_QUOTA_BYTES says. Without it, show it.')] = None,
    as_json: AsJson = False,
) -> None:
    """Show or set how much media a tenant may keep."""
    wanted = None if size is None or size == DEFAULT_QUOTA else _bytes(size)

    async def work(assembled: App) -> TenantResponse:
        known, operations = await tenant_named(assembled, name), assembled.api.tenant_operations
        if size is None:
            return tenant_response(await tenants.one_tenant(known.public_id, tenants=operations), settings=assembled.settings)
        done = await tenants.set_media_quota(known.public_id, wanted, tenants=operations)
        return await _noted(assembled, done, "set_media_quota", max_bytes=wanted)

    one = with_app(work)
    _tell(one, f"{name} keeps {decimal(one.media_bytes)} of {_quota(one)}.", as_json)


@app.command()
def budget(
    name: Name,
    money: Annotated[str | None, typer.Option(help="What it may spend on providers each month, like 500 or 12.50. Without it, show it.")] = None,
    tokens: Annotated[int | None, typer.Option(min=0, help="How many tokens it may use each month. Without it: no limit on tokens.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show or set what a tenant may spend on providers in a month."""

    async def work(assembled: App) -> TenantResponse:
        known, operations = await tenant_named(assembled, name), assembled.api.tenant_operations
        if money is None:
            return tenant_response(await tenants.one_tenant(known.public_id, tenants=operations), settings=assembled.settings)
        micro = micro_of(money)
        done = await tenants.set_budget(known.public_id, micro=micro, tokens=tokens, tenants=operations)
        return await _noted(assembled, done, "set_tenant_budget", micro=micro, tokens=tokens)

    one = with_app(work)
    return print_json(one) if as_json else print_budgets([one])


async def all_tenants(assembled: App) -> tuple[TenantResponse, ...]:
    page = await tenants.list_tenants(tenants=assembled.api.tenant_operations, limit=MAX_TENANTS)
    return tuple(tenant_response(one, settings=assembled.settings) for one in page.tenants)


def print_budgets(found: Sequence[TenantResponse]) -> None:
    """Of those that have one."""
    unit = found[0].unit if found else ""
    table = Table("tenant", "month", f"spent, {unit}", f"of, {unit}", "tokens", "of", pad_edge=False)
    for one in found:
        if one.budget is not None:
            limit = "–" if one.budget.tokens is None else f"{one.budget.tokens:,}"
            spent = (money_of(one.budget.used_micro), money_of(one.budget.micro), f"{one.budget.used_tokens:,}", limit)
            table.add_row(escape(one.name), f"{one.budget.month:%Y-%m}", *spent)
    nothing = "No budget is set, so nothing is paid for. Set one: tga tenants budget default --money 500"
    console.print(table if table.row_count else nothing)


async def _noted(assembled: App, done: TenantSummary, action: str, **facts: Json) -> TenantResponse:
    """Written into the operator's audit log, like a change over HTTP."""
    operator = await assembled.api.key_directory.operator()
    await assembled.tenant(operator.tenant_id).audit.note(AuditedAction(ACTOR, action, f"/tenants/{done.public_id}", facts=facts))
    return tenant_response(done, settings=assembled.settings)


def _tell(one: TenantResponse, sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(one)
    else:
        console.print(escape(sentence))


def _quota(one: TenantResponse) -> str:
    return "no limit" if one.media_quota_bytes is None else decimal(one.media_quota_bytes)


def _state(one: TenantResponse) -> str:
    if one.suspended_at is None:
        return "[green]active[/]"
    return f"[yellow]suspended since {one.suspended_at:%Y-%m-%d %H:%M}: {escape(one.suspended_reason or '')}[/]"


def _bytes(size: str) -> int:
    try:
        return int(TypeAdapter(ByteSize).validate_python(size))
    except ValidationError as error:
        raise typer.BadParameter(f"{size!r} is no size; write it like 500MB or 20GB", param_hint="size") from error
