from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from telegram_assistant.domain.understanding.policy import AiPolicy, ModelTask
from telegram_assistant.domain.understanding.spending import Amount, CallOutcome, ProviderCall, Tokens
from telegram_assistant.errors import Conflicting, Missing
from telegram_assistant.features.understanding import ai_policies, spending
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import World, fresh_number, make_channel, make_subscription
from tests.conftest import Admin


async def in_force(world: World) -> dict[int, AiPolicy]:
    return {
        policy.channel.channel_id: policy.in_force
        for policy in (await ai_policies.policies(stores=world.stores_a)).policies
    }


async def test_a_provider_needs_an_owners_consent_and_goes_with_it(world: World, admin: Admin) -> None:
    first, second = world.only_a
    with pytest.raises(Conflicting, match="consent"):
        await ai_policies.choose_policy([first], AiPolicy.PROVIDER, stores=world.stores_a)
    with pytest.raises(Conflicting, match="consent"):
        await ai_policies.choose_default(AiPolicy.PROVIDER, stores=world.stores_a)
    stance = await ai_policies.consent(by="anna", stores=world.stores_a)
    assert stance.consent is not None
    assert stance.consent.given_by == "anna"
    await ai_policies.choose_policy([first, second], AiPolicy.PROVIDER, stores=world.stores_a)
    await admin.execute("UPDATE channels SET ai_blocked = true WHERE channel_id = $1", second)
    policies = await in_force(world)
    assert (policies[first], policies[second], policies[world.shared[0]]) == (
        AiPolicy.PROVIDER,
        AiPolicy.OFF,
        AiPolicy.LOCAL,
    )
    assert await ai_policies.withdraw_consent(stores=world.stores_a)
    assert not await ai_policies.withdraw_consent(stores=world.stores_a)
    assert (await in_force(world))[first] is AiPolicy.LOCAL


async def test_one_foreign_channel_changes_nothing_for_the_others(world: World) -> None:
    with pytest.raises(Missing):
        await ai_policies.choose_policy(
            [world.only_a[0], world.only_b[0]], AiPolicy.OFF, stores=world.stores_a
        )
    assert set((await in_force(world)).values()) == {AiPolicy.LOCAL}


async def test_channels_to_come_are_understood_as_the_tenant_has_chosen(
    system: SystemStores, world: World
) -> None:
    assert (await ai_policies.stance(stores=world.stores_a)).default is AiPolicy.LOCAL
    assert (await ai_policies.choose_default(AiPolicy.OFF, stores=world.stores_a)).default is AiPolicy.OFF
    unsaid, chosen = await make_channel(system), await make_channel(system)
    await system.channels.subscribe(world.a, make_subscription(unsaid))
    await system.channels.subscribe(world.a, make_subscription(chosen, ai_policy=AiPolicy.LOCAL))
    await system.channels.subscribe(world.b, make_subscription(unsaid))
    policies = await in_force(world)
    assert (policies[unsaid], policies[chosen]) == (AiPolicy.OFF, AiPolicy.LOCAL)
    await system.channels.subscribe(
        world.a, make_subscription(chosen)
    )  # asked for again without a word: it stays
    assert (await in_force(world))[chosen] is AiPolicy.LOCAL
    assert [
        policy.chosen for policy in await world.stores_b.ai.policies() if policy.channel_id == unsaid
    ] == [AiPolicy.LOCAL]


async def test_pages_of_policies_hold_every_channel_once(world: World) -> None:
    seen, place = [], None
    while True:
        page = await ai_policies.policies(stores=world.stores_a, limit=1, after=place)
        seen += [policy.channel.channel_id for policy in page.policies]
        place = page.next
        if place is None:
            break
    assert seen == sorted(world.of_a)


async def test_a_tenant_sees_its_own_share_of_what_was_spent(system: SystemStores, world: World) -> None:
    assert (await spending.budget(stores=world.stores_a, prices=None)).budget is None
    names = {world.a: f"a {fresh_number()}", world.b: f"b {fresh_number()}"}
    for tenant_id in names:
        await system.spending.set_budget(tenant_id, micro=1_000_000, tokens=None)
    call = ProviderCall(uuid4(), ModelTask.CHAT, "tagging", "gigachat", "GigaChat-2")
    await system.spending.reserve(call, Amount(900, 90), [world.a, world.b], lifetime=timedelta(minutes=1))
    await system.spending.settle(call, CallOutcome("ok", Amount(700, 70), Tokens(60, 10), 5))
    since = datetime.now(UTC) - timedelta(days=1)
    for stores in (world.stores_a, world.stores_b):
        spent = await spending.usage(since, stores=stores, prices=None)
        assert (spent.calls, spent.micro, spent.tokens, spent.unit) == (1, 350, 35, "RUB")
        status = await spending.budget(stores=stores, prices=None)
        assert status.budget is not None
        assert (status.budget.micro, status.budget.used_micro) == (1_000_000, 350)
    assert (await spending.usage(since, stores=world.stores_nobody, prices=None)).lines == ()
