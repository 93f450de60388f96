"""The rights that a sandboxed process keeps. The kernel refuses everything else, as far as it can."""

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
LOADERS = (
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
)
"""Dynamic loaders. The kernel starts one of them for every program."""
SYSTEM_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
TIME_ZONES = ("/usr/share/zoneinfo", "/etc/localtime")
NOBODY_UID = 65534


class SandboxedProgram(StrEnum):
    """Which kind of program runs in the sandbox."""

    PARSER = "parser"
    """A single process that computes."""
    BROWSER = "browser"
    """Many processes with filters of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of a process.

    A path is a file, or a folder with everything below it. A path that does not exist is skipped.
    """

    code: tuple[str, ...] = ()
    """Folders whose modules it may load beside the installed ones."""
    read: tuple[str, ...] = ()
    execute: tuple[str, ...] = ()
    """Programs that it may start and read."""
    write: tuple[str, ...] = ()
    """Paths under which it may read, write, create and delete."""
    folder: str | None = None
    """The working directory; None: an empty one that is already deleted."""
    connect_ports: tuple[int, ...] = ()
    bind_ports: tuple[int, ...] = ()
    caller: SandboxedProgram = SandboxedProgram.PARSER
    """Determines which system calls are allowed."""
    unprivileged_user_id: int | None = None
    """The user to switch to if started as root."""
    max_memory_bytes: int | None = None
    max_cpu_seconds: int | None = None
    niceness: int = 10
    """Untrusted content is parsed with the CPU time that other work leaves."""

    def to_arguments(self) -> list[str]:
        """Return `NAME=VALUE` arguments, one per value."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return [
            f"{name}={item}"
            for name, value in values.items()
            if value is not None
            for item in (value if isinstance(value, tuple) else (value,))
        ]
