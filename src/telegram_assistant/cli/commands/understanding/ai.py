"""`tga ai`: status of AI providers, usage, budgets, policies and consent."""

import getpass
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.ai.prices import read_prices
from telegram_assistant.ai.providers import configured
from telegram_assistant.api.endpoints.tenants.tenants import TenantResponse, TenantsResponse
from telegram_assistant.api.endpoints.understanding.ai_policies import list_policies
from telegram_assistant.api.endpoints.understanding.spending import get_usage
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_change
from telegram_assistant.cli.commands.tenants.tenants import all_tenants, print_budgets, set_budget
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import ALL, context_for, print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson, print_json
from telegram_assistant.cli.response_models import (
    ProviderResponse,
    ProvidersResponse,
    TenantUsageLineResponse,
    TenantUsageResponse,
)
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.features.channels.channels import pick
from telegram_assistant.features.understanding import ai_policies
from telegram_assistant.features.understanding.spending import money_of
from telegram_assistant.stores.redis.ai_streams import AiStreams

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="AI providers: status, usage, budgets, policies, consent.",
)

TenantName = Annotated[str, typer.Option("--tenant", help="Name of the tenant.")]


@app.command()
def status(as_json: AsJson = False) -> None:
    """Show each provider: running calls, waiting calls, and pauses;
    and the number of results that wait for a provider.
    """

    async def look(assembled: App) -> ProvidersResponse:
        streams, items = AiStreams(assembled.redis), []
        for name in configured(assembled.settings):
            use = await streams.use(name)
            why = use.why if use.paused_seconds else ""
            provider = ProviderResponse(
                provider=name,
                speaking=use.speaking,
                waiting=use.waiting,
                paused_seconds=use.paused_seconds,
                paused_reason=why,
            )
            items.append(provider)
        return ProvidersResponse(
            items=items, results_waiting=await assembled.system.provider_wanted.waiting()
        )

    providers = with_app(look)
    if as_json:
        print_json(providers)
        return
    table = Table("provider", "running", "waiting", "paused for", pad_edge=False)
    for provider in providers.items:
        paused = (
            f"{provider.paused_seconds:.0f} s: {provider.paused_reason}" if provider.paused_seconds else "–"
        )
        table.add_row(provider.provider, str(provider.speaking), str(provider.waiting), paused)
    nothing = (
        "No provider is configured: posts are analysed on this machine. "
        "See GIGACHAT_CREDENTIALS and OPENAI_BASE_URL."
    )
    console.print(table if providers.items else nothing)
    console.print(f"{providers.results_waiting} results wait for a provider to improve them.")


@app.command()
def usage(
    tenant: Annotated[str | None, typer.Option(help="Only usage of this tenant.")] = None,
    days: Annotated[int, typer.Option(min=1, max=3660, help="How many days back to look.")] = 30,
    as_json: AsJson = False,
) -> None:
    """Show calls, tokens and cost by day, tenant and model."""
    if as_json and tenant is not None:
        print_endpoint(lambda ask: get_usage(ask, days), tenant=tenant)
        return

    async def look(assembled: App) -> TenantUsageResponse:
        tenant_id = None if tenant is None else (await tenant_named(assembled, tenant)).tenant_id
        lines = await assembled.system.spending.usage(
            datetime.now(UTC) - timedelta(days=days), tenant_id=tenant_id
        )
        names = {tenant.tenant_id: tenant.name for tenant in await assembled.system.tenants.all()}
        items = [
            TenantUsageLineResponse.model_validate({**asdict(line), "tenant_name": names[line.tenant_id]})
            for line in lines
        ]
        return TenantUsageResponse(items=items, unit=read_prices(assembled.settings.ai.prices).unit)

    usage_report = with_app(look)
    if as_json:
        print_json(usage_report)
        return
    table = Table(
        "day",
        "tenant",
        "provider",
        "model",
        "for",
        "outcome",
        "calls",
        "tokens",
        usage_report.unit,
        pad_edge=False,
    )
    for line in usage_report.items:
        counts = (f"{line.calls:,}", f"{line.tokens:,}", money_of(line.micro))
        table.add_row(
            f"{line.day}",
            escape(line.tenant_name),
            line.provider,
            line.model,
            line.purpose,
            line.status,
            *counts,
        )
    console.print(table if usage_report.items else f"No provider was called in the last {days} days.")


@app.command()
def budget(
    tenant: TenantName = "default",
    money: Annotated[str | None, typer.Option(help="Monthly budget in money, like 500 or 12.50.")] = None,
    tokens: Annotated[
        int | None, typer.Option(min=0, help="Monthly budget in tokens. Without it: no limit on tokens.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the monthly budgets of all tenants and their use, or set the budget of one tenant with --money."""

    async def work(assembled: App) -> tuple[TenantResponse, ...]:
        if money is not None:
            await set_budget(assembled, tenant, money, tokens)
        return await all_tenants(assembled)

    responses = with_app(work)
    if as_json:
        print_json(
            TenantsResponse(
                items=[response for response in responses if response.budget is not None], next=None
            )
        )
    else:
        print_budgets(responses)


@app.command()
def consent(
    tenant: TenantName = "default",
    withdraw: Annotated[
        bool,
        typer.Option("--withdraw", help="Withdraw the consent: from now on nothing is sent for this tenant."),
    ] = False,
    by: Annotated[
        str, typer.Option(help="Person who gives the consent, for the record. Default: your user name.")
    ] = "",
) -> None:
    """Record a tenant's consent to send texts of its channels with the policy `provider` to a provider."""

    async def work(assembled: App) -> str:
        known = await tenant_named(assembled, tenant)
        stores = assembled.tenant(known.tenant_id)
        if withdraw:
            if not await ai_policies.withdraw_consent(stores=stores):
                return "There was no consent."
            await record_change(assembled, known.tenant_id, "withdraw_consent", "/ai/consent")
            return "The consent is withdrawn."
        await ai_policies.consent(by=by or getpass.getuser(), stores=stores)
        await record_change(
            assembled, known.tenant_id, "give_consent", "/ai/consent", by=by or getpass.getuser()
        )
        receivers = ", ".join(configured(assembled.settings)) or "none, because no provider is configured"
        return (
            f"Recorded. Texts of {tenant}'s channels with the policy `provider` may now be sent to: "
            f"{receivers}."
        )

    console.print(with_app(work))


@app.command()
def policy(
    chosen: Annotated[
        AiPolicy | None, typer.Argument(help="off, local or provider. Without it, show the policies.")
    ] = None,
    channel: Annotated[
        str | None,
        typer.Option(
            help="The channel: its id, @name or title. Without it, the policy applies to channels that are "
            "followed from now on."
        ),
    ] = None,
    tenant: TenantName = "default",
    as_json: AsJson = False,
) -> None:
    """Show or set what may analyse the posts of a tenant's channels."""

    async def work(assembled: App) -> Table | None:
        known = await tenant_named(assembled, tenant)
        stores = assembled.tenant(known.tenant_id)
        if chosen is not None and channel is not None:
            channel_id = pick(await stores.followed.channels(), channel).channel_id
            await ai_policies.choose_policy([channel_id], chosen, stores=stores)
            await record_change(
                assembled,
                known.tenant_id,
                "choose_policies",
                "/ai/policies",
                channel_ids=[channel_id],
                policy=chosen,
            )
        elif chosen is not None:
            await ai_policies.choose_default(chosen, stores=stores)
            await record_change(
                assembled, known.tenant_id, "choose_default_policy", "/ai/default", policy=chosen
            )
        if as_json:
            print_json(await list_policies(await context_for(assembled, tenant), limit=ALL))
            return None
        table = Table("channel", "chosen", "in force", pad_edge=False)
        table.add_row("new channels", (await ai_policies.stance(stores=stores)).default, "")
        for policy in (await ai_policies.policies(stores=stores)).policies:
            table.add_row(escape(policy.channel.title), policy.channel.chosen, policy.in_force)
        return table

    table = with_app(work)
    if table is not None:
        console.print(table)
