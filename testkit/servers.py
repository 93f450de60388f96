"""Servers of a test's own, started and stopped by scripts/servers in a folder of their own."""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent
SCRIPT = CHECKOUT / "scripts/servers"


@dataclass(frozen=True)
class OwnServers:
    folder: Path

    def run(self, *arguments: str) -> str:
        environ = {**os.environ, "TGA_SERVERS_DIR": str(self.folder)}
        done = subprocess.run(
            [SCRIPT, *arguments], env=environ, capture_output=True, text=True, check=False, timeout=240
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def kill(self, name: str) -> None:
        """Kills a server without warning."""
        os.kill(self.pid(name), signal.SIGKILL)

    def pid(self, name: str) -> int:
        return int((self.folder / name / "pid").read_text(encoding="ascii").split()[0])

    def environ(self) -> dict[str, str]:
        """The environment of this process, with the variables of these servers instead of any others."""
        exported = [shlex.split(line)[1].partition("=") for line in self.run("env").splitlines()]
        ours = ("DATABASE_", "REDIS_", "S3_", "NEO4J_", "FILES_")
        return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {
            name: value for name, _, value in exported
        }


@contextmanager
def own_servers(*names: str) -> Iterator[OwnServers]:
    folder = Path(tempfile.mkdtemp(prefix="tga-servers-"))
    try:
        with servers_in(folder, *names) as servers:
            yield servers
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # helpers of a browser may still write for a moment


@contextmanager
def servers_in(folder: Path, *names: str) -> Iterator[OwnServers]:
    """Servers whose data are in this folder, on whatever disk it is."""
    folder.chmod(0o755)  # PostgreSQL runs as a user of its own
    servers = OwnServers(folder)
    try:
        servers.run("up", *names)
        yield servers
    finally:
        servers.run("down", *names)
