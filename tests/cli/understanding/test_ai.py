import asyncio
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from typer.testing import CliRunner, Result

from telegram_assistant.cli import app
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.understanding.policy import AiPolicy, ModelTask
from telegram_assistant.domain.understanding.spending import Amount, CallOutcome, ProviderCall, Tokens
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import fresh_number, make_channel, make_subscription


async def tell(runner: CliRunner, words: list[str]) -> Result:
    """In a thread: a command has a loop of its own."""
    return await asyncio.to_thread(runner.invoke, app, words)


async def make_named_tenant(system: SystemStores) -> tuple[str, TenantId]:
    name = f"desk {fresh_number()}"
    return name, (await system.tenants.ensure(name)).tenant_id


async def test_a_budget_is_set_and_shown_in_whole_money(runner: CliRunner, system: SystemStores) -> None:
    name, tenant_id = await make_named_tenant(system)
    result = await tell(runner, ["ai", "budget", "--tenant", name, "--money", "12.50", "--tokens", "90000"])
    assert result.exit_code == 0, result.output
    budget = next(budget for budget in await system.spending.budgets() if budget.tenant_id == tenant_id)
    assert (budget.micro, budget.tokens) == (12_500_000, 90_000)
    assert "12.5000" in (await tell(runner, ["ai", "budget"])).output
    for wrong in ("much", "-1", "1e999", "0.0000001"):
        assert (
            "is not a valid amount"
            in (await tell(runner, ["ai", "budget", "--tenant", name, "--money", wrong])).output
        )
    assert (
        "there is no tenant"
        in (await tell(runner, ["ai", "budget", "--tenant", "nobody", "--money", "1"])).output
    )


async def test_consent_is_recorded_with_who_gave_it_and_withdrawn(
    runner: CliRunner, system: SystemStores
) -> None:
    name, tenant_id = await make_named_tenant(system)
    result = await tell(runner, ["ai", "consent", "--tenant", name, "--by", "the owner"])
    assert "Recorded" in result.output
    assert [
        consent.given_by for consent in await system.ai_policies.consents() if consent.tenant_id == tenant_id
    ] == ["the owner"]
    assert (
        "The consent is withdrawn"
        in (await tell(runner, ["ai", "consent", "--tenant", name, "--withdraw"])).output
    )
    assert (
        "There was no consent"
        in (await tell(runner, ["ai", "consent", "--tenant", name, "--withdraw"])).output
    )
    assert [
        consent for consent in await system.ai_policies.consents() if consent.tenant_id == tenant_id
    ] == []


async def test_policies_are_chosen_for_a_channel_and_for_channels_to_come(
    runner: CliRunner, system: SystemStores
) -> None:
    name, tenant_id = await make_named_tenant(system)
    channel_id = await make_channel(system)
    await system.channels.subscribe(tenant_id, make_subscription(channel_id))
    assert (
        "may go to a provider only after"
        in (await tell(runner, ["ai", "policy", "provider", "--tenant", name])).output
    )
    assert (
        "off"
        in (
            await tell(runner, ["ai", "policy", "off", "--channel", str(channel_id), "--tenant", name])
        ).output
    )
    output = (await tell(runner, ["ai", "policy", "--tenant", name])).output
    assert "new channels" in output
    assert f"Channel {channel_id}" in output
    assert (await system.ai_policies.of_channel(channel_id)).policy is AiPolicy.OFF


async def test_usage_is_shown_by_tenant_and_model(runner: CliRunner, system: SystemStores) -> None:
    name, tenant_id = await make_named_tenant(system)
    assert "No provider was called" in (await tell(runner, ["ai", "usage", "--tenant", name])).output
    await system.spending.set_budget(tenant_id, micro=10_000_000, tokens=None)
    call = ProviderCall(uuid4(), ModelTask.CHAT, "tagging", "gigachat", "GigaChat-2")
    await system.spending.reserve(call, Amount(5_000_000, 100), [tenant_id], lifetime=timedelta(minutes=1))
    await system.spending.settle(call, CallOutcome("ok", Amount(1_234_500, 77), Tokens(70, 7), 5))
    output = (await tell(runner, ["ai", "usage", "--tenant", name])).output
    for expected in ("GigaChat-2", "tagging", "77", "1.2345", "RUB"):
        assert expected in output


def test_status_tells_how_each_provider_is(runner: CliRunner) -> None:
    assert "No provider is configured" in runner.invoke(app, ["ai", "status"]).output
    output = runner.invoke(app, ["ai", "status"], env={"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}).output
    assert "openai" in output
    assert "wait for a provider" in output


def test_models_are_listed_and_a_missing_hub_is_said_in_words(runner: CliRunner, tmp_path: Path) -> None:
    environ = {"MODELS_DIR": str(tmp_path / "models"), "MODELS_HUB_URL": "http://127.0.0.1:1"}
    assert "Download one: tga models pull" in runner.invoke(app, ["models", "list"], env=environ).output
    result = runner.invoke(app, ["models", "pull"], env=environ)
    assert result.exit_code == 1
    assert "cannot be downloaded" in result.output + result.stderr
