"""Tenant A can read, change and infer nothing of tenant B, through any endpoint there is."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import httpx
import pytest

from testkit.api_clients import description
from tests.api.cases import CASES, Case
from tests.api.worlds import DEEPEST, FIRST, MARK, ONLY_B, Worlds, make_worlds
from tests.conftest import Admin
from tests.stores.postgres.catalogue import tables

type Asked = tuple[httpx.AsyncClient, Admin]

OPERATIONS = {
    operation["operationId"]: (method, path)
    for path, methods in description()["paths"].items()
    for method, operation in methods.items()
}
MOMENT = re.compile(r"20\d\d-\d\d-\d\dT[0-9:.]+Z")
RANDOM = re.compile(
    r"whsec_[A-Za-z0-9+/=]+|(?:tga|feed)_[A-Za-z0-9_-]{6,43}|"
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)


@pytest.fixture(scope="module")
async def worlds(
    environ: dict[str, str], database: dict[str, str], worker: str, template: str
) -> AsyncIterator[Worlds]:
    async with make_worlds({**environ, "REDIS_URL": database["REDIS_URL"]}, worker, template) as made:
        yield made


@pytest.fixture(scope="module")
async def readers(worlds: Worlds) -> AsyncIterator[Mapping[str, Asked]]:
    """One copy of each world for everything that only reads."""
    async with (
        worlds.open_copy(worlds.alone, name="read") as alone,
        worlds.open_copy(worlds.both, name="read") as both,
    ):
        yield {worlds.alone: alone, worlds.both: both}


@asynccontextmanager
async def open_copy(
    database: str, operation: str, worlds: Worlds, readers: Mapping[str, Asked]
) -> AsyncIterator[Asked]:
    """A fresh copy for what changes a world, and for the graph, of which there is one."""
    case = CASES[operation]
    if OPERATIONS[operation][0] == "get" and not case.with_graph:
        yield readers[database]
        return
    async with worlds.open_copy(database, with_graph=case.with_graph) as copy:
        yield copy


def test_every_endpoint_has_its_case() -> None:
    """A new endpoint needs a line in tests/api/cases.py."""
    assert set(CASES) == set(OPERATIONS)


@pytest.mark.parametrize(
    "operation", [operation for operation in OPERATIONS if "{" in OPERATIONS[operation][1]]
)
def test_every_endpoint_with_an_id_in_its_path_is_asked_with_a_foreign_one(operation: str) -> None:
    assert CASES[operation].foreign is not None or CASES[operation].status == 403


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_learns_and_changes_nothing_of_b(
    worlds: Worlds, readers: Mapping[str, Asked], operation: str
) -> None:
    case = CASES[operation]
    async with open_copy(worlds.alone, operation, worlds, readers) as (client, _):
        without = [await ask(client, worlds, operation, path) for path in paths(case, worlds)]
    async with open_copy(worlds.both, operation, worlds, readers) as (client, admin):
        before = await everything_of_b(admin, worlds)
        marks = marks_in(before)
        beside = [await ask(client, worlds, operation, path) for path in paths(case, worlds)]
        assert await everything_of_b(admin, worlds) == before
    for own, answers in enumerate(zip(without, beside, strict=True)):
        assert comparable_answer(answers[0], worlds) == comparable_answer(answers[1], worlds)
        sent = f"{answers[1].request.url}{answers[1].request.content.decode()}"
        assert not [mark for mark in marks if mark in answers[1].text and mark not in sent]
        assert answers[1].status_code == (case.status if own == 0 else 404), answers[1].text
    assert case.may_be_empty or '"items":[]' not in beside[0].text


async def test_b_itself_sees_what_a_does_not(worlds: Worlds) -> None:
    """The marks that are looked for are really there to be found."""
    async with worlds.open_copy(worlds.both) as (client, admin):
        marks = marks_in(await everything_of_b(admin, worlds))
        for address in ("/api/v1/channels", "/api/v1/feed", "/api/v1/audit-log"):
            answer = await client.get(address, headers=worlds.key_of_b)
            assert [mark for mark in marks if mark in answer.text], address
        assert (await client.get(f"/api/v1/channels/{ONLY_B[0]}", headers=worlds.key_of_b)).status_code == 200


async def test_b_itself_sees_the_past_that_a_does_not(worlds: Worlds) -> None:
    async with worlds.open_copy(worlds.both) as (client, _):
        for channel_id in worlds.shared:
            for message_id, statuses in ((DEEPEST, (404, 200)), (FIRST - 1, (404, 200)), (FIRST, (200, 200))):
                address = f"/api/v1/posts/{channel_id}/{message_id}"
                answers = [await client.get(address, headers=key) for key in (worlds.key, worlds.key_of_b)]
                assert tuple(answer.status_code for answer in answers) == statuses, address
            ledgers = [
                await client.get(f"/api/v1/channels/{channel_id}/coverage", headers=key)
                for key in (worlds.key, worlds.key_of_b)
            ]
            assert [ledger.json()["ledger"]["floor_id"] for ledger in ledgers] == [FIRST, DEEPEST]


def paths(case: Case, worlds: Worlds) -> list[dict[str, object]]:
    """The path parameters of A's own objects, then those of another tenant's."""
    return [dict(case.path(worlds)), *([dict(case.foreign(worlds))] if case.foreign else [])]


async def ask(
    client: httpx.AsyncClient, worlds: Worlds, operation: str, path: dict[str, object]
) -> httpx.Response:
    method, address = OPERATIONS[operation]
    case = CASES[operation]
    return await client.request(
        method, address.format(**path), params=case.query, json=case.body, headers=worlds.key
    )


def comparable_answer(answer: httpx.Response, worlds: Worlds) -> tuple[int, str | None, str]:
    """An answer to A without parts that differ in every world: moments since the worlds were made, and random
    ids.
    """

    def moment(match: re.Match[str]) -> str:
        return "now" if datetime.fromisoformat(match[0]) >= worlds.began else match[0]

    return (
        answer.status_code,
        answer.headers.get("content-type"),
        RANDOM.sub("random", MOMENT.sub(moment, answer.text)),
    )


def marks_in(everything: Mapping[str, list[str]]) -> set[str]:
    """All strings that would give B away: its channels, its ids, its words."""
    marks = {MARK, *map(str, ONLY_B)}
    for row in (row for rows in everything.values() for row in rows):
        marks |= set(re.findall(r"(?<=UUID\(')[0-9a-f-]{36}|\b7\d{9}\b", row))
    return marks


async def everything_of_b(admin: Admin, worlds: Worlds) -> dict[str, list[str]]:
    rows_by_table: dict[str, list[str]] = {}
    for table in await tables(admin):
        key, value = (
            ("tenant_id", [worlds.b]) if "tenant_id" in table.columns else ("channel_id", list(ONLY_B))
        )
        if key in table.columns:
            rows: list[Any] = await admin.fetch(f"SELECT * FROM {table.name} WHERE {key} = ANY($1)", value)
            rows_by_table[table.name] = sorted(str(dict(row)) for row in rows)
    return rows_by_table
