"""The roles of the program, and running one or all of them in one process.

    ingest   follows Telegram
    worker   runs the stages between a post and its index
    api      answers requests, and runs the periodic jobs;
             if requests have their own database login, the worker runs the jobs

SIGTERM drains them in that order: nothing new comes in, work in hand is finished, and the API stops last.
"""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from telegram_assistant import __version__, clock, ingest_role, worker_role
from telegram_assistant.api.ingest_endpoints import ingest_role_endpoints
from telegram_assistant.api.operator_access import OperatorAccess
from telegram_assistant.api.processes import FurtherProcess, further_processes, wait_for_first_process
from telegram_assistant.api.rate_limiting import FailedKeys
from telegram_assistant.api.server import HttpServer
from telegram_assistant.api.status import RoleEndpoints, files_section, role_sites
from telegram_assistant.assembly import ApiApp, App, assemble, assemble_api
from telegram_assistant.domain.tenants.access import weakness_of_secret
from telegram_assistant.errors import CannotStart
from telegram_assistant.features.operations.api_processes import find_refusal
from telegram_assistant.features.operations.heartbeats import send_heartbeats
from telegram_assistant.features.operations.resources import resources_loop
from telegram_assistant.interpreter import collect_seldom, return_freed_memory, switch_threads_often
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import DatabaseLogin, HttpSettings, Settings
from telegram_assistant.stores.disks import folders_of
from telegram_assistant.stores.postgres.database_logins import requests_may_act_as_system
from telegram_assistant.supervision import Loop, cancel_and_wait, keep_running
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import BUILD, CHANNEL_BOUND

log = get_logger()


def api_role_endpoints(app: ApiApp) -> RoleEndpoints:
    """The API and the pages."""
    from telegram_assistant.api.site import build_site  # noqa: PLC0415 -- a third of a start
    from telegram_assistant.web.site import build_web  # noqa: PLC0415 -- as above

    web = build_web(app, api=build_site(app))
    return RoleEndpoints(site=web.site, close=web.close)


class RoleName(StrEnum):
    """The roles that a process can run."""

    INGEST = "ingest"
    WORKER = "worker"
    API = "api"


@dataclass(frozen=True, slots=True)
class Role[A: ApiApp]:
    """A port and the loops behind it. `operations_port` is a separate port for the operator's endpoints."""

    name: RoleName
    port: Callable[[HttpSettings], int]
    loops: Callable[[A, Health], tuple[Loop, ...]]
    endpoints: Callable[[A], RoleEndpoints] = lambda _app: RoleEndpoints()
    operations_port: Callable[[HttpSettings], int | None] = lambda _http: None
    uses_vectors: bool = False


ROLES: tuple[Role[App], ...] = (
    Role(
        RoleName.INGEST,
        lambda http: http.ingest_port,
        ingest_role.loops,
        ingest_role_endpoints,
        operations_port=lambda http: http.ingest_operations_port,
    ),
    Role(
        RoleName.WORKER,
        lambda http: http.worker_port,
        lambda app, health: (*worker_role.loops(app, health), *clock.jobs_of_worker(app, health)),
        operations_port=lambda http: http.worker_operations_port,
        uses_vectors=True,
    ),
    Role(
        RoleName.API,
        lambda http: http.api_port,
        clock.jobs_of_api,
        api_role_endpoints,
        operations_port=lambda http: http.api_operations_port,
        uses_vectors=True,
    ),
)
"""In draining order."""

REQUESTS_ONLY: Role[ApiApp] = Role(
    RoleName.API, lambda http: http.api_port, lambda _app, _health: (), api_role_endpoints, uses_vectors=True
)
"""The api role with a database login that cannot act as tga_system."""


@dataclass(frozen=True, slots=True)
class _RolePlan:
    """One role and everything it will run."""

    name: RoleName
    health: Health
    loops: tuple[Loop, ...]
    endpoints: RoleEndpoints


@dataclass(frozen=True, slots=True)
class _Listeners:
    """The sockets of one role."""

    public: socket.socket
    operations: socket.socket | None


@dataclass(frozen=True, slots=True)
class _Running:
    """One running role."""

    name: RoleName
    health: Health
    stopping: asyncio.Event
    loops: list[asyncio.Task[None]]
    servers: Sequence[HttpServer]
    close: Callable[[], None]


async def run_roles(
    settings: Settings,
    roles: Sequence[Role[App]],
    *,
    wait_for_stop: Callable[[], Awaitable[None]] | None = None,
    guard: Guard | None = None,
    further: FurtherProcess | None = None,
) -> None:
    """Run until SIGTERM or SIGINT (or until `wait_for_stop` returns), then drain.

    `further`: this process was started by the first one of the api role. Raises CannotStart if a role cannot
    start.
    """
    has_api = any(role.name is RoleName.API for role in roles)
    if further is not None:
        settings = further.own_settings(settings)
    elif has_api and (refusal := find_refusal(settings)) is not None:
        raise CannotStart(refusal.why, remedy=refusal.remedy)
    return_freed_memory()
    collect_seldom()
    switch_threads_often()
    BUILD.info({"version": __version__})
    CHANNEL_BOUND.channels = settings.telemetry.max_channel_series
    _warn_of_weak_key(settings.http)
    with _open_listeners(settings.http, roles, further) as listeners:
        assembling = _assemble_for(settings, roles, guard=guard, is_further=further is not None)
        async with assembling as (app, plans), asyncio.TaskGroup() as group:
            running_roles = [_start(plan, listeners[plan.name], app=app, group=group) for plan in plans]
            stop_event = asyncio.Event()
            group.create_task(_report_process(app, plans, stop_event))
            log.info(
                "started",
                roles=[role.name.value for role in roles],
                instance=app.instance,
                version=__version__,
            )
            if has_api and further is None:
                from telegram_assistant.web.pages.people.login import (  # noqa: PLC0415 -- as for the API
                    announce_first_owner_code,
                )

                # Beside the wait for a signal: one that comes meanwhile must not end the process unheard.
                group.create_task(announce_first_owner_code(app))
            await (wait_for_stop or partial(_wait_for_signal, is_further=further is not None))()
            log.info("stopping")
            await _drain(running_roles, grace_seconds=settings.process.shutdown_grace_seconds)
            stop_event.set()
    log.info("stopped")


def _warn_of_weak_key(http: HttpSettings) -> None:
    key = http.operator_key.get_secret_value()
    if key and (weakness := weakness_of_secret(key, variable="OPERATOR_KEY")):
        log.warning(
            "operator_key_is_weak", why=str(weakness), remedy="set it to what `tga keys operator` prints"
        )


@asynccontextmanager
async def _assemble_for(
    settings: Settings, roles: Sequence[Role[App]], *, guard: Guard | None, is_further: bool
) -> AsyncIterator[tuple[ApiApp, list[_RolePlan]]]:
    """Assemble only what these roles need: requests alone do without the system,
    ingest alone uses its own login for everything. Jobs are left to the first process of the api role.
    """
    names = {role.name for role in roles}
    if is_further or (names == {RoleName.API} and not await requests_may_act_as_system(settings.database)):
        async with assemble_api(settings) as api_app:
            yield api_app, [_plan(REQUESTS_ONLY, api_app)]
        return
    database = settings.database
    if names == {RoleName.INGEST}:
        database = database.model_copy(update={"system_url": database.url_of(DatabaseLogin.INGEST)})
    own, with_vectors = (
        settings.model_copy(update={"database": database}),
        any(role.uses_vectors for role in roles),
    )
    async with assemble(
        own, with_vectors=with_vectors, with_accounts=RoleName.INGEST in names, guard=guard
    ) as app:
        yield app, [_plan(role, app) for role in roles]


def _plan[A: ApiApp](role: Role[A], app: A) -> _RolePlan:
    """Build a role before any role starts. Raises CannotStart if it lacks what it needs."""
    endpoints = role.endpoints(app)
    health = Health(probes=app.probes, sections={**endpoints.sections, **files_section(app.files)})
    return _RolePlan(role.name, health, role.loops(app, health), endpoints)


def _start(plan: _RolePlan, listeners: _Listeners, *, app: ApiApp, group: asyncio.TaskGroup) -> _Running:
    health, stopping = plan.health, asyncio.Event()
    further_loops = further_processes(listeners.public, app.settings) if plan.name is RoleName.API else ()
    loops = [
        group.create_task(keep_running(loop, stopping=stopping, health=health), name=loop.name)
        for loop in (*plan.loops, *further_loops)
    ]
    sites = role_sites(
        role=plan.name,
        instance=app.instance,
        health=health,
        access=OperatorAccess(app.settings.http, FailedKeys(app.limiter)),
        endpoints=plan.endpoints,
        has_operations_port=listeners.operations is not None,
    )
    served_sites = [
        (sites.public, listeners.public),
        *([(sites.operations, listeners.operations)] if listeners.operations else []),
    ]
    servers = []
    for site, listener in served_sites:
        servers.append(HttpServer(site, request_timeout_seconds=app.settings.http.request_timeout_seconds))
        group.create_task(servers[-1].serve(sockets=[listener]))
    health.take_traffic()
    return _Running(plan.name, health, stopping, loops, servers, plan.endpoints.close)


async def _report_process(app: ApiApp, plans: Sequence[_RolePlan], stop_event: asyncio.Event) -> None:
    """Measure memory and disks, and send heartbeats, until the roles have drained."""
    roles = {plan.name.value: plan.health for plan in plans}
    heartbeats = Loop(
        "heartbeats",
        partial(send_heartbeats, processes=app.api.processes, instance=app.instance, roles=roles),
    )
    loops = (resources_loop(app.redis, folders_of(app.settings), [plan.health for plan in plans]), heartbeats)
    await asyncio.gather(*(keep_running(loop, stopping=stop_event, health=plans[0].health) for loop in loops))


async def _drain(running: Sequence[_Running], *, grace_seconds: float) -> None:
    for role in running:
        role.health.refuse_traffic("the process is stopping")
    deadline = asyncio.get_running_loop().time() + grace_seconds
    for role in running:
        role.stopping.set()
        if role.loops:
            _, late_tasks = await asyncio.wait(
                role.loops, timeout=max(0.0, deadline - asyncio.get_running_loop().time())
            )
            for task in late_tasks:
                log.warning(
                    "cut_off",
                    role=role.name.value,
                    work=task.get_name(),
                    why="its work in hand took longer than SHUTDOWN_GRACE_SECONDS",
                )
                task.cancel()
    for role in running:
        role.close()
        for server in role.servers:
            server.should_exit = True


async def _wait_for_signal(*, is_further: bool) -> None:
    signal_event = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signal_event.set)
    tasks: list[asyncio.Task[Any]] = [asyncio.create_task(signal_event.wait())]
    if is_further:
        tasks.append(asyncio.create_task(wait_for_first_process()))
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await cancel_and_wait(tasks)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(number)  # a second signal ends the process at once


@contextmanager
def _open_listeners(
    http: HttpSettings, roles: Sequence[Role[App]], further: FurtherProcess | None
) -> Iterator[dict[RoleName, _Listeners]]:
    """Open all ports first: if a role cannot have its port, no role may start."""
    with ExitStack() as stack:

        def listen(role: Role[App], host: str, port: int, remedy: Reason) -> socket.socket:
            try:
                return stack.enter_context(_listen(host, port))
            except OSError as error:
                reason = Reason(
                    "port_taken",
                    "the {role} role cannot listen on {host}:{port} ({error})",
                    role=role.name,
                    host=host,
                    port=port,
                    error=error.strerror or "",
                )
                raise CannotStart(reason, remedy=remedy) from error

        listeners = {}
        for role in roles:
            free_port = Reason(
                "free_port", "Free the port, or set {role}_PORT or HTTP_HOST", role=role.name.upper()
            )
            public = (
                listen(role, http.host, role.port(http), free_port)
                if further is None
                else stack.enter_context(further.listen())
            )
            port = role.operations_port(http)
            remedy = Reason(
                "free_operations_port",
                "Free the port, or set {role}_OPERATIONS_PORT or OPERATIONS_HOST",
                role=role.name.upper(),
            )
            operations_listener = (
                None if port is None else listen(role, http.operations_host or http.host, port, remedy)
            )
            listeners[role.name] = _Listeners(public, operations_listener)
        yield listeners


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    # asyncio sets this only on sockets that it has created itself; without it, small answers wait 40 ms for
    # each other.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
