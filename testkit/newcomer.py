"""A newcomer who follows README.md word for word, on a clean clone: `python -m testkit.newcomer`.

Every command under "Start without containers" is typed into one shell, in its order. A program that keeps
running is looked at in a real browser and ended with Ctrl-C: the demo must show posts, the program its first
page. Servers are the clone's own; if TGA_SERVERS_DIR is set, the ones that run there. With --offline, what an
installation downloads comes from this checkout and from caches.
"""

import argparse
import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import httpx
from playwright.async_api import expect

from testkit.checkouts import CHECKOUT
from testkit.chromium import ENGLISH_DESKTOP, open_chromium, open_tab

HEADING = "## Start without containers"
ADDRESS = "http://127.0.0.1:8000"
DONE = re.compile(r"^::(\d+)$")
DEMO = re.compile(r"^Open (http\S+)")
FIRST_OWNER = re.compile(r'"(http[^"]+/start\?code=\w+)"')
BROWSER_FILES = "src/telegram_assistant/web/static/vendor"


def commands(readme: str) -> list[str]:
    """The lines of the first block under the heading, as they stand there; the comments are part of them."""
    match = re.search(r"```sh\n(.*?)```", readme.partition(HEADING)[2], re.DOTALL)
    assert match is not None, f"README.md has no commands under {HEADING!r}"
    return [line for line in match[1].splitlines() if line]


class Terminal:
    """A shell that gets one line after the other."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self._shell = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
        )
        self._printed: list[str] = []

    def type(self, line: str) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"{line}\necho ::$?\n")

    def until(self, pattern: re.Pattern[str]) -> str:
        """Waits for a printed line with the pattern, and returns its first group.

        Fails if the command ends before.
        """
        assert self._shell.stdout is not None
        for line in self._shell.stdout:
            self._printed.append(line)
            if match := pattern.search(line.rstrip("\n")):
                return match[1]
            if DONE.search(line.rstrip("\n")):
                break
        return self.give_up("it ended too early")

    def finish(self) -> None:
        if (code := self.until(DONE)) != "0":
            self.give_up(f"it ended with {code}")

    def give_up(self, why: str) -> NoReturn:
        sys.exit(f"{why}:\n{''.join(self._printed[-30:])}")

    def interrupt(self) -> None:
        """Ctrl-C: for the program that runs in the shell."""
        children = (
            Path(f"/proc/{self._shell.pid}/task/{self._shell.pid}/children")
            .read_text(encoding="ascii")
            .split()
        )
        for child in children:
            os.kill(int(child), signal.SIGINT)

    def close(self) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        self._shell.wait(60)


async def read_the_demo(link: str) -> str:
    async with open_chromium() as chromium, open_tab(chromium, ENGLISH_DESKTOP, ADDRESS) as page:
        await page.goto(link)
        await page.locator("main button").click()
        posts = page.locator("article[data-post]")
        await expect(posts.first).to_be_visible()
        return f"{await posts.count()} posts on {page.url}"


async def open_the_program(link: str) -> str:
    async with open_chromium() as chromium, open_tab(chromium, ENGLISH_DESKTOP, ADDRESS) as page:
        await page.goto(link)
        await expect(page.locator("input[name=code]")).to_have_value(link.rpartition("=")[2])
        return f"{await page.locator('h1').inner_text()!r} on {page.url}"


def until_it_answers() -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{ADDRESS}/ready").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    sys.exit(f"nobody answers on {ADDRESS}")


def follow(terminal: Terminal, line: str) -> str:
    """Types a line and waits for its end.

    If the program keeps running, looks at its page first. Returns the text of the page.
    """
    terminal.type(line)
    command, seen = line.partition("  #")[0].strip(), ""
    if command.endswith("tga demo"):
        seen = asyncio.run(read_the_demo(terminal.until(DEMO)))
        terminal.interrupt()
    elif command.endswith("tga run"):
        link = terminal.until(FIRST_OWNER)
        until_it_answers()
        seen = asyncio.run(open_the_program(link))
        terminal.interrupt()
    terminal.finish()
    return seen


def take_along(part: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    if part.is_dir():
        shutil.copytree(part, copy)
    else:
        shutil.copy(part, copy)


@contextmanager
def clone(*, offline: bool) -> Iterator[tuple[Path, dict[str, str]]]:
    """A clone of the committed files, and the environment of a newcomer."""
    with tempfile.TemporaryDirectory(prefix="newcomer-") as place:
        folder = Path(place) / "telegram-assistant"
        Path(place).chmod(0o755)  # PostgreSQL runs as a user of its own
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(CHECKOUT), str(folder)], check=True)
        ours = ("DATABASE_", "REDIS_", "S3_", "NEO4J_", "PYTHON", "VIRTUAL_ENV")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {
            "XDG_DATA_HOME": place
        }
        if offline:
            environ["UV_OFFLINE"] = "1"
            subprocess.run([sys.executable, "-m", "venv", str(folder / ".venv")], check=True)
            for part in (
                *(CHECKOUT / ".venv").glob("lib/*/site-packages/uv"),
                *(CHECKOUT / ".venv").glob("lib/*/site-packages/uv-*"),
                CHECKOUT / ".venv/bin/uv",
                CHECKOUT / BROWSER_FILES,
            ):
                take_along(part, folder / part.relative_to(CHECKOUT))
        try:
            yield folder, environ
        finally:
            if "TGA_SERVERS_DIR" not in environ:
                subprocess.run(
                    ["scripts/servers", "down"],
                    cwd=folder,
                    env=environ,
                    stdout=subprocess.DEVNULL,
                    check=False,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--offline", action="store_true", help="download nothing")
    options = parser.parse_args()
    with clone(offline=options.offline) as (folder, environ):
        terminal = Terminal(folder, environ)
        for line in commands((folder / "README.md").read_text(encoding="utf-8")):
            began = time.monotonic()
            print(f"$ {line}", flush=True)
            seen = follow(terminal, line)
            print(f"  {time.monotonic() - began:.0f} s{f': {seen}' if seen else ''}", flush=True)
        terminal.close()


if __name__ == "__main__":
    main()
