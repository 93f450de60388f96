"""Behaviour that all endpoints share: errors, limits of size and time, headers."""

import io
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from telegram_assistant.api.problems import MAX_ERRORS
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.settings import Settings
from testkit.api_clients import create_key_header, open_app_and_client, problem_of
from testkit.cpu_time import cpu_limit
from tests.conftest import Admin

FOLLOW = {"references": ["@some_channel"]}


@pytest.mark.turns("API_MAX_BODY_BYTES")
async def test_a_large_request_is_refused_announced_or_not(
    installation: Settings, tenant_id: TenantId
) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 100

    async with open_app_and_client(installation, max_bytes=1000) as (app, client):
        key = await create_key_header(app, tenant_id)
        for content in (b"x" * 1001, parts()):
            assert problem_of(await client.post("/api/v1/channels", headers=key, content=content))[0] == 413
        assert (await client.post("/api/v1/channels", headers=key, json=FOLLOW)).status_code == 202


@pytest.mark.turns("API_TIMEOUT_SECONDS")
async def test_what_takes_too_long_is_answered_with_503(
    installation: Settings, tenant_id: TenantId, admin: Admin
) -> None:
    async with open_app_and_client(installation, timeout_seconds=0.3) as (app, client):
        key = await create_key_header(app, tenant_id)
        async with admin.transaction():
            await admin.execute("LOCK TABLE audit_log")
            slow = await client.get("/api/v1/audit-log", headers=key)
        assert problem_of(slow)[0] == 503
        assert slow.headers["retry-after"] == "1"
        assert (await client.get("/api/v1/audit-log", headers=key)).status_code == 200


@pytest.mark.turns("API_CORS_ORIGINS")
async def test_browsers_of_other_sites_may_ask_only_where_it_is_allowed(installation: Settings) -> None:
    asks = {
        "Origin": "https://desk.example",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization",
    }
    async with open_app_and_client(installation) as (_, client):
        assert "access-control-allow-origin" not in (await client.options("/api/v1/me", headers=asks)).headers
    async with open_app_and_client(installation, cors_origins="https://desk.example") as (_, client):
        assert (await client.options("/api/v1/me", headers=asks)).headers[
            "access-control-allow-origin"
        ] == "https://desk.example"
        other = await client.options("/api/v1/me", headers={**asks, "Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers


async def test_every_refusal_is_a_problem_in_words(client: httpx.AsyncClient, key: dict[str, str]) -> None:
    assert problem_of(await client.get("/api/v1/nothing", headers=key)) == (
        404,
        "There is nothing at this path.",
    )
    assert problem_of(await client.get("/api/v1/channels/1", headers=key)) == (
        404,
        "you do not follow channel 1",
    )
    wrong = await client.put("/api/v1/me", headers=key)
    assert problem_of(wrong)[0] == 405
    assert wrong.headers["allow"] == "GET"
    nonsense = await client.get("/api/v1/feed", headers=key, params={"limit": 0})
    assert problem_of(nonsense) == (422, "query.limit: Input should be greater than or equal to 1")
    assert nonsense.json()["errors"] == [
        {"where": "query.limit", "why": "Input should be greater than or equal to 1"}
    ]
    for body in (
        b"{",
        b"\xff",
        b'{"references": ["\\ud800"]}',
        b'{"\\ud800": 1}',
        b'{"references": ["@a\\u0000bcd"]}',
        b"[" * 15_000,
    ):
        refused = await client.post(
            "/api/v1/channels", headers={**key, "Content-Type": "application/json"}, content=body
        )
        assert problem_of(refused)[0] in {400, 422}


async def test_a_refusal_speaks_the_language_of_the_request_and_has_a_code_for_programs(
    client: httpx.AsyncClient, key: dict[str, str]
) -> None:
    problems = {}
    for languages in ("", "ru-RU,ru;q=0.9", "de"):
        refused = await client.get(
            "/api/v1/channels/1006503122", headers={**key, "Accept-Language": languages}
        )
        assert (refused.json()["code"], refused.json()["parameters"]) == (
            "channel_not_followed_by_id",
            {"channel_id": 1006503122},
        )
        assert int(refused.headers["content-length"]) == len(refused.content)
        problems[refused.headers["content-language"]] = problem_of(refused)[1]
    assert problems == {
        "en": "you do not follow channel 1006503122",
        "ru": "вы не подписаны на канал 1006503122",
    }


async def test_what_middleware_and_changes_refuse_speaks_the_language_too(
    client: httpx.AsyncClient, key: dict[str, str]
) -> None:
    russian = {"Accept-Language": "ru"}
    stranger = await client.get("/api/v1/me", headers=russian)
    assert (stranger.json()["code"], problem_of(stranger)[1].partition(" ")[0]) == ("key_needed", "Отправьте")
    wrong = await client.post(
        "/api/v1/channels", headers={**key, **russian, "Idempotency-Key": "x" * 256}, json=FOLLOW
    )
    assert (wrong.json()["code"], wrong.json()["parameters"]) == (
        "idempotency_key_invalid",
        {"max_length": 255},
    )
    unknown = await client.post("/api/v1/channels/1/poll", headers={**key, **russian})
    assert problem_of(unknown) == (404, "вы не подписаны на канал 1")


@pytest.mark.parametrize(
    "body",
    [
        {f"{number:05}": 1 for number in range(15_000)},
        {"references": [1] * 15_000},
        {"references": [{"a": 1}] * 80},
        {"references": ["@some_channel"], "x" * 500_000: 1},
        {"references": ["@some_channel"], "folder": "x" * 500_000},
    ],
    ids=[
        "many unknown fields",
        "many wrong items",
        "more mistakes than are told",
        "a long name",
        "a long value",
    ],
)
async def test_a_hostile_body_gets_a_small_answer_at_once(
    client: httpx.AsyncClient, key: dict[str, str], body: dict[str, object]
) -> None:
    with cpu_limit(1):
        refused = await client.post("/api/v1/channels", headers=key, json=body)
    assert problem_of(refused)[0] == 422
    assert len(refused.content) < 10_000
    assert len(refused.json()["errors"]) <= MAX_ERRORS


async def test_a_body_of_too_many_values_is_not_parsed(
    client: httpx.AsyncClient, key: dict[str, str]
) -> None:
    headers = {**key, "Content-Type": "application/json"}
    for body in (b"[" * 500_000, b'{"references": [' + b"0," * 300_000 + b"0]}", b'{"a":' * 150_000):
        with cpu_limit(0.5):
            refused = await client.post("/api/v1/channels", headers=headers, content=body)
        assert problem_of(refused) == (413, "The body may have at most 20000 values. Send several requests.")


async def test_mistakes_that_are_not_listed_are_counted(
    client: httpx.AsyncClient, key: dict[str, str]
) -> None:
    refused = await client.post("/api/v1/channels", headers=key, json={"references": [1] * 60})
    assert refused.json()["more_errors"] == 60 - MAX_ERRORS
    assert (
        "more_errors"
        not in (await client.post("/api/v1/channels", headers=key, json={"references": [1]})).json()
    )


@pytest.mark.parametrize(
    "cursor",
    [
        "abc",
        "W10",
        "WyJ4Il0",
        "WzEsMiwzLDRd",
        "WzEwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMCwxLDFd",
        "bnVsbA",
        "a" * 400,
    ],
)
async def test_a_forged_cursor_is_refused(
    client: httpx.AsyncClient, key: dict[str, str], cursor: str
) -> None:
    for path in ("/api/v1/feed", "/api/v1/channels", "/api/v1/audit-log"):
        assert problem_of(await client.get(path, headers=key, params={"cursor": cursor}))[0] == 422


async def test_a_bug_is_told_without_its_insides_and_can_be_found_again(
    client: httpx.AsyncClient, key: dict[str, str], admin: Admin, log_stream: io.StringIO
) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    await admin.execute("ALTER TABLE audit_log RENAME actor TO somebody")
    try:
        broken = await client.get(
            "/api/v1/audit-log", headers={**key, "traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
        )
    finally:
        await admin.execute("ALTER TABLE audit_log RENAME somebody TO actor")
    assert problem_of(broken)[0] == 500
    assert broken.json()["trace_id"] == trace == broken.headers["trace-id"]
    lines = [json.loads(line) for line in log_stream.getvalue().splitlines()]
    assert [line["trace_id"] for line in lines if line["event"] == "request_failed"] == [trace]
    assert "actor" not in broken.text


async def test_answers_carry_headers_that_keep_browsers_careful(
    client: httpx.AsyncClient, key: dict[str, str]
) -> None:
    for answer in (await client.get("/api/v1/me", headers=key), await client.get("/api/v1/me")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
