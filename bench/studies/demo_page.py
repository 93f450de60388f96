"""The demo as a newcomer meets it: a wheel in an empty environment, `tga demo`, and how soon posts and a
story can be read.

The wheel is built and installed from this checkout; the clock starts at `tga demo`. There are Python,
PostgreSQL and Redis, and nothing else: no address of a server, no key, no network but loopback. Attempts to
leave the machine are counted by the kernel. A second start must show every post of the first.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from testkit.checkouts import CHECKOUT
from testkit.demos import PostKey, find_started, running_demo, still_running
from testkit.engines import free_port
from testkit.harness import arguments, at_least, at_most, finish
from testkit.network import count_refused_connections, leave_network

LIMITS = (
    *at_most(60.0, "first_posts_s", "first_story_s"),
    *at_most(0, "outside_connections", "lost", "left_processes", "left_files", "exit_codes"),
    *at_least(100, "posts"),
)
POSTS = re.compile(r"^✔ (first posts)")
UV = Path(sys.executable).parent / "uv"


@dataclass(frozen=True)
class Visit:
    """One start of the demo, from the command to its end."""

    posts_s: float
    story_s: float
    posts: dict[PostKey, str]
    stop_s: float
    exit_code: int
    left_processes: list[str]


def install(folder: Path) -> Path:
    """The program in an environment of its own, from a wheel and the locked dependencies.

    Returns the command.
    """
    wheels, environment = folder / "wheels", folder / "venv"
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels))
    run(str(UV), "venv", "--quiet", "--python", sys.executable, str(environment))
    into = (str(UV), "pip", "install", "--quiet", "--python", str(environment / "bin/python"))
    run(*into, "--require-hashes", "-r", str(CHECKOUT / "requirements/run.txt"))
    run(*into, "--no-deps", *map(str, wheels.glob("*.whl")))
    return environment / "bin/tga"


def run(*command: str) -> None:
    subprocess.run(command, cwd=CHECKOUT, check=True, stdout=subprocess.DEVNULL)


def visit(tga: Path, folder: Path, seconds: float) -> Visit:
    with running_demo(
        folder, bare_environment(folder.parent), "--port", str(free_port()), command=[str(tga)]
    ) as demo:
        demo.until(POSTS)
        posts_s = time.monotonic() - demo.began
        api = demo.until_open()
        assert api.get("/stories?limit=1")["items"]
        story_s = time.monotonic() - demo.began
        time.sleep(seconds)
        posts, started = api.posts(), find_started(folder)
        began = time.monotonic()
        exit_code = demo.stop()
        return Visit(posts_s, story_s, posts, time.monotonic() - began, exit_code, still_running(started))


def bare_environment(home: Path) -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}


def measure(tga: Path, folder: Path, seconds: float) -> dict[str, object]:
    leave_network()
    before = count_refused_connections()
    first = visit(tga, folder, seconds)
    second = visit(tga, folder, seconds=0)
    removed = subprocess.run(
        [tga, "demo", "--folder", str(folder), "--remove"], env=bare_environment(folder.parent), check=False
    )
    return {
        "bench": "demo_page",
        "first_posts_s": round(first.posts_s, 1),
        "first_story_s": round(first.story_s, 1),
        "outside_connections": count_refused_connections() - before,
        "second_story_s": round(second.story_s, 1),
        "posts": len(first.posts),
        "lost": len(first.posts.keys() - second.posts.keys()),
        "stop_s": round(max(first.stop_s, second.stop_s), 1),
        "exit_codes": sum(map(abs, (first.exit_code, second.exit_code, removed.returncode))),
        "left_processes": [*first.left_processes, *second.left_processes],
        "left_files": [str(folder)] if folder.exists() else [],
        "seconds": seconds,
        "cores": os.cpu_count(),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long the first visit lasts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        home.chmod(0o755)  # PostgreSQL runs as a user of its own
        result = measure(install(home), home / "demo", options.seconds)
    finish(result, options, *LIMITS)


if __name__ == "__main__":
    main()
