"""What a sandboxed process may still do. Everything that is not listed is refused as far as the kernel can refuse it."""

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1")
"""The kernel starts one of them for every program."""
SYSTEM_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
TIME_ZONES = ("/usr/share/zoneinfo", "/etc/localtime")
NOBODY = 65534


class SandboxedProgram(StrEnum):
    """Who asks the kernel."""

    PARSER = "parser"
    """One process that computes."""
    BROWSER = "browser"
    """Many processes with filters of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Paths are files or folders with all that is below; a path that does not exist is skipped."""

    code: tuple[str, ...] = ()
    """Folders whose modules it may load beside the installed ones."""
    read: tuple[str, ...] = ()
    execute: tuple[str, ...] = ()
    """Programs that it may start, and read."""
    write: tuple[str, ...] = ()
    """Where it may read, write, create and delete."""
    folder: str | None = None
    """The working directory; None: an empty one that is already deleted."""
    connect_ports: tuple[int, ...] = ()
    bind_ports: tuple[int, ...] = ()
    caller: SandboxedProgram = SandboxedProgram.PARSER
    """Which system calls it needs."""
    unprivileged_user_id: int | None = None
    """Becomes this user where it is started as root."""
    max_memory_bytes: int | None = None
    max_cpu_seconds: int | None = None
    niceness: int = 10
    """Strangers' content is read with the CPU time that the rest leaves."""

    def to_arguments(self) -> list[str]:
        """As `NAME=VALUE`, once for each value."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return [f"{name}={one}" for name, value in given.items() if value is not None for one in (value if isinstance(value, tuple) else (value,))]
