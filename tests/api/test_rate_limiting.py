"""How often a key, a tenant and an address may ask."""

import asyncio
import time
from dataclasses import replace
from ipaddress import IPv6Address

import httpx
import pytest
from pydantic import SecretStr

from telegram_assistant.api.rate_limiting import FAILED_KEYS_AT_ONCE
from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import new_key
from telegram_assistant.settings import RedisSettings, Settings
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.stores.redis.client import connect_to
from telegram_assistant.stores.redis.limiter import REFUSALS_PER_SECOND, Limiter
from telegram_assistant.stores.redis.rate_limits import Bucket, BucketOwner, RateLimits
from testkit.api_clients import create_key_header, fresh_address, make_client, open_app_and_client, problem_of
from testkit.factories import make_tenant


def of_key(name: str, burst: int = 2) -> Bucket:
    return Bucket(BucketOwner.KEY, name, 60, burst)


def of_tenant(name: str, burst: int = 2) -> Bucket:
    return Bucket(BucketOwner.TENANT, name, 60, burst)


def limit_of(answer: httpx.Response) -> tuple[str, str, str]:
    return (
        answer.headers["ratelimit-name"],
        answer.headers["ratelimit-limit"],
        answer.headers["ratelimit-remaining"],
    )


@pytest.mark.turns("API_REQUESTS_PER_MINUTE")
@pytest.mark.turns("API_REQUESTS_AT_ONCE")
async def test_who_asks_too_often_is_told_when_to_come_back_by_all_processes(
    installation: Settings, tenant_id: TenantId
) -> None:
    async with (
        open_app_and_client(installation, per_minute=60, burst=3) as (app, client),
        make_client(app) as elsewhere,
    ):
        key, other = await create_key_header(app, tenant_id), await create_key_header(app, tenant_id)
        for left, process in ((2, client), (1, elsewhere), (0, client)):
            answer = await process.get("/api/v1/me", headers=key)
            assert (answer.status_code, limit_of(answer)) == (200, ("key", "3", str(left)))
        refused = await elsewhere.get("/api/v1/me", headers=key)
        assert problem_of(refused) == (
            429,
            "This key has sent too many requests. Wait for the time in `Retry-After`.",
        )
        assert (refused.headers["retry-after"], limit_of(refused)) == ("1", ("key", "3", "0"))
        assert (await client.get("/api/v1/me", headers=other)).status_code == 200


@pytest.mark.turns("API_TENANT_REQUESTS_PER_MINUTE")
@pytest.mark.turns("API_TENANT_REQUESTS_AT_ONCE")
async def test_the_keys_of_a_tenant_have_a_limit_together(
    installation: Settings, system: SystemStores, tenant_id: TenantId
) -> None:
    async with open_app_and_client(
        installation, per_minute=60, burst=4, tenant_per_minute=60, tenant_burst=6
    ) as (
        app,
        client,
    ):
        keys = [await create_key_header(app, tenant_id) for _ in range(5)]
        answers = [await client.get("/api/v1/me", headers=key) for key in keys for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200] * 6 + [429] * 4
        assert limit_of(answers[0]) == ("key", "4", "3")
        assert limit_of(answers[5]) == ("tenant", "6", "0")
        assert problem_of(answers[-1]) == (
            429,
            (
                "The keys of your tenant together have sent too many requests. "
                "Wait for the time in `Retry-After`."
            ),
        )
        stranger = await create_key_header(app, await make_tenant(system))
        assert (await client.get("/api/v1/me", headers=stranger)).status_code == 200


@pytest.mark.parametrize("with_redis", [True, False])
async def test_a_request_takes_from_all_of_its_buckets_or_from_none(
    installation: Settings, tenant_id: TenantId, with_redis: bool
) -> None:
    url = installation.redis.url if with_redis else SecretStr("redis://127.0.0.1:1/0")
    redis = connect_to(RedisSettings(url=url))
    limiter, name = Limiter(RateLimits(redis)), f"test {tenant_id} {with_redis}"
    for _ in range(2):
        assert (await limiter.take(of_key(name), of_tenant(name, burst=4))).allowed
    for _ in range(3):
        refused = await limiter.take(of_key(name), of_tenant(name, burst=4))
        assert (refused.allowed, refused.bucket.counted_by) == (False, BucketOwner.KEY)
    last = await limiter.take(of_tenant(name, burst=4))
    assert (last.allowed, last.remaining) == (True, 1)
    await redis.aclose()


async def test_while_redis_is_away_a_process_counts_alone() -> None:
    nowhere = connect_to(RedisSettings(url=SecretStr("redis://127.0.0.1:1/0")))
    limiter = Limiter(RateLimits(nowhere))
    taken = [
        await limiter.take(of_key(name), of_tenant("all", burst=9)) for name in ("one", "one", "one", "other")
    ]
    assert [decision.allowed for decision in taken] == [True, True, False, True]
    assert 0 < taken[2].seconds <= 1
    await nowhere.aclose()


@pytest.mark.parametrize("with_redis", [True, False])
async def test_an_expensive_request_counts_as_several(
    installation: Settings, tenant_id: TenantId, with_redis: bool
) -> None:
    url = installation.redis.url if with_redis else SecretStr("redis://127.0.0.1:1/0")
    redis = connect_to(RedisSettings(url=url))
    limiter, cheap = Limiter(RateLimits(redis)), of_key(f"cost {tenant_id} {with_redis}", burst=6)
    expensive = replace(cheap, cost=5)
    assert (await limiter.take(expensive)).remaining == 1
    refused = await limiter.take(expensive)
    assert (refused.allowed, 3 < refused.seconds <= 4) == (False, True)
    assert [(await limiter.take(cheap)).allowed for _ in range(2)] == [True, False]
    await redis.aclose()


async def test_refusals_come_slowly_so_that_asking_again_at_once_costs_others_nothing(
    installation: Settings, tenant_id: TenantId
) -> None:
    redis = connect_to(RedisSettings(url=installation.redis.url))
    limiter, bucket, other = (
        Limiter(RateLimits(redis)),
        of_key(f"flood {tenant_id}", burst=1),
        of_key(f"calm {tenant_id}", burst=1),
    )
    assert (await limiter.take(bucket)).allowed
    began = time.monotonic()
    assert not (await limiter.take(bucket)).allowed
    first_after = time.monotonic() - began
    flood = asyncio.gather(*(limiter.take(bucket) for _ in range(5)))
    assert (await limiter.take(other)).allowed
    assert not (await limiter.take(other)).allowed
    others_after = time.monotonic() - began
    assert [decision.allowed for decision in await flood] == [False] * 5
    assert max(first_after, others_after) < 5 / REFUSALS_PER_SECOND <= time.monotonic() - began
    await redis.aclose()


async def test_a_bucket_that_is_known_to_be_empty_is_not_asked_for_again(
    installation: Settings, tenant_id: TenantId
) -> None:
    redis = connect_to(RedisSettings(url=installation.redis.url))
    limiter, bucket = Limiter(RateLimits(redis)), of_key(f"empty {tenant_id}", burst=1)
    await limiter.take(bucket)
    first = await limiter.take(bucket)
    await redis.delete(bucket.redis_key)  # if it were asked, it would allow
    second = await limiter.take(bucket)
    assert (first.allowed, second.allowed, second.seconds <= first.seconds) == (False, False, True)
    await asyncio.sleep(second.seconds)
    assert (await limiter.take(bucket)).allowed
    await redis.aclose()


async def test_an_address_that_tries_many_wrong_keys_is_throttled_by_all_processes(
    app: App, key: dict[str, str]
) -> None:
    address = fresh_address()
    neighbour, stranger = str(IPv6Address(address) + 9), fresh_address()
    async with (
        make_client(app, address=address) as client,
        make_client(app, address=neighbour) as elsewhere,
        make_client(app, address=stranger) as other,
    ):
        guesses = [
            {"Authorization": f"Bearer {new_key() if number % 2 else 'wrong'}"}
            for number in range(FAILED_KEYS_AT_ONCE + 10)
        ]
        tried = [(await client.get("/api/v1/me", headers=guess)).status_code for guess in guesses]
        assert tried[:FAILED_KEYS_AT_ONCE] == [401] * FAILED_KEYS_AT_ONCE
        assert tried[-5:] == [429] * 5
        refused = await elsewhere.get("/api/v1/me", headers=guesses[0])
        assert problem_of(refused) == (
            429,
            "Too many invalid keys were sent from your address. Wait for the time in `Retry-After`.",
        )
        assert (refused.headers["ratelimit-name"], int(refused.headers["retry-after"]) >= 1) == (
            "address",
            True,
        )
        assert (await other.get("/api/v1/me", headers=guesses[0])).status_code == 401
        # A valid key is not concerned, also when this process has not seen it before; nor is who sends no
        # key.
        assert (await client.get("/api/v1/me", headers=key)).status_code == 200
        assert (await client.get("/api/v1/me")).status_code == 401
    assert 0 < await app.redis.pttl(of_address(address)) <= 120_000


def of_address(address: str) -> str:
    return Bucket(BucketOwner.ADDRESS, f"{address}/64", 1, 1).redis_key
