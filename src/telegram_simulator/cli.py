"""The `tga-sim` command."""

import asyncio
import gc
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import uvicorn

from telegram_simulator.control.access import new_key
from telegram_simulator.control.http import control_app
from telegram_simulator.living import live, live_at_pace, live_on_plan
from telegram_simulator.mtproto.crypto import load_or_make_key
from telegram_simulator.simulator import DATA_CENTRES, Options, Simulator, running
from telegram_simulator.web.site import web_app
from telegram_simulator.world.demo.demo import DAYS, Demo
from telegram_simulator.world.demo.journal import Journal
from telegram_simulator.world.demo.links import SITE
from telegram_simulator.world.demo.plan import DAY
from telegram_simulator.world.demo.sample import sample
from telegram_simulator.world.tiny import tiny_channels
from telegram_simulator.world.unruly.unruly import make_unruly_world
from telegram_simulator.world.world import Many, World

HERE = "here"
PATIENCE = 1
"""Seconds that a slow page may still take when everything stops."""
USUAL_KEY = Path("~/.cache/telegram-simulator/key.pem")

type Clock = Callable[[], float]
type Life = Callable[[Simulator], Coroutine[None, None, None]]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class WorldName(StrEnum):
    """Which world."""

    TINY = "tiny"
    LOAD = "load"
    DEMO = "demo"
    UNRULY = "unruly"


class Size(StrEnum):
    """How far the demo's history reaches back."""

    DEMO = "demo"
    MEASURING = "measuring"


class Limits(StrEnum):
    """How patient it is."""

    TELEGRAM = "telegram"
    OFF = "off"


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
def serve(
    world: Annotated[
        WorldName,
        typer.Argument(
            help="tiny: three channels with one of everything. demo: 48 channels full of stories. "
            "unruly: the demo with everything that makes real channels hard to read. load: as many channels "
            "as you like."
        ),
    ] = WorldName.TINY,
    channels: Annotated[int, typer.Option(help="load: how many channels.", min=1)] = 1000,
    posts: Annotated[int, typer.Option(help="load: posts that each channel already has.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Same seed and same --now: same world, byte for byte.")] = 1,
    now: Annotated[
        str,
        typer.Option(
            help="Current time in the world, like 2026-11-01T00:00:00Z. Its clock then stands still, "
            "unless you give --live."
        ),
    ] = "",
    live_on: Annotated[
        bool, typer.Option("--live", help="load: channels keep posting at their usual rhythm.")
    ] = False,
    size: Annotated[
        Size, typer.Option(help="demo: two weeks of history (demo) or seven (measuring).")
    ] = Size.DEMO,
    catch_up: Annotated[
        float,
        typer.Option(
            help="demo: replay the history at this many times real speed, up to the present.", min=0.0
        ),
    ] = 0.0,
    pace: Annotated[
        float,
        typer.Option(
            help="demo: what is planned after --now happens one after the other, "
            "every so many seconds on average.",
            min=0.0,
        ),
    ] = 0.0,
    journal: Annotated[
        Path | None,
        typer.Option(
            help="demo, with --pace: file of what has happened. The next start with the same --now "
            "continues from there."
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="demo: print sample posts and exit.")] = False,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Use one other than loopback only where you trust everybody."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of data centre 2; 0: any free port.")] = 8443,
    second_port: Annotated[int, typer.Option(help="Port of data centre 4.")] = 8444,
    control_port: Annotated[int, typer.Option(help="Port of the control API (HTTP).")] = 8445,
    web_port: Annotated[
        int,
        typer.Option(
            help="Port of the web server (HTTP): public previews of channels, "
            "and articles that the demo links to."
        ),
    ] = 8446,
    links_to: Annotated[
        str,
        typer.Option(
            help="demo: where links in posts lead: an address, or `here` for this program's own web server."
        ),
    ] = SITE,
    limits: Annotated[
        Limits, typer.Option(help="Flood limits as people have observed them at Telegram, or none.")
    ] = Limits.TELEGRAM,
    gzip_level: Annotated[
        int,
        typer.Option("--gzip", help="Compression of responses: 0 none, 1 fastest, 9 smallest.", min=0, max=9),
    ] = 0,
    key: Annotated[Path, typer.Option(help="File with the server's key; created if missing.")] = USUAL_KEY,
    where: Annotated[
        Path | None,
        typer.Option(
            help="File to write the addresses and the key of the control API to, as JSON, "
            "once all servers are listening."
        ),
    ] = None,
) -> None:
    """A local simulation of Telegram for unmodified clients. It is not Telegram itself, and nothing leaves
    this machine.

    Clients need three settings: TELEGRAM_DC_ADDR, TELEGRAM_DC_PORT and TELEGRAM_DC_PUBLIC_KEY (GET /key on
    the control port). Log in with any phone number and the code 12345, or get a ready-made session: POST
    /accounts/79990000001/session.
    """
    present, key = _present(now), key.expanduser()
    clock = time.time if pace else _clock(present, stands_still=bool(now) and not live_on and not catch_up)
    many = Many(seed, channels, posts, present) if world is WorldName.LOAD else None
    demo, paced = None, Journal(journal) if pace else None
    if world in {WorldName.DEMO, WorldName.UNRULY}:
        days = DAYS[size.value]
        clock = _hurry_clock(clock, present - days * DAY, catch_up) if catch_up else clock
        steps = None if paced is None else paced.steps
        make_demo = make_unruly_world if world is WorldName.UNRULY else Demo
        demo = make_demo(
            seed=seed, present=present, clock=clock, days=days, site=_site(links_to), steps=steps
        )
    if demo is not None and show:
        for line in sample(demo):
            typer.echo(line)
        return
    made_world = _world(world, seed, present, clock, many=many, demo=demo)
    options = Options(host, (port, second_port), gzip_level, limits={} if limits is Limits.OFF else None)
    try:
        serving = _Serving(options, control_port, web_port, key, where, demo if links_to == HERE else None)
        life = _life_at_pace(demo, pace, paced) if demo and paced else _life(many if live_on else None, demo)
        asyncio.run(_serve(made_world, serving, life))
    except OSError as error:
        typer.echo(
            f"tga-sim: {error.strerror}; choose other ports with --port, --second-port, "
            "--control-port and --web-port",
            err=True,
        )
        raise typer.Exit(1) from error


def _present(text: str) -> int:
    now = int(time.time())
    if not text:
        return now
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter("--now is a moment like 2026-11-01T00:00:00Z") from error
    present = int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp())
    if present > now:
        raise typer.BadParameter(
            "--now is in the future; the world's dates are never later than the clock on the wall"
        )
    return present


def _site(links_to: str) -> str:
    if links_to != HERE and not links_to.startswith(("http://", "https://")):
        raise typer.BadParameter("--links-to is an address like http://127.0.0.1:8446, or here")
    return links_to.rstrip("/")


def _world(
    name: WorldName, seed: int, present: int, clock: Clock, *, many: Many | None, demo: Demo | None
) -> World:
    if demo is not None:
        return World(seed=seed, clock=clock, channels=demo.channels, stories=demo.stories, press=demo.press())
    return World(
        seed=seed, clock=clock, many=many, channels=tiny_channels(present) if name is WorldName.TINY else ()
    )


def _life(many: Many | None, demo: Demo | None) -> Life | None:
    """The background task that publishes posts while the simulator runs, if the world has one."""
    if demo is not None:
        return lambda simulator: live_on_plan(simulator, demo)
    return None if many is None else lambda simulator: live(simulator, many)


def _life_at_pace(demo: Demo, seconds: float, journal: Journal) -> Life:
    return lambda simulator: live_at_pace(simulator, demo, seconds=seconds, before_step=journal.add)


def _hurry_clock(wall_clock: Clock, begins: int, speed: float) -> Clock:
    """A clock that runs from `begins` at that speed until it meets the other one."""
    started_at = time.monotonic()
    return lambda: min(wall_clock(), begins + (time.monotonic() - started_at) * speed)


def _clock(present: int, *, stands_still: bool) -> Clock:
    began_at = time.time()
    return (lambda: float(present)) if stands_still else (lambda: present + time.time() - began_at)


@dataclass(frozen=True, slots=True)
class _Serving:
    options: Options
    control_port: int
    web_port: int
    key: Path
    where: Path | None
    links_here: Demo | None
    """The demo whose links lead to the web server, wherever that will be."""


async def _serve(world: World, serving: _Serving, life_of: Life | None) -> None:
    control_socket, web_socket = (
        socket.create_server((serving.options.host, port))
        for port in (serving.control_port, serving.web_port)
    )
    if serving.links_here is not None:
        serving.links_here.site = _url(serving, web_socket)
    control_key = new_key()
    async with (
        running(world, load_or_make_key(serving.key), serving.options) as simulator,
        asyncio.TaskGroup() as group,
    ):
        simulator.web_url = _url(serving, web_socket)
        apps = control_app(simulator, key=control_key), web_app(simulator)
        servers = [
            _Quiet(
                uvicorn.Config(
                    app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=PATIENCE
                )
            )
            for app in apps
        ]
        for server, listener in zip(servers, (control_socket, web_socket), strict=True):
            group.create_task(server.serve(sockets=[listener]))
        life = group.create_task(life_of(simulator)) if life_of is not None else None
        while not all(server.started for server in servers):
            await asyncio.sleep(0.01)
        # A page makes hundreds of small objects and no cycles; looking for cycles as often as usual costs a
        # third of its time.
        gc.freeze()
        gc.set_threshold(100_000, 50, 50)
        _announce(simulator, _url(serving, control_socket), control_key, serving)
        await _wait_for_signal()
        for server in servers:
            server.should_exit = True
        if life is not None:
            life.cancel()


def _url(serving: _Serving, listener: socket.socket) -> str:
    return f"http://{serving.options.host}:{listener.getsockname()[1]}"


def _announce(simulator: Simulator, control_url: str, control_key: str, serving: _Serving) -> None:
    typer.echo("This is not Telegram. It is a simulator on your own machine.")
    for dc_id in DATA_CENTRES:
        typer.echo(f"  data centre {dc_id}   {simulator.host}:{simulator.ports[dc_id]}")
    typer.echo(
        f"  web server      {simulator.web_url}/s/NAME  (public previews; PREVIEWS_URL={simulator.web_url})"
    )
    if serving.links_here is not None:
        typer.echo(f"  newspaper       {simulator.web_url}  (articles that posts link to)")
    typer.echo(f"  control API     {control_url}  (open it: it explains itself)")
    typer.echo(
        f"  its key         export SIM_KEY={control_key}"
        if serving.where is None
        else f"  its key         in {serving.where}"
    )
    sys.stdout.flush()
    if serving.where is not None:
        addresses = {
            "host": simulator.host,
            "ports": simulator.ports,
            "control": control_url,
            "web": simulator.web_url,
        }
        _write_for_owner(
            serving.where,
            json.dumps({**addresses, "control_key": control_key, "key": simulator.rsa_key.public_pem}),
        )


def _write_for_owner(path: Path, text: str) -> None:
    """Writes the file at once, for this user's eyes only."""
    unfinished_file = path.with_name(path.name + ".new")
    unfinished_file.unlink(missing_ok=True)
    with os.fdopen(
        os.open(unfinished_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(text)
    unfinished_file.rename(path)


async def _wait_for_signal() -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    await stopping.wait()


class _Quiet(uvicorn.Server):
    """uvicorn without its own signal handling."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def main() -> None:
    """Entry point."""
    app()
