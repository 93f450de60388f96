"""`tga ai`: who may send texts to a provider, what that may cost, what it did cost, and how the providers are."""

import getpass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Annotated

import typer
from rich.table import Table

from telegram_assistant.ai.prices import Prices, read_prices
from telegram_assistant.ai.providers import configured
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.environment import console
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.spending import MILLION
from telegram_assistant.errors import Rejected
from telegram_assistant.stores.redis.ai_streams import AiStreams

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Providers: status, usage, budgets, consent.")

MOST_MICRO = 10**15
"""A thousand million units: more is a slip of the finger."""

TenantName = Annotated[str, typer.Option("--tenant", help="Whose.")]


@app.command()
def status() -> None:
    """Each provider: how many calls it serves, how many wait, whether it is left alone; and what waits for later."""

    async def look(assembled: App) -> None:
        table = Table("provider", "speaking", "waiting", "left alone", pad_edge=False)
        streams = AiStreams(assembled.redis)
        for name in configured(assembled.settings):
            use = await streams.use(name)
            table.add_row(name, str(use.speaking), str(use.waiting), f"{use.paused_seconds:.0f} s: {use.why}" if use.paused_seconds else "–")
        if table.row_count:
            console.print(table)
        else:
            console.print("No provider is configured: posts are understood on this machine. See GIGACHAT_CREDENTIALS and OPENAI_BASE_URL.")
        console.print(f"{await assembled.system.provider_wanted.waiting()} results wait to be improved by a provider.")

    with_app(look)


@app.command()
def usage(
    tenant: Annotated[str | None, typer.Option(help="Only of this tenant.")] = None,
    days: Annotated[int, typer.Option(min=1, max=3660, help="So many days back.")] = 30,
) -> None:
    """What was paid, by day, tenant and model."""

    async def look(assembled: App) -> Table:
        tenant_id = None if tenant is None else await _tenant(assembled, tenant)
        lines = await assembled.system.spending.usage(datetime.now(UTC) - timedelta(days=days), tenant_id=tenant_id)
        prices = _prices(assembled)
        table = Table("day", "tenant", "provider", "model", "for", "outcome", "calls", "tokens", prices.unit, pad_edge=False)
        for line in lines:
            counts = (f"{line.calls:,}", f"{line.tokens:,}", _money(line.micro))
            table.add_row(f"{line.day}", str(line.tenant_id), line.provider, line.model, line.purpose, line.status, *counts)
        return table

    table = with_app(look)
    console.print(table if table.row_count else f"No provider was asked in the last {days} days.")


@app.command()
def budget(
    tenant: TenantName = "default",
    money: Annotated[str | None, typer.Option(help="What it may spend each month, like 500 or 12.50.")] = None,
    tokens: Annotated[int | None, typer.Option(min=0, help="How many tokens it may use each month. Without it: no limit on tokens.")] = None,
) -> None:
    """Show what each tenant may spend in a month and has spent, or set it for one with --money."""

    async def work(assembled: App) -> Table:
        if money is not None:
            await assembled.system.spending.set_budget(await _tenant(assembled, tenant), micro=_micro(money), tokens=tokens)
        prices = _prices(assembled)
        table = Table("tenant", "month", f"spent, {prices.unit}", f"of, {prices.unit}", "tokens", "of", pad_edge=False)
        for one in await assembled.system.spending.budgets():
            limit = "–" if one.tokens is None else f"{one.tokens:,}"
            table.add_row(str(one.tenant_id), f"{one.month:%Y-%m}", _money(one.used_micro), _money(one.micro), f"{one.used_tokens:,}", limit)
        return table

    table = with_app(work)
    console.print(table if table.row_count else "No tenant has a budget, so nothing is paid for. Set one: tga ai budget --tenant default --money 500")


@app.command()
def consent(
    tenant: TenantName = "default",
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take it back: from now on nothing is sent for this tenant.")] = False,
    by: Annotated[str, typer.Option(help="Who says so; kept on record.")] = "",
) -> None:
    """Record that texts of this tenant's channels may be sent to a provider, where a subscription says `--ai provider`."""

    async def work(assembled: App) -> str:
        tenant_id = await _tenant(assembled, tenant)
        policies = assembled.system.ai_policies
        if withdraw:
            return "Withdrawn." if await policies.withdraw(tenant_id) else "There was none."
        await policies.consent(tenant_id, given_by=by or getpass.getuser())
        receivers = ", ".join(configured(assembled.settings)) or "nobody, as none is configured"
        return f"Recorded. Texts of {tenant}'s channels with the policy `provider` may now be sent to: {receivers}."

    console.print(with_app(work))


async def _tenant(assembled: App, name: str) -> TenantId:
    known = await assembled.system.tenants.by_name(name)
    if known is None:
        raise Rejected(f"there is no tenant {name!r}")
    return known.tenant_id


def _prices(assembled: App) -> Prices:
    return read_prices(assembled.settings.ai.prices)


def _money(micro: int) -> str:
    return f"{Decimal(micro) / MILLION:,.4f}"


def _micro(money: str) -> int:
    try:
        micro = Decimal(money) * MILLION
    except InvalidOperation as error:
        raise Rejected(f"{money!r} is no amount; write it like 500 or 12.50") from error
    if not micro.is_finite() or not 0 <= micro <= MOST_MICRO or micro != int(micro):
        raise Rejected(f"{money!r} is no amount; write it like 500 or 12.50")
    return int(micro)
