"""Policies, consents, kept answers, and what a provider shall do later."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.understanding.policy import (
    AiPolicy,
    Allowed,
    ModelTask,
    PendingImprovement,
    ProviderRequest,
)
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.stores.postgres.understanding.provider_wanted import HOLDS_UP, MAX_ATTEMPTS
from testkit.factories import fresh_number, make_channel, make_page, make_post, make_tenant
from tests.conftest import Admin

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
OFF, LOCAL, PROVIDER = AiPolicy.OFF, AiPolicy.LOCAL, AiPolicy.PROVIDER


async def follow_channel(system: SystemStores, *policies: AiPolicy) -> tuple[ChannelId, list[TenantId]]:
    channel_id, tenants = await make_channel(system), []
    for policy in policies:
        tenants.append(await make_tenant(system))
        await system.ai_policies.consent(tenants[-1], given_by="owner")
        await system.channels.subscribe(tenants[-1], Subscription(channel_id=channel_id, ai_policy=policy))
    return channel_id, tenants


@pytest.mark.parametrize(
    ("policies", "public", "private"),
    [
        ((), OFF, OFF),
        ((OFF, OFF), OFF, OFF),
        ((OFF, LOCAL), LOCAL, OFF),
        ((LOCAL, PROVIDER), PROVIDER, LOCAL),
        ((PROVIDER,), PROVIDER, PROVIDER),
    ],
)
async def test_a_public_channel_goes_by_the_most_generous_and_a_private_one_by_the_strictest(
    system: SystemStores, admin: Admin, policies: tuple[AiPolicy, ...], public: AiPolicy, private: AiPolicy
) -> None:
    channel_id, _ = await follow_channel(system, *policies)
    assert (await system.ai_policies.of_channel(channel_id)).policy is public
    await admin.execute("UPDATE channels SET is_private = true WHERE channel_id = $1", channel_id)
    assert (await system.ai_policies.of_channel(channel_id)).policy is private
    await admin.execute("UPDATE channels SET ai_blocked = true WHERE channel_id = $1", channel_id)
    assert await system.ai_policies.of_channel(channel_id) == Allowed(OFF)


async def test_payers_are_those_who_want_a_provider_and_agreed(system: SystemStores, admin: Admin) -> None:
    channel_id, (first, second, _third, silent) = await follow_channel(
        system, PROVIDER, PROVIDER, LOCAL, PROVIDER
    )
    await system.ai_policies.withdraw(silent)
    assert await system.ai_policies.of_channel(channel_id) == Allowed(PROVIDER, (first, second))
    await admin.execute("UPDATE subscriptions SET active = false WHERE tenant_id = $1", first)
    assert await system.ai_policies.of_channel(channel_id) == Allowed(PROVIDER, (second,))


async def test_the_first_answer_is_kept_and_a_refusal_is_an_answer(system: SystemStores) -> None:
    request = ProviderRequest(ModelTask.CHAT, "gigachat", "GigaChat-2", "tagging/1")
    first, second = (fresh_number().to_bytes(32) for _ in range(2))
    await system.ai_results.keep(request, {first: '{"tags": ["a"]}', second: None})
    await system.ai_results.keep(request, {first: '{"tags": ["b"]}'})
    assert await system.ai_results.find([first, second, b"unknown"]) == {
        first: '{"tags": ["a"]}',
        second: None,
    }


async def store_pending(system: SystemStores, *ages: timedelta, work: str) -> list[PendingImprovement]:
    """Stored posts of these ages that a provider shall improve."""
    channel_id, now = await make_channel(system), datetime.now(UTC)
    posts = [
        make_post(channel_id=channel_id, message_id=number, posted_at=now - age)
        for number, age in enumerate(ages, start=1)
    ]
    await system.landing.land(make_page(*posts), Claim(channel_id, 0))
    wanted = [PendingImprovement(post.id, work) for post in posts]
    await system.provider_wanted.add(*wanted)
    return wanted


async def test_what_is_wanted_is_given_out_newest_first_once_and_again_when_it_was_not_done(
    system: SystemStores, admin: Admin
) -> None:
    work = f"tags {fresh_number()}"
    old, middle, new = await store_pending(system, 3 * HOUR, 2 * HOUR, HOUR, work=work)
    await system.provider_wanted.add(new, old, middle)
    assert await system.provider_wanted.take(work, limit=2, lease=MINUTE) == (new, middle)
    assert await system.provider_wanted.take(work, limit=2, lease=MINUTE) == (old,)
    await system.provider_wanted.finish([new])
    for _ in range(MAX_ATTEMPTS - 1):
        await admin.execute(
            "UPDATE provider_wanted SET taken_until = now() - interval '1 s' WHERE work = $1", work
        )
        assert await system.provider_wanted.take(work, limit=9, lease=MINUTE) == (middle, old)
    await admin.execute(
        "UPDATE provider_wanted SET taken_until = now() - interval '1 s' WHERE work = $1", work
    )
    assert await system.provider_wanted.take(work, limit=9, lease=MINUTE) == ()


async def test_history_waits_for_news_in_whoever_s_hands_they_are(system: SystemStores) -> None:
    store, work = system.provider_wanted, f"tags {fresh_number()}"
    history, news, newest = await store_pending(system, 30 * HOUR, 2 * HOUR, HOUR, work=work)
    assert await store.take(work, limit=1, lease=MINUTE) == (newest,)
    assert await store.take(work, limit=9, lease=MINUTE) == (news,)
    assert await store.take(work, limit=9, lease=MINUTE) == ()
    await store.finish([newest])
    assert await store.take(work, limit=9, lease=MINUTE) == ()
    await store.put_back([news], pause=MINUTE)  # the provider is away
    assert await store.take(work, limit=9, lease=MINUTE) == ()
    await store.finish([news])
    assert await store.take(work, limit=9, lease=MINUTE) == (history,)


async def test_history_does_not_wait_for_news_that_are_set_aside_or_fail_again_and_again(
    system: SystemStores, admin: Admin
) -> None:
    store, work = system.provider_wanted, f"tags {fresh_number()}"
    poor, broken, history = await store_pending(system, HOUR, 2 * HOUR, 30 * HOUR, work=work)
    for _ in range(HOLDS_UP):
        assert await store.take(work, limit=9, lease=MINUTE) == (poor, broken)
        await store.put_back([poor], pause=timedelta(), is_set_aside=True)
        await store.put_back([broken], pause=MINUTE, was_tried=True)
        await admin.execute(
            "UPDATE provider_wanted SET taken_until = now() - interval '1 s' WHERE work = $1", work
        )
    assert await store.take(work, limit=1, lease=MINUTE) == (poor,)
    await store.put_back([poor], pause=MINUTE, is_set_aside=True)
    assert await store.take(work, limit=9, lease=MINUTE) == (broken, history)


async def test_many_that_take_at_once_get_all_news_before_any_history_and_nothing_twice(
    system: SystemStores,
) -> None:
    store, work, given = system.provider_wanted, f"tags {fresh_number()}", list[PendingImprovement]()
    wanted = await store_pending(
        system,
        *[number * timedelta(minutes=1) for number in range(60)],
        *[(30 + number) * HOUR for number in range(40)],
        work=work,
    )

    async def work_off() -> None:
        while len(given) < len(wanted):
            taken = await store.take(work, limit=3, lease=MINUTE)
            given.extend(taken)
            await asyncio.sleep(0)
            await store.finish(taken)

    async with asyncio.timeout(60):
        await asyncio.gather(*(work_off() for _ in range(8)))
    assert set(given[:60]) == set(wanted[:60])
    assert sorted(given, key=lambda task: task.post_id) == wanted
