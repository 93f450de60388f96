"""`tga demo`: the whole program with simulated channels, on this machine."""

import asyncio
import os
import sys
import threading
import time
import webbrowser
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

import typer
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table

from telegram_assistant.cli.environment import console, refuse
from telegram_assistant.cli.wording import words_of
from telegram_assistant.demo.environment import OpenDemo
from telegram_assistant.demo.folder import usual_folder
from telegram_assistant.demo.progress import DemoStep
from telegram_assistant.demo.removal import remove_demo
from telegram_assistant.demo.running import DemoOptions, run_demo
from telegram_assistant.demo.servers import LOOPBACK
from telegram_assistant.errors import CannotStart

REFRESHES_PER_SECOND = 8


def demo(
    port: Annotated[int, typer.Option(help="TCP port of the web page and the API.", min=1, max=65535)] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on. In a container: 0.0.0.0.")] = LOOPBACK,
    folder: Annotated[
        Path | None,
        typer.Option(help="Folder for all data. Default: telegram-assistant-demo in your data folder."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Another seed gives other posts. A demo keeps the seed that it was made with."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Delete the demo with all its data, and exit.")
    ] = False,
) -> None:
    """Run everything with simulated channels, without a Telegram account. Nothing leaves this machine. Ctrl-C
    stops it.

    Starts its own PostgreSQL and Redis; if DATABASE_URL and REDIS_URL are exported, it creates its own
    database there instead. With NEO4J_URI it also shows similar channels, and with a model of `tga models
    pull` it also searches by meaning.
    """
    demo_folder = folder or usual_folder(os.environ)
    try:
        if remove:
            _remove(demo_folder)
            return
        with _StepList() if console.is_terminal else _StepLines() as steps:

            def announce(open_demo: OpenDemo) -> None:
                steps.close()
                _announce(open_demo)
                if not no_browser and _has_screen():
                    threading.Thread(target=webbrowser.open, args=(open_demo.login,), daemon=True).start()

            asyncio.run(
                run_demo(
                    DemoOptions(demo_folder, port, host, seed),
                    environ=os.environ,
                    progress=steps,
                    announce=announce,
                )
            )
    except CannotStart as error:
        raise refuse(error.why, error.remedy) from error
    console.print("The demo has ended. The next `tga demo` shows the same posts.")


def _remove(demo_folder: Path) -> None:
    remaining_files = asyncio.run(remove_demo(demo_folder, environ=os.environ))
    if remaining_files is None:
        console.print(f"There is no demo in {demo_folder}.")
    elif remaining_files:
        console.print(
            f"Removed the demo in {demo_folder}. These files are not part of it and were left there: "
            f"{', '.join(remaining_files)}"
        )
    else:
        console.print(f"Removed the demo in {demo_folder}.")


def _announce(open_demo: OpenDemo) -> None:
    console.print(
        f"\nOpen [bold]{open_demo.login}[/]  (it works once; Ctrl-C stops the demo)", soft_wrap=True
    )
    console.print(f"API: {open_demo.address}docs  key: {open_demo.key}")
    console.print(
        "Posts are invented and keep arriving; older ones are read in the background. "
        "`tga demo --remove` deletes everything."
    )
    for note in open_demo.notes:
        console.print(f"{words_of(note)}.")


def _has_screen() -> bool:
    """Whether a browser would open in a window. Without a screen a browser may take over the terminal."""
    return sys.stdout.isatty() and (
        sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    )


class _StepLines:
    """Prints a line when a step has ended."""

    def __init__(self) -> None:
        self._began_by_step: dict[DemoStep, float] = {}
        self._seconds_by_step: dict[DemoStep, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def begin(self, step: DemoStep) -> None:
        self._began_by_step[step] = time.monotonic()

    def finish(self, step: DemoStep) -> None:
        self._seconds_by_step[step] = time.monotonic() - self._began_by_step[step]
        self._show(step)

    def close(self) -> None:
        """Nothing more is shown."""

    def _show(self, step: DemoStep) -> None:
        console.print(f"✔ {step:<12} {self._seconds_by_step[step]:5.1f} s")


class _StepList(_StepLines):
    """Draws all steps on a terminal, with a tick or the seconds so far."""

    def __init__(self) -> None:
        super().__init__()
        self._spinner = Spinner("dots")
        self._live = Live(
            get_renderable=self._table, console=console, refresh_per_second=REFRESHES_PER_SECOND
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def close(self) -> None:
        self._live.stop()

    def _show(self, step: DemoStep) -> None:
        self._live.refresh()

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 1))
        now = time.monotonic()
        for step in DemoStep:
            if step in self._seconds_by_step:
                table.add_row("[green]✔[/]", step, f"{self._seconds_by_step[step]:.1f} s")
            elif step in self._began_by_step:
                table.add_row(self._spinner, step, f"{now - self._began_by_step[step]:.1f} s")
            else:
                table.add_row(" ", f"[dim]{step}[/]", "")
        return table
