"""The roles as people meet them: over HTTP and by signals.

Most tests run the real program in a process of its own.
"""

import asyncio
import re
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import httpx
import pytest

from telegram_assistant.assembly import App
from telegram_assistant.errors import CannotStart
from telegram_assistant.roles import Role, RoleName, run_roles
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.migrating import migrate
from telegram_assistant.supervision import Loop
from telegram_assistant.telegram.vault import make_key
from telegram_assistant.telemetry.metrics import CHANNEL_BOUND, CHANNEL_LAST_POST, REGISTRY
from telegram_assistant.web.pages.people.login import first_owner_link
from testkit.engines import Engine, running_engine
from testkit.running_program import Program, program

API: tuple[Role[App], ...] = (Role(RoleName.API, lambda http: http.api_port, lambda _app, _health: ()),)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Engine]:
    with running_engine("redis", tmp_path / "redis") as running:
        yield running


@pytest.mark.turns("INGEST_PORT")
@pytest.mark.turns("WORKER_PORT")
@pytest.mark.turns("API_PORT")
@pytest.mark.turns("HTTP_HOST")
@pytest.mark.turns("HOSTNAME")
async def test_every_role_answers_on_its_own_port_and_ends_cleanly(
    migrated_database: dict[str, str], redis: Engine
) -> None:
    """In a database and a Redis of its own: in those of other tests the worker has their work to do,
    and says so when it cannot.
    """
    own = {**migrated_database, "REDIS_URL": redis.url, "SESSION_ENCRYPTION_KEY": make_key()}
    async with (
        program(own, HTTP_HOST="127.0.0.2", HOSTNAME="moscow-1") as running,
        httpx.AsyncClient() as client,
    ):
        for role in RoleName:
            await running.until_ready(role)
            details = (await client.get(running.url(role, "/health/details"))).json()
            assert {
                name: part for name, part in details["parts"].items() if part["status"] == "failing"
            } == {}, details
            async with asyncio.timeout(30):
                while (health := (await client.get(running.url(role, "/health"))).json())["status"] != "ok":
                    await asyncio.sleep(
                        0.05
                    )  # before the first tick of an empty installation nothing has been planned
            assert (health["role"], health["instance"]) == (role.value, "moscow-1")
            metrics = await client.get(running.url(role, "/metrics"))
            assert "tga_build_info" in metrics.text
            assert re.search(r"^asyncio_tasks [1-9]", metrics.text, re.MULTILINE)
        running.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(running.process.wait(), 60) == 0


async def test_one_role_can_run_alone(database: dict[str, str]) -> None:
    async with program(database, "--roles", "worker") as running, httpx.AsyncClient() as client:
        await running.until_ready("worker")
        with pytest.raises(httpx.ConnectError):
            await client.get(running.url("api", "/health"))


async def test_the_code_of_the_first_owner_stands_in_the_log_of_the_start(
    migrated_database: dict[str, str],
) -> None:
    async with program(migrated_database, "--roles", "api", SECRET_KEY="k" * 32) as running:
        await running.until_ready()
        running.process.send_signal(signal.SIGTERM)
        _, log = await asyncio.wait_for(running.process.communicate(), 60)
    assert "first_owner_code" in log.decode()
    assert first_owner_link(read_settings(running.environ)) in log.decode()


async def until_jobs_on(running: Program, role: RoleName) -> None:
    """A job appears once it has begun."""
    async with asyncio.timeout(60):
        while not {"job make_partitions", "job settle_lost_calls"} <= await jobs_on(running, role):
            await asyncio.sleep(0.1)


async def jobs_on(running: Program, role: RoleName) -> set[str]:
    """The periodic jobs on a role's page of health."""
    await running.until_ready(role)
    async with httpx.AsyncClient() as client:
        return {
            part
            for part in (await client.get(running.url(role, "/health/details"))).json()["parts"]
            if part.startswith("job ")
        }


async def test_the_api_alone_answers_with_the_login_of_requests_and_nothing_else(
    database: dict[str, str],
) -> None:
    only_requests = {
        **database,
        "DATABASE_SYSTEM_URL": "",
        "DATABASE_INGEST_URL": "",
        "DATABASE_ADMIN_URL": "",
    }
    key = {"Authorization": "Bearer the-operators-own-key"}
    async with (
        program(only_requests, "--roles", "api", OPERATOR_KEY="the-operators-own-key") as running,
        httpx.AsyncClient(headers=key) as client,
    ):
        await running.until_ready()
        for path in (
            "me",
            "channels",
            "channels/requests",
            "feed",
            "search?q=snow",
            "coverage",
            "usage",
            "tenants",
            "dead-letters",
        ):
            answer = await client.get(running.url("api", f"/api/v1/{path}"))
            assert answer.status_code == 200, (path, answer.text)
        health = (await client.get(running.url("api", "/health/details"))).json()
        assert not [part for part in health["parts"] if part.startswith("job ")]
        running.process.terminate()
        _, logged = await running.process.communicate()
    assert "InsufficientPrivilege" not in logged.decode()


async def test_periodic_jobs_run_in_the_worker_where_requests_have_a_login_of_their_own(
    database: dict[str, str],
) -> None:
    async with program(database, "--roles", "worker,api") as running:
        assert await jobs_on(running, RoleName.API) == set()
        await until_jobs_on(running, RoleName.WORKER)


async def test_one_login_does_everything_for_one_person_and_the_api_runs_the_jobs(
    empty_database: dict[str, str], worker: str
) -> None:
    name = f"person_{worker}"
    own = {
        **empty_database,
        "DATABASE_URL": empty_database["DATABASE_URL"].replace("tga:tga@", f"{name}:x@"),
        "DATABASE_SYSTEM_URL": "",
        "DATABASE_INGEST_URL": "",
    }
    await migrate(read_settings(own).database, tell=lambda _: None)
    try:
        async with program(
            {**own, "DATABASE_ADMIN_URL": "", "SESSION_ENCRYPTION_KEY": make_key()}
        ) as running:
            for role in RoleName:
                await running.until_ready(role)
            assert await jobs_on(running, RoleName.WORKER) == set()
            await until_jobs_on(running, RoleName.API)
    finally:
        admin = await asyncpg.connect(empty_database["DATABASE_ADMIN_URL"])
        await admin.execute(f"DROP ROLE IF EXISTS {name}")
        await admin.close()


@pytest.mark.turns("METRICS_MAX_CHANNELS")
async def test_the_bound_on_channel_series_is_taken_from_the_settings(database: dict[str, str]) -> None:
    for channel_id in range(50):
        CHANNEL_LAST_POST.set(channel_id, float(channel_id))
    settings = read_settings({**database, "API_PORT": "0", "METRICS_MAX_CHANNELS": "3"})

    async def at_once() -> None:
        assert REGISTRY.get_sample_value("channel_last_post_timestamp_seconds", {"channel_id": "2"}) == 2.0
        assert REGISTRY.get_sample_value("channel_last_post_timestamp_seconds", {"channel_id": "3"}) is None

    before = CHANNEL_BOUND.channels
    try:
        await run_roles(settings, API, wait_for_stop=at_once)
    finally:
        CHANNEL_BOUND.channels = before


@pytest.mark.turns("SHUTDOWN_GRACE_SECONDS")
@pytest.mark.parametrize(("grace", "finished"), [("5", True), ("0.05", False)])
async def test_work_in_hand_may_finish_within_the_grace(
    database: dict[str, str], grace: str, finished: bool
) -> None:
    done: list[str] = []
    working = asyncio.Event()

    async def work(stopping: asyncio.Event) -> None:
        working.set()
        await stopping.wait()
        await asyncio.sleep(0.5)
        done.append("page")

    role: Role[App] = Role(
        RoleName.WORKER, lambda http: http.worker_port, lambda _app, _health: (Loop("work", work),)
    )

    async def wait_for_stop() -> None:
        await working.wait()

    settings = read_settings({**database, "WORKER_PORT": "0", "SHUTDOWN_GRACE_SECONDS": grace})
    await asyncio.wait_for(run_roles(settings, [role], wait_for_stop=wait_for_stop), 30)
    assert bool(done) is finished


async def test_roles_drain_in_order(database: dict[str, str]) -> None:
    order: list[str] = []

    def role(name: RoleName, port: int) -> Role[App]:
        async def work(stopping: asyncio.Event) -> None:
            await stopping.wait()
            await asyncio.sleep(0.02)
            order.append(name)

        return Role(name, lambda _http: port, lambda _app, _health: (Loop(name, work),))

    async def wait_for_stop() -> None:
        await asyncio.sleep(0.02)

    await run_roles(
        read_settings(database), [role(name, 0) for name in RoleName], wait_for_stop=wait_for_stop
    )
    assert order == ["ingest", "worker", "api"]


async def test_a_crashed_loop_is_restarted_and_the_process_lives(database: dict[str, str]) -> None:
    runs = 0
    again = asyncio.Event()

    async def crash(_stopping: asyncio.Event) -> None:
        nonlocal runs
        runs += 1
        if runs == 2:
            again.set()
        raise RuntimeError("boom")

    role: Role[App] = Role(
        RoleName.WORKER, lambda _http: 0, lambda _app, _health: (Loop("crashing in a role", crash),)
    )

    async def wait_for_stop() -> None:
        await again.wait()

    await asyncio.wait_for(run_roles(read_settings(database), [role], wait_for_stop=wait_for_stop), 30)
    assert runs == 2


async def test_a_port_that_is_taken_ends_the_process_with_words(database: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        async with program(database, "--roles", "api", API_PORT=port) as running:
            _, complaint = await asyncio.wait_for(running.process.communicate(), 60)
    assert running.process.returncode == 1
    text = complaint.decode()
    assert f"cannot listen on 127.0.0.1:{port}" in text
    assert "set API_PORT" in text
    assert "Traceback" not in text


async def test_a_schema_that_is_behind_ends_the_process_with_words(empty_database: dict[str, str]) -> None:
    with pytest.raises(CannotStart, match="tga migrate"):
        await run_roles(read_settings({**empty_database, "API_PORT": "0"}), API)


async def test_a_second_signal_ends_it_at_once(database: dict[str, str]) -> None:
    program_text = """
import asyncio, os
from telegram_assistant.roles import Role, RoleName, run_roles
from telegram_assistant.settings import read_settings
from telegram_assistant.supervision import Loop
async def stubborn(stopping):
    print("working", flush=True)
    await asyncio.sleep(600)
role = Role(RoleName.WORKER, lambda http: 0, lambda app, health: (Loop("stubborn", stubborn),))
asyncio.run(run_roles(read_settings(os.environ), [role]))
"""
    environ = {**database, "SHUTDOWN_GRACE_SECONDS": "600"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program_text, env=environ, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        while await asyncio.wait_for(process.stdout.readline(), 60) != b"working\n":
            pass
        process.terminate()
        await asyncio.sleep(0.3)
        assert process.returncode is None
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 30) == -signal.SIGTERM
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
