"""Policies, consents, kept answers, and what a provider shall do later."""

from datetime import timedelta

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.understanding import AiPolicy, Allowed, Asked, Wanted, Work
from telegram_assistant.stores.postgres.channels import Subscription
from telegram_assistant.stores.postgres.stores import SystemStores
from tests.conftest import Admin
from tests.factories import fresh_number, make_channel, make_tenant

OFF, LOCAL, PROVIDER = AiPolicy.OFF, AiPolicy.LOCAL, AiPolicy.PROVIDER


async def followed(system: SystemStores, *policies: AiPolicy) -> tuple[ChannelId, list[TenantId]]:
    channel_id, tenants = await make_channel(system), []
    for policy in policies:
        tenants.append(await make_tenant(system))
        await system.ai_policies.consent(tenants[-1], given_by="owner")
        await system.channels.subscribe(tenants[-1], Subscription(channel_id=channel_id, ai_policy=policy))
    return channel_id, tenants


@pytest.mark.parametrize(
    ("policies", "public", "private"),
    [((), OFF, OFF), ((OFF, OFF), OFF, OFF), ((OFF, LOCAL), LOCAL, OFF), ((LOCAL, PROVIDER), PROVIDER, LOCAL), ((PROVIDER,), PROVIDER, PROVIDER)],
)
async def test_a_public_channel_goes_by_the_most_generous_and_a_private_one_by_the_strictest(
    system: SystemStores, admin: Admin, policies: tuple[AiPolicy, ...], public: AiPolicy, private: AiPolicy
) -> None:
    channel_id, _ = await followed(system, *policies)
    assert (await system.ai_policies.of_channel(channel_id)).policy is public
    await admin.execute("UPDATE channels SET is_private = true WHERE channel_id = $1", channel_id)
    assert (await system.ai_policies.of_channel(channel_id)).policy is private
    await admin.execute("UPDATE channels SET ai_blocked = true WHERE channel_id = $1", channel_id)
    assert await system.ai_policies.of_channel(channel_id) == Allowed(OFF)


async def test_payers_are_those_who_want_a_provider_and_agreed(system: SystemStores, admin: Admin) -> None:
    channel_id, (one, two, _three, silent) = await followed(system, PROVIDER, PROVIDER, LOCAL, PROVIDER)
    await system.ai_policies.withdraw(silent)
    assert await system.ai_policies.of_channel(channel_id) == Allowed(PROVIDER, (one, two))
    await admin.execute("UPDATE subscriptions SET active = false WHERE tenant_id = $1", one)
    assert await system.ai_policies.of_channel(channel_id) == Allowed(PROVIDER, (two,))


async def test_the_first_answer_is_kept_and_a_refusal_is_an_answer(system: SystemStores) -> None:
    asked = Asked(Work.CHAT, "gigachat", "GigaChat-2", "tagging/1")
    one, two = (fresh_number().to_bytes(32) for _ in range(2))
    await system.ai_results.keep(asked, {one: '{"tags": ["a"]}', two: None})
    await system.ai_results.keep(asked, {one: '{"tags": ["b"]}'})
    assert await system.ai_results.find([one, two, b"unknown"]) == {one: '{"tags": ["a"]}', two: None}


async def test_what_is_wanted_is_given_out_newest_first_once_and_again_when_it_was_not_done(system: SystemStores, admin: Admin) -> None:
    work = f"tags {fresh_number()}"
    wanted = [Wanted(PostId(ChannelId(fresh_number()), MessageId(number)), work) for number in range(3)]
    for one in (*wanted, *wanted):
        await system.provider_wanted.add(one)
    minute = timedelta(minutes=1)
    assert await system.provider_wanted.take(work, limit=2, lease=minute) == (wanted[2], wanted[1])
    assert await system.provider_wanted.take(work, limit=2, lease=minute) == (wanted[0],)
    await system.provider_wanted.done([wanted[2]])
    for _ in range(4):
        await admin.execute("UPDATE provider_wanted SET taken_until = now() - interval '1 s' WHERE work = $1", work)
        assert await system.provider_wanted.take(work, limit=9, lease=minute) == (wanted[1], wanted[0])
    await admin.execute("UPDATE provider_wanted SET taken_until = now() - interval '1 s' WHERE work = $1", work)
    assert await system.provider_wanted.take(work, limit=9, lease=minute) == ()
