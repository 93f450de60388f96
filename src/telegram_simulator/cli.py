"""The `tga-sim` command."""

import asyncio
import gc
import json
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

from telegram_simulator.control.http import control_app
from telegram_simulator.living import live, live_on_plan
from telegram_simulator.mtproto.crypto import load_or_make_key
from telegram_simulator.simulator import DATA_CENTRES, Options, Simulator, running
from telegram_simulator.web.site import web_app
from telegram_simulator.world.demo.demo import DAYS, Demo
from telegram_simulator.world.demo.links import SITE
from telegram_simulator.world.demo.plan import DAY
from telegram_simulator.world.demo.sample import sample
from telegram_simulator.world.tiny import tiny_channels
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
        WorldName, typer.Argument(help="tiny: three channels with one of everything. demo: 48 channels full of stories. load: as many as you like.")
    ] = WorldName.TINY,
    channels: Annotated[int, typer.Option(help="load: how many channels.", min=1)] = 1000,
    posts: Annotated[int, typer.Option(help="load: posts in each channel before now.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Same seed and same --now: same world, byte for byte.")] = 1,
    now: Annotated[str, typer.Option(help="The world's present, like 2026-11-01T00:00:00Z. Its clock then stands still, unless --live.")] = "",
    live_on: Annotated[bool, typer.Option("--live", help="load: channels go on posting by their rhythm.")] = False,
    size: Annotated[Size, typer.Option(help="demo: two weeks of history, or seven for measuring.")] = Size.DEMO,
    catch_up: Annotated[float, typer.Option(help="demo: replay the history at so many times the speed of life, until it meets now.", min=0.0)] = 0.0,
    show: Annotated[bool, typer.Option("--show", help="demo: print a reading sample and end.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on. Others than loopback only where you trust everybody.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of data centre 2; 0 takes any.")] = 8443,
    second_port: Annotated[int, typer.Option(help="Port of data centre 4.")] = 8444,
    control_port: Annotated[int, typer.Option(help="Port of the control door (HTTP).")] = 8445,
    web_port: Annotated[
        int, typer.Option(help="Port of the web side (HTTP): public previews of channels, and articles that the demo links to.")
    ] = 8446,
    links_to: Annotated[str, typer.Option(help="demo: where links in posts lead: an address, or `here` for this program's own web side.")] = SITE,
    limits: Annotated[Limits, typer.Option(help="Flood rules as people have observed them at Telegram, or none.")] = Limits.TELEGRAM,
    gzip_level: Annotated[int, typer.Option("--gzip", help="Compress answers: 0 no, 1 fast, 9 best.", min=0, max=9)] = 0,
    key: Annotated[Path, typer.Option(help="The server's key; made if missing.")] = USUAL_KEY,
    where: Annotated[Path | None, typer.Option(help="Write the addresses there as JSON, once everything listens.")] = None,
) -> None:
    """A local Telegram that unmodified clients connect to. It is not Telegram, and nothing leaves this machine.

    Clients need three settings: TELEGRAM_DC_ADDR, TELEGRAM_DC_PORT and TELEGRAM_DC_PUBLIC_KEY (GET /key on the control port).
    Log in with any phone number and the code 12345, or take a ready session: POST /accounts/79990000001/session.
    """
    present, key = _present(now), key.expanduser()
    if not key.exists():
        typer.echo("making the server's key, once; this takes a few seconds", err=True)
    clock = _clock(present, stands_still=bool(now) and not live_on and not catch_up)
    many = Many(seed, channels, posts, present) if world is WorldName.LOAD else None
    demo = None
    if world is WorldName.DEMO:
        days = DAYS[size.value]
        clock = _hurried(clock, present - days * DAY, catch_up) if catch_up else clock
        demo = Demo(seed=seed, present=present, clock=clock, days=days, site=_site(links_to))
    if demo is not None and show:
        for line in sample(demo):
            typer.echo(line)
        return
    made = _world(world, seed, present, clock, many=many, demo=demo)
    options = Options(host, (port, second_port), gzip_level, limits={} if limits is Limits.OFF else None)
    try:
        door = _Door(options, control_port, web_port, key, where, demo if links_to == HERE else None)
        asyncio.run(_serve(made, door, _life(many if live_on else None, demo)))
    except OSError as error:
        typer.echo(f"tga-sim: {error.strerror}; choose other ports with --port, --second-port, --control-port and --web-port", err=True)
        raise typer.Exit(1) from error


def _present(text: str) -> int:
    wall = int(time.time())
    if not text:
        return wall
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter("--now is a moment like 2026-11-01T00:00:00Z") from error
    present = int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp())
    if present > wall:
        raise typer.BadParameter("--now is in the future; the world's dates are never later than the clock on the wall")
    return present


def _site(links_to: str) -> str:
    if links_to != HERE and not links_to.startswith(("http://", "https://")):
        raise typer.BadParameter("--links-to is an address like http://127.0.0.1:8446, or here")
    return links_to.rstrip("/")


def _world(name: WorldName, seed: int, present: int, clock: Clock, *, many: Many | None, demo: Demo | None) -> World:
    if demo is not None:
        return World(seed=seed, clock=clock, channels=demo.channels, stories=demo.stories, press=demo.press())
    return World(seed=seed, clock=clock, many=many, channels=tiny_channels(present) if name is WorldName.TINY else ())


def _life(many: Many | None, demo: Demo | None) -> Life | None:
    """What goes on while it runs."""
    if demo is not None:
        return lambda simulator: live_on_plan(simulator, demo)
    return None if many is None else lambda simulator: live(simulator, many)


def _hurried(wall: Clock, begins: int, speed: float) -> Clock:
    """A clock that runs from `begins` at that speed until it meets the other one."""
    started = time.monotonic()
    return lambda: min(wall(), begins + (time.monotonic() - started) * speed)


def _clock(present: int, *, stands_still: bool) -> Clock:
    began = time.time()
    return (lambda: float(present)) if stands_still else (lambda: present + time.time() - began)


@dataclass(frozen=True, slots=True)
class _Door:
    options: Options
    control_port: int
    web_port: int
    key: Path
    where: Path | None
    links_here: Demo | None
    """The demo whose links lead to the web side, wherever that will be."""


async def _serve(world: World, door: _Door, life_of: Life | None) -> None:
    control_socket, web_socket = (socket.create_server((door.options.host, port)) for port in (door.control_port, door.web_port))
    if door.links_here is not None:
        door.links_here.site = _url(door, web_socket)
    async with running(world, load_or_make_key(door.key), door.options) as simulator, asyncio.TaskGroup() as group:
        simulator.web_url = _url(door, web_socket)
        doors = control_app(simulator), web_app(simulator)
        servers = [
            _Quiet(uvicorn.Config(one, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=PATIENCE)) for one in doors
        ]
        for server, listener in zip(servers, (control_socket, web_socket), strict=True):
            group.create_task(server.serve(sockets=[listener]))
        life = group.create_task(life_of(simulator)) if life_of is not None else None
        while not all(server.started for server in servers):
            await asyncio.sleep(0.01)
        # A page makes hundreds of small objects and no cycles; looking for cycles as often as usual costs a third of its time.
        gc.freeze()
        gc.set_threshold(100_000, 50, 50)
        _announce(simulator, _url(door, control_socket), door)
        await _told_to_stop()
        for server in servers:
            server.should_exit = True
        if life is not None:
            life.cancel()


def _url(door: _Door, listener: socket.socket) -> str:
    return f"http://{door.options.host}:{listener.getsockname()[1]}"


def _announce(simulator: Simulator, control_url: str, door: _Door) -> None:
    typer.echo("This is not Telegram. It is a simulator on your own machine.")
    for dc_id in DATA_CENTRES:
        typer.echo(f"  data centre {dc_id}   {simulator.host}:{simulator.ports[dc_id]}")
    typer.echo(f"  web side        {simulator.web_url}/s/NAME  (public previews; PREVIEWS_URL={simulator.web_url})")
    if door.links_here is not None:
        typer.echo(f"  newspaper       {simulator.web_url}  (articles that posts link to)")
    typer.echo(f"  control door    {control_url}  (open it: it explains itself)")
    sys.stdout.flush()
    if door.where is not None:
        addresses = {"host": simulator.host, "ports": simulator.ports, "control": control_url, "web": simulator.web_url}
        door.where.write_text(json.dumps({**addresses, "key": simulator.rsa_key.public_pem}))


async def _told_to_stop() -> None:
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    await told.wait()


class _Quiet(uvicorn.Server):
    """uvicorn without its own signal handling."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def main() -> None:
    """Entry point."""
    app()
