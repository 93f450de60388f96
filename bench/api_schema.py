"""Every endpoint is asked whatever its description allows, and what it does not: no answer may be a bug or
break its promise.

The real site on real servers, over HTTP, with data of its own to find. The cases are made by Schemathesis
from the OpenAPI document; the same seed makes the same cases.
"""

import asyncio
import random
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import requests
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from telegram_assistant.api.site import build_site
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.tenants.keys import KeyMaker, make_key
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from testkit.graphs import land
from testkit.harness import arguments, at_most, finish, own_database
from testkit.rows import make_writer, posts_of

LIMITS = at_most(0, "failures", "server_errors")


type Operation = schemathesis.APIOperation[Any, Any, Any, Any]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
PER_ROUND = 10
"""The number of cases of an operation and a kind before the next one's turn."""
OPEN = {
    "per_minute": 1_000_000,
    "burst": 1_000_000,
    "tenant_per_minute": 1_000_000,
    "tenant_burst": 1_000_000,
}


@dataclass
class Seeded:
    """A running site, a key to it, and ids that are really there, by the name of their parameter."""

    url: str
    key: str
    known_values: Mapping[str, Sequence[str]]


@dataclass
class SentRequests:
    """The requests sent so far."""

    cases: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    by_operation: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


async def fill(app: App) -> tuple[str, dict[str, list[str]]]:
    """A tenant with channels and posts; its key, and what it has."""
    tenant = await app.system.tenants.ensure("default")
    writer, now = make_writer(1), datetime.now(UTC)
    channels = [ChannelId(1_000_000 + number) for number in range(200)]
    for channel_id in channels:
        await app.system.channels.register(
            Channel(channel_id=channel_id, title=f"Channel {channel_id}", username=f"channel_{channel_id}")
        )
        await app.system.channels.subscribe(
            tenant.tenant_id, Subscription(channel_id=channel_id, folder="City", history_days=EVERYTHING_DAYS)
        )
        posts = posts_of(writer, channel_id, first_id=1, count=10, newest=now, span=timedelta(days=5))
        await land(app.system, *posts)
    keys = app.tenant(tenant.tenant_id).keys
    maker = KeyMaker(actor="bench", scopes=KeyScope)
    made = [await make_key("bench", [*KeyScope], maker=maker, keys=keys, now=now) for _ in range(50)]
    known = {
        "channel_id": [str(channel) for channel in channels],
        "message_id": ["1", "2"],
        "key_id": [str(issued.key.key_id) for issued in made[1:]],
    }
    return made[0].secret, known


@contextmanager
def serve_site(installation: Settings) -> Iterator[Seeded]:
    """The site in a thread with a loop of its own."""
    settings = installation.model_copy(update={"api": installation.api.model_copy(update=OPEN)})
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    ready, stop, filled = threading.Event(), threading.Event(), list[tuple[str, dict[str, list[str]]]]()

    async def serve() -> None:
        async with assemble(settings) as app:
            filled.append(await fill(app))
            server = uvicorn.Server(
                uvicorn.Config(build_site(app), log_config=None, access_log=False, lifespan="off")
            )
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            ready.set()
            while not stop.is_set():
                await asyncio.sleep(0.05)
            server.should_exit = True
            await serving

    def run_server() -> None:
        try:
            asyncio.run(serve())
        finally:
            ready.set()

    thread = threading.Thread(target=run_server)
    thread.start()
    try:
        ready.wait(60)
        key, known = filled[0]
        yield Seeded(f"http://127.0.0.1:{listener.getsockname()[1]}", key, known)
    finally:
        stop.set()
        thread.join()


def ask_all(site: Seeded, *, cases: int, first_seed: int) -> SentRequests:
    """Sends requests to every operation in turn, round by round, until `cases` requests were sent."""
    schema = schemathesis.openapi.from_dict(requests.get(f"{site.url}/openapi.json", timeout=10).json())
    operations = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    tally, session, number = SentRequests(), requests.Session(), 0
    session.headers["Authorization"] = f"Bearer {site.key}"
    while tally.cases < cases and not tally.failures:
        for operation in operations:
            for mode in GenerationMode:
                number += 1
                _ask_some(operation, mode, site, session, tally, number=first_seed + number)
                if tally.cases >= cases:
                    return tally
    return tally


def _ask_some(
    operation: Operation,
    mode: GenerationMode,
    site: Seeded,
    session: requests.Session,
    tally: SentRequests,
    *,
    number: int,
) -> None:
    @seed(number)
    @settings(
        max_examples=PER_ROUND,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), chosen=st.none() | st.integers(0, 10_000))
    def ask(case: Case[Any], chosen: int | None) -> None:
        if chosen is not None:  # an id that is there, for half of them
            there = {
                name: site.known_values[name][chosen % len(site.known_values[name])]
                for name in case.path_parameters or {}
                if name in site.known_values
            }
            case.path_parameters = {**(case.path_parameters or {}), **there}
        headers = (
            {"Authorization": f"Bearer {site.key}"}
            if mode is GenerationMode.POSITIVE or chosen is not None
            else None
        )
        answer = case.call(base_url=site.url, session=session, headers=headers, timeout=30)
        tally.cases += 1
        tally.statuses[answer.status_code] += 1
        tally.by_operation[operation.label] += 1
        case.validate_response(answer, checks=CHECKS)

    try:
        ask()
    except Unsatisfiable:  # nothing can be wrong about an operation without parameters
        return
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is the result
        tally.failures.append(
            f"{operation.label} ({mode.value}, seed {number}): {type(error).__name__}: {error}"
        )


def _measure(installation: Settings, cases: int, first_seed: int) -> tuple[SentRequests, float]:
    with serve_site(installation) as site:
        began = time.perf_counter()
        return ask_all(site, cases=cases, first_seed=first_seed), time.perf_counter() - began


async def run(cases: int, first_seed: int) -> dict[str, object]:
    async with own_database("tga_bench_api_schema") as installation:
        tally, seconds = await asyncio.to_thread(_measure, installation, cases, first_seed)
        for failure in tally.failures:
            print(failure, file=sys.stderr)
    return {
        "bench": "api_schema",
        "seed": first_seed,
        "cases": tally.cases,
        "operations": len(tally.by_operation),
        "failures": len(tally.failures),
        "server_errors": sum(count for status, count in tally.statuses.items() if status >= 500),
        "statuses": {str(status): tally.statuses[status] for status in sorted(tally.statuses)},
        "least_asked": min(tally.by_operation.values()),
        "cases_per_s": round(tally.cases / seconds, 1),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None, help="of an earlier run, to repeat it")
    options = parser.parse_args()
    first_seed = random.SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
    print(f"seed {first_seed}", file=sys.stderr)
    result = asyncio.run(run(options.cases, first_seed))
    finish(result, options, *LIMITS)


if __name__ == "__main__":
    main()
