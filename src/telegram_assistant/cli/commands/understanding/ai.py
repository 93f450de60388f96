"""`tga ai`: status of AI providers, usage, budgets, policies and consent."""

import getpass
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.ai.providers import list_configured
from telegram_assistant.api.endpoints.tenants.tenants import TenantResponse, TenantsResponse
from telegram_assistant.api.endpoints.understanding.ai_policies import (
    AiDefaultsResponse,
    PoliciesResponse,
    get_understanding,
    list_policies,
)
from telegram_assistant.api.endpoints.understanding.spending import UsageLineResponse, get_usage
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_change
from telegram_assistant.cli.commands.tenants.tenants import all_tenants, print_budgets, set_budget
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import MAX_ITEMS, context_for, show_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson, show_value
from telegram_assistant.cli.response_models import (
    ProviderResponse,
    ProvidersResponse,
    TenantUsageLineResponse,
    TenantUsageResponse,
)
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.features.channels.channels import find_followed
from telegram_assistant.features.understanding import ai_policies
from telegram_assistant.features.understanding.providers import read_status
from telegram_assistant.features.understanding.spending import money_of, usage_of_tenants
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
        providers_status = await read_status(
            settings=assembled.settings,
            streams=AiStreams(assembled.redis),
            provider_wanted=assembled.system.provider_wanted,
        )
        return ProvidersResponse(
            items=[
                ProviderResponse(
                    provider=name,
                    speaking=use.speaking,
                    waiting=use.waiting,
                    paused_seconds=use.paused_seconds,
                    paused_reason=use.why if use.paused_seconds else "",
                )
                for name, use in providers_status.providers.items()
            ],
            results_waiting=providers_status.results_waiting,
        )

    show_value(with_app(look), _print_status, as_json=as_json)


def _print_status(providers: ProvidersResponse) -> None:
    table = Table("provider", "running", "waiting", "paused for", pad_edge=False)
    for provider in providers.items:
        paused_text = (
            f"{provider.paused_seconds:.0f} s: {provider.paused_reason}" if provider.paused_seconds else "–"
        )
        table.add_row(provider.provider, str(provider.speaking), str(provider.waiting), paused_text)
    empty_text = (
        "No provider is configured: posts are analysed on this machine. "
        "See GIGACHAT_CREDENTIALS and OPENAI_BASE_URL."
    )
    console.print(table if providers.items else empty_text)
    console.print(f"{providers.results_waiting} results wait for a provider to improve them.")


@app.command()
def usage(
    tenant: Annotated[str | None, typer.Option(help="Only usage of this tenant.")] = None,
    days: Annotated[int, typer.Option(min=1, max=3660, help="How many days back to look.")] = 30,
    as_json: AsJson = False,
) -> None:
    """Show calls, tokens and cost by day, tenant and model."""
    if tenant is not None:
        show_endpoint(
            lambda context: get_usage(context, days),
            lambda spent: _print_usage([(tenant, line) for line in spent.items], spent.unit, days),
            as_json=as_json,
            tenant=tenant,
        )
        return

    async def look(assembled: App) -> TenantUsageResponse:
        spent = await usage_of_tenants(
            datetime.now(UTC) - timedelta(days=days),
            spending=assembled.system.spending,
            tenants=assembled.system.tenants,
            prices=assembled.settings.ai.prices,
        )
        items = [
            TenantUsageLineResponse.model_validate({**asdict(line), "tenant_name": name})
            for name, line in spent.lines
        ]
        return TenantUsageResponse(items=items, unit=spent.unit)

    show_value(
        with_app(look),
        lambda spent: _print_usage([(line.tenant_name, line) for line in spent.items], spent.unit, days),
        as_json=as_json,
    )


def _print_usage(lines: Sequence[tuple[str, UsageLineResponse]], unit: str, days: int) -> None:
    columns = ("day", "tenant", "provider", "model", "for", "outcome", "calls", "tokens", unit)
    table = Table(*columns, pad_edge=False)
    for tenant_name, line in lines:
        counts = (f"{line.calls:,}", f"{line.tokens:,}", money_of(line.micro))
        table.add_row(
            f"{line.day}",
            escape(tenant_name),
            line.provider,
            line.model,
            line.purpose,
            line.status,
            *counts,
        )
    console.print(table if lines else f"No provider was called in the last {days} days.")


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

    with_budget = [response for response in with_app(work) if response.budget is not None]
    show_value(
        TenantsResponse(items=with_budget, next=None),
        lambda tenants: print_budgets(tenants.items),
        as_json=as_json,
    )


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
        chosen_tenant = await tenant_named(assembled, tenant)
        stores = assembled.tenant(chosen_tenant.tenant_id)
        if withdraw:
            if not await ai_policies.withdraw_consent(stores=stores):
                return "There was no consent."
            await record_change(assembled, chosen_tenant.tenant_id, "withdraw_consent", "/ai/consent")
            return "The consent is withdrawn."
        await ai_policies.consent(by=by or getpass.getuser(), stores=stores)
        await record_change(
            assembled, chosen_tenant.tenant_id, "give_consent", "/ai/consent", by=by or getpass.getuser()
        )
        receivers = (
            ", ".join(list_configured(assembled.settings)) or "none, because no provider is configured"
        )
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

    async def work(assembled: App) -> tuple[PoliciesResponse, AiDefaultsResponse]:
        chosen_tenant = await tenant_named(assembled, tenant)
        stores = assembled.tenant(chosen_tenant.tenant_id)
        if chosen is not None and channel is not None:
            channel_id = (await find_followed(channel, followed=stores.followed)).channel_id
            await ai_policies.choose_policy([channel_id], chosen, stores=stores)
            await record_change(
                assembled,
                chosen_tenant.tenant_id,
                "choose_policies",
                "/ai/policies",
                channel_ids=[channel_id],
                policy=chosen,
            )
        elif chosen is not None:
            await ai_policies.choose_default(chosen, stores=stores)
            await record_change(
                assembled, chosen_tenant.tenant_id, "choose_default_policy", "/ai/default", policy=chosen
            )
        context = await context_for(assembled, tenant)
        return await list_policies(context, limit=MAX_ITEMS), await get_understanding(context)

    policies, defaults = with_app(work)
    show_value(policies, partial(_print_policies, defaults=defaults), as_json=as_json)


def _print_policies(policies: PoliciesResponse, *, defaults: AiDefaultsResponse) -> None:
    table = Table("channel", "chosen", "in force", pad_edge=False)
    table.add_row("new channels", defaults.default, "")
    for policy in policies.items:
        table.add_row(escape(policy.title), policy.chosen, policy.in_force)
    console.print(table)
