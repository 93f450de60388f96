"""The roles of the program, and running one or all of them in one process.

    ingest   follows Telegram
    worker   runs the stages between a post and its index
    api      answers people, and runs the periodic jobs

SIGTERM drains them in that order: nothing new comes in, what is under way goes through, people are served last.
"""

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

import uvicorn

from telegram_assistant import __version__, clock, follow, work
from telegram_assistant.api.ingest import ingest_pages
from telegram_assistant.api.site import api_pages
from telegram_assistant.api.status import Pages, status_app
from telegram_assistant.assembly import App, assemble
from telegram_assistant.errors import CannotStart
from telegram_assistant.settings import HttpSettings, Settings
from telegram_assistant.supervision import Loop, keep_running
from telegram_assistant.telemetry.health import Health
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import BUILD, CHANNEL_BOUND

log = get_logger()


class RoleName(StrEnum):
    """What a process can be asked to do."""

    INGEST = "ingest"
    WORKER = "worker"
    API = "api"


@dataclass(frozen=True, slots=True)
class Role:
    """A port, and the loops that run behind it."""

    name: RoleName
    port: Callable[[HttpSettings], int]
    loops: Callable[[App, Health], tuple[Loop, ...]]
    pages: Callable[[App], Pages] = lambda _app: Pages()
    uses_vectors: bool = False


ROLES = (
    Role(RoleName.INGEST, lambda http: http.ingest_port, follow.loops, ingest_pages),
    Role(RoleName.WORKER, lambda http: http.worker_port, work.loops, uses_vectors=True),
    Role(RoleName.API, lambda http: http.api_port, lambda app, health: (clock.keep_time(app, health),), api_pages, uses_vectors=True),
)
"""In the order in which they drain."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """One role with all that it will run."""

    role: Role
    health: Health
    loops: tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class _Running:
    """One role at work."""

    role: Role
    health: Health
    stopping: asyncio.Event
    loops: list[asyncio.Task[None]]
    server: "_Server"


async def run_roles(settings: Settings, roles: Sequence[Role], *, told_to_stop: Callable[[], Awaitable[None]] | None = None) -> None:
    """Run until SIGTERM or SIGINT (or until `told_to_stop` returns), then drain. CannotStart when a role cannot begin."""
    BUILD.info({"version": __version__})
    CHANNEL_BOUND.channels = settings.telemetry.max_channel_series
    with _listening(settings.http, roles) as sockets:
        async with assemble(settings, with_vectors=any(role.uses_vectors for role in roles)) as app:
            planned = [_plan(role, app) for role in roles]
            async with asyncio.TaskGroup() as group:
                running = [_start(one, sockets[one.role.name], app=app, group=group) for one in planned]
                log.info("started", roles=[role.name.value for role in roles], instance=app.instance, version=__version__)
                await (told_to_stop or _signalled)()
                log.info("stopping")
                await _drain(running, grace_seconds=settings.process.shutdown_grace_seconds)
    log.info("stopped")


def _plan(role: Role, app: App) -> _Planned:
    """Before any role has begun: CannotStart where one of them lacks what it needs."""
    health = Health(probes=app.probes)
    return _Planned(role, health, role.loops(app, health))


def _start(planned: _Planned, listener: socket.socket, *, app: App, group: asyncio.TaskGroup) -> _Running:
    role, health = planned.role, planned.health
    stopping = asyncio.Event()
    loops = [group.create_task(keep_running(loop, stopping=stopping, health=health)) for loop in planned.loops]
    site = status_app(role=role.name, instance=app.instance, health=health, operator_key=app.settings.http.operator_key, pages=role.pages(app))
    server = _Server(uvicorn.Config(site, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=5))
    group.create_task(server.serve(sockets=[listener]))
    health.take_traffic()
    return _Running(role, health, stopping, loops, server)


async def _drain(running: Sequence[_Running], *, grace_seconds: float) -> None:
    for one in running:
        one.health.refuse_traffic("the process is stopping")
    deadline = asyncio.get_running_loop().time() + grace_seconds
    for one in running:
        one.stopping.set()
        if one.loops:
            _, late = await asyncio.wait(one.loops, timeout=max(0.0, deadline - asyncio.get_running_loop().time()))
            for task in late:
                log.warning("cut_off", role=one.role.name.value, why="its work in hand took longer than SHUTDOWN_GRACE_SECONDS")
                task.cancel()
    for one in running:
        one.server.should_exit = True


async def _signalled() -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    await told.wait()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(number)  # a second signal ends the process at once


@contextmanager
def _listening(http: HttpSettings, roles: Sequence[Role]) -> Iterator[dict[RoleName, socket.socket]]:
    """Take all ports first: a role that cannot have its own must not have begun to work."""
    sockets: dict[RoleName, socket.socket] = {}
    try:
        for role in roles:
            port = role.port(http)
            try:
                listener = socket.create_server((http.host, port), family=socket.AF_INET6 if ":" in http.host else socket.AF_INET)
                # asyncio does it only for sockets that it has made itself; without it, small answers wait 40 ms for each other.
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sockets[role.name] = listener
            except OSError as error:
                why = f"the {role.name} role cannot listen on {http.host}:{port} ({error.strerror})"
                raise CannotStart(why, remedy=f"Free the port, or set {role.name.upper()}_PORT or HTTP_HOST") from error
        yield sockets
    finally:
        for listener in sockets.values():
            listener.close()


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling: one place in this process decides when to stop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
