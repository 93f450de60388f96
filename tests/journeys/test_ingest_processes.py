"""The ingest role in processes of its own: killed, told to stop and frozen; and watched, in good weather and
in bad.

One process is frozen first and woken last, and what else takes long happens meanwhile.
"""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from telegram_assistant.domain.accounts.account import LEASE_SECONDS, MARGIN_SECONDS
from telegram_simulator.control.client import ControlClient
from testkit.engines import free_port
from testkit.programs import kill, simulator
from testkit.servers import OwnServers, own_servers
from tests.deploy.watching import metrics_without_data, panels_without_data, watching
from tests.deploy.watching import until as seen
from tests.journeys.installation import Installation, open_installation, until

TAKEN_OVER_SECONDS = 80.0
HANDED_OVER_SECONDS = 10.0
FROZEN_SECONDS = 2 * LEASE_SECONDS + 1
SEEN_IN_TROUBLE_ONLY = {"account_blocked_until_seconds", "parser_hwm_age_seconds"}

pytestmark = [pytest.mark.serial, pytest.mark.long]


@pytest.fixture(scope="module")
def servers() -> Iterator[OwnServers]:
    with own_servers("postgres", "redis") as running:
        yield running


@pytest.fixture(scope="module")
def telegram() -> Iterator[ControlClient]:
    with simulator("load", "--channels", "100", "--posts", "40") as control:
        yield control


async def share(crew: Installation, name: str) -> None:
    """A new account and a new process that gets it: the others are held still, or they would be sooner."""
    others = [process for other, process in crew.running.items() if other != "sleeper"]
    for other in others:
        other.send_signal(signal.SIGSTOP)
    await crew.add_account(name)
    crew.start(name)
    await until(lambda: crew.is_held_by(name, name), f"the {name} has its account")
    for other in others:
        other.send_signal(signal.SIGCONT)


@dataclass(frozen=True)
class Trouble:
    crew: Installation
    frozen_at: float
    killed_at: float


@pytest.fixture(scope="module")
async def trouble(
    servers: OwnServers, telegram: ControlClient, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Trouble]:
    """Four processes with an account each, of which one is frozen and one is killed."""
    async with open_installation(servers, telegram, tmp_path_factory.mktemp("crew"), number=1) as crew:
        await share(crew, "sleeper")
        await until(lambda: crew.is_read("sleeper"), "the sleeper has read its channels")
        crew.running["sleeper"].send_signal(signal.SIGSTOP)
        frozen_at = time.monotonic()
        for name in ("victim", "leaver", "survivor"):
            await share(crew, name)
        await until(lambda: crew.is_read("victim", "leaver", "survivor"), "everything is read")
        await until(lambda: has_a_lease_of_middle_age(crew, "victim"), "the victim may be killed")
        await crew.let_it_ask("victim", text="Что-то случилось.")
        kill(crew.running["victim"])
        killed_at = time.monotonic()
        crew.hurry()
        crew.say("sleeper", text="Что-то случилось.")
        yield Trouble(crew, frozen_at, killed_at)


async def has_a_lease_of_middle_age(crew: Installation, name: str) -> bool:
    """A new one would cost the whole time that is allowed; an old one may become new in the last moment."""
    query = "SELECT extract(epoch FROM lease_until - now()) FROM telegram_accounts WHERE account_id = $1"
    remaining_seconds = float(await crew.admin.fetchval(query, crew.accounts[name]))
    return LEASE_SECONDS - 15 < remaining_seconds < LEASE_SECONDS - 8


async def test_who_is_told_to_stop_lands_what_it_has_in_hand_and_hands_its_account_over_at_once(
    trouble: Trouble,
) -> None:
    crew, leaver = trouble.crew, trouble.crew.running["leaver"]
    await crew.let_it_ask("leaver", text="В последний момент.")
    leaver.terminate()
    told_at = time.monotonic()
    assert await asyncio.to_thread(leaver.wait, 20) == 0
    ended = time.monotonic() - told_at
    landed = await crew.admin.fetchval(
        "SELECT count(*) FROM posts WHERE channel_id = ANY($1) AND text = 'В последний момент.'",
        crew.channels_of("leaver"),
    )
    crew.hurry()
    assert landed >= 1, "the page in hand was thrown away"
    await until(lambda: crew.is_held_by("survivor", "leaver"), "the survivor has the account")
    handed_over = time.monotonic() - told_at
    await crew.poll_now("leaver")
    await until(lambda: crew.is_read("leaver"), "nothing is lost")
    print(
        f"\ntold to stop: ended after {ended:.1f} s, handed over after {handed_over:.1f} s, "
        f"all read after {time.monotonic() - told_at:.1f} s"
    )
    assert handed_over < HANDED_OVER_SECONDS


async def test_in_good_weather_every_panel_draws_a_real_process_and_no_alert_wakes_anybody(
    servers: OwnServers, telegram: ControlClient, tmp_path: Path, trouble: Trouble
) -> None:
    del trouble  # begun before, so that its time passes meanwhile
    port = free_port()
    async with open_installation(
        servers, telegram, tmp_path, number=2, INGEST_PORT=str(port)
    ) as installation:
        with watching(f"127.0.0.1:{port}") as watcher:
            installation.start("watched")
            seen(lambda: watcher.values("count_over_time(up[1m]) >= 2 and up == 1"), seconds=60)
            await installation.add_account("watched")
            await until(lambda: installation.is_read("watched"), "the first posts are read")
            seen(lambda: watcher.values('parser_runs_total{mode="historical", status="ok"} > 0'), seconds=60)
            installation.say("watched", text="Хорошая погода.")
            await installation.poll_now("watched")
            await until(lambda: installation.is_read("watched"), "the new posts are read")
            seen(lambda: panels_without_data(watcher) == [], seconds=60)
            seen(lambda: set(metrics_without_data(watcher)) <= SEEN_IN_TROUBLE_ONLY, seconds=60)
            assert watcher.broken_rules() == []
            seen(
                lambda: {name for name, _ in watcher.alerts()} <= {"Channel Gap Above Threshold"}, seconds=60
            )


async def test_when_every_channel_fails_health_is_stale_although_ticks_run_and_an_alert_sees_nothing_parsed(
    servers: OwnServers, telegram: ControlClient, tmp_path: Path, trouble: Trouble
) -> None:
    del trouble  # begun before, so that its time passes meanwhile
    port = free_port()
    more = {"INGEST_PORT": str(port), "PARSER_SCHEDULER_INTERVAL_SEC": "2"}
    async with open_installation(servers, telegram, tmp_path, number=3, **more) as installation:
        refused = {"method": "messages.getHistory", "code": 500, "message": "RPC_CALL_FAIL", "times": 10_000}
        with watching(f"127.0.0.1:{port}") as watcher:
            installation.start("watched")
            seen(lambda: watcher.values("count_over_time(up[1m]) >= 2 and up == 1"), seconds=60)
            telegram.ask("POST", "/failures", phone=installation.phone_of("watched"), **refused)
            await installation.add_account("watched")
            seen(lambda: scheduler_health(port)["channels_failing"], seconds=60)
            assert scheduler_health(port)["status"] == "stale"
            wait_for_ticks(installation, 2)  # one of them may have begun before the failure
            last_tick = scheduler_health(port)["last_tick_ts"]
            wait_for_ticks(installation, 2)
            assert scheduler_health(port)["last_tick_ts"] == last_tick
            seen(lambda: ("Nothing Parsed", "") in watcher.alerts(), seconds=60)


def scheduler_health(port: int) -> dict[str, Any]:
    health: dict[str, Any] = httpx.get(f"http://127.0.0.1:{port}/health/details", timeout=10).json()[
        "scheduler"
    ]
    return health


def wait_for_ticks(installation: Installation, count: int) -> None:
    before = installation.log_of("watched").count("Scheduler tick completed")
    seen(
        lambda: installation.log_of("watched").count("Scheduler tick completed") >= before + count, seconds=60
    )


async def test_the_account_of_a_process_that_was_killed_is_read_on_by_another_one(trouble: Trouble) -> None:
    crew = trouble.crew
    await until(
        lambda: crew.is_held_by("survivor", "victim"),
        "the survivor has the account",
        seconds=LEASE_SECONDS + MARGIN_SECONDS + 10,
    )
    await until(lambda: crew.is_read("victim"), "the survivor reads on")
    seconds = await measure_landing(crew, "victim", trouble.killed_at)
    print(f"\nkilled: its channels are read again after {seconds:.1f} s")
    assert seconds < TAKEN_OVER_SECONDS


async def measure_landing(crew: Installation, name: str, moment: float) -> float:
    """Seconds between that moment and the storing of the last post: other tests may have run meanwhile."""
    ago = await crew.admin.fetchval(
        "SELECT extract(epoch FROM clock_timestamp() - max(stored_at)) FROM posts WHERE channel_id = ANY($1)",
        crew.channels_of(name),
    )
    return time.monotonic() - moment - float(ago)


async def test_who_wakes_up_after_its_lease_asks_nothing_more_with_the_account_and_takes_part_again(
    trouble: Trouble,
) -> None:
    crew, sleeper, survivor = trouble.crew, trouble.crew.running["sleeper"], trouble.crew.running["survivor"]
    await until(
        lambda: crew.is_held_by("survivor", "sleeper"),
        "the survivor has the account",
        seconds=LEASE_SECONDS + MARGIN_SECONDS + 10,
    )
    await until(lambda: crew.is_read("sleeper"), "the survivor reads on")
    await asyncio.sleep(max(0.0, trouble.frozen_at + FROZEN_SECONDS - time.monotonic()))
    sleeper.send_signal(signal.SIGCONT)
    await until(lambda: crew.has_one_connection("sleeper"), "the sleeper has hung up", seconds=60)
    survivor.terminate()
    told_at = time.monotonic()
    assert await asyncio.to_thread(survivor.wait, 20) == 0
    await until(lambda: crew.is_held_by("sleeper", *crew.accounts), "the sleeper has all accounts")
    handed_over = time.monotonic() - told_at
    crew.say(*crew.accounts, text="Доброе утро.")
    await crew.poll_now(*crew.accounts)
    await until(lambda: crew.is_read(*crew.accounts), "the sleeper reads all channels")
    print(
        f"\nfrozen: {FROZEN_SECONDS:.0f} s; afterwards it had all accounts {handed_over:.1f} s after the "
        "survivor was told to stop"
    )
    assert handed_over < HANDED_OVER_SECONDS
    state = crew.telegram.state()
    assert (state["double_use"], state["keys_used_twice"]) == (0, [])
    sleeper.terminate()
    assert await asyncio.to_thread(sleeper.wait, 20) == 0
    assert [name for name in crew.running if "Traceback" in crew.log_of(name)] == []
