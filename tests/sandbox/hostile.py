"""A parser that was taken over: it tries whatever a stranger would try, and reports what it got.

Uses the standard library alone. As a reader it hears its targets on standard input; as a program, as its
argument.
"""

import ctypes
import json
import mmap
import os
import re
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

SECRET = re.compile(rb"tga-secret-[a-z0-9-]+")
PTRACE_ATTACH, PTRACE_DETACH = 16, 17
NEW_USER_NAMESPACE = 0x10000000
X86_64 = {
    "process_vm_readv": 310,
    "io_uring_setup": 425,
    "add_key": 248,
    "pidfd_open": 434,
    "memfd_create": 319,
}
ALREADY_OPEN = 3
"""Standard input, output and errors belong to whoever started it."""


def secrets_in(data: bytes) -> list[str]:
    return sorted({secret.decode() for secret in SECRET.findall(data)})


def system_call(name: str, *arguments: Any) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    answer: int = libc.syscall(ctypes.c_long(X86_64[name]), *arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), name)
    return answer


# --- what is secret ---------------------------------------------------------------------------


def read_files(paths: Iterable[str]) -> list[str]:
    secrets: list[str] = []
    for path in paths:
        try:
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            secrets += secrets_in(os.read(file, 1 << 20))
        except OSError:
            continue
        finally:
            os.close(file)
    return sorted(set(secrets))


def read_environment(parent: int) -> list[str]:
    own = json.dumps(dict(os.environ)).encode()
    return secrets_in(own) + read_files(
        [f"/proc/{parent}/environ", "/proc/self/environ", f"/proc/{parent}/cmdline"]
    )


def read_memory(parent: int) -> list[str]:
    secrets: set[str] = set()
    maps = Path(f"/proc/{parent}/maps").read_text(encoding="ascii").splitlines()
    with Path(f"/proc/{parent}/mem").open("rb", buffering=0) as memory:
        for line in maps:
            span, rights, *_ = line.split()
            begin, end = (int(number, 16) for number in span.split("-"))
            if rights.startswith("rw") and end - begin < 64 << 20:
                memory.seek(begin)
                secrets.update(secrets_in(memory.read(end - begin) or b""))
    return sorted(secrets)


def read_open_files(parent: int) -> list[str]:
    """The parent's by their links, and whatever was left open in this process."""
    secrets = read_files(f"/proc/{parent}/fd/{number}" for number in range(64))
    for number in range(ALREADY_OPEN, 256):
        try:
            secrets += secrets_in(os.pread(number, 65536, 0))
        except OSError:
            continue
    return secrets


def peek_at_memory(parent: int) -> list[str]:
    """By process_vm_readv, where the heap is."""
    line = next(
        line
        for line in Path(f"/proc/{parent}/maps").read_text(encoding="ascii").splitlines()
        if "[heap]" in line
    )
    begin, end = (int(number, 16) for number in line.split()[0].split("-"))
    buffer = ctypes.create_string_buffer(end - begin)
    here, there = (
        (ctypes.c_size_t * 2)(ctypes.addressof(buffer), end - begin),
        (ctypes.c_size_t * 2)(begin, end - begin),
    )
    single = ctypes.c_ulong(1)
    system_call("process_vm_readv", ctypes.c_int(parent), here, single, there, single, ctypes.c_ulong(0))
    return [*secrets_in(buffer.raw), "read"]


# --- sockets ----------------------------------------------------------------------------------


def ask(family: int, address: Any, question: bytes) -> list[str]:
    """Being connected is enough; what is said is worth more."""
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(5)
        connection.connect(address)
        connection.sendall(question)
        return ["connected", *secrets_in(connection.recv(65536))]


def send_datagram(port: int) -> list[str]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        sending.sendto(b"stolen", ("127.0.0.1", port))
    return ["sent"]


def listen() -> list[str]:
    with socket.create_server(("127.0.0.1", 0)):
        return ["listening"]


def open_netlink() -> list[str]:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()
    return ["opened"]


# --- other mischief ---------------------------------------------------------------------------


def trace(parent: int) -> list[str]:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(ctypes.c_long(PTRACE_ATTACH), ctypes.c_int(parent), None, None) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    os.waitpid(parent, 0)
    libc.ptrace(ctypes.c_long(PTRACE_DETACH), ctypes.c_int(parent), None, None)
    return ["attached"]


def signal_parent(parent: int) -> list[str]:
    os.kill(parent, signal.SIGCONT)
    return ["sent"]


def limit_parent(parent: int) -> list[str]:
    resource.prlimit(parent, resource.RLIMIT_CORE, resource.prlimit(parent, resource.RLIMIT_CORE))
    return ["changed"]


def fork() -> list[str]:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    return ["forked"]


def start_program() -> list[str]:
    os.posix_spawn("/bin/true", ["true"], {})
    os.wait()
    return ["started"]


def write_file(folder: str) -> list[str]:
    file = Path(folder) / "tga-written-by-a-parser"
    file.write_bytes(b"x")
    file.unlink()
    return ["written"]


def write_here() -> list[str]:
    return write_file(".")


def change_file(path: str) -> list[str]:
    Path(path).chmod(Path(path).stat().st_mode)
    os.utime(path)
    return ["changed"]


def become_another_user_namespace() -> list[str]:
    if ctypes.CDLL(None, use_errno=True).unshare(ctypes.c_int(NEW_USER_NAMESPACE)) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
    return ["entered"]


def open_ring() -> list[str]:
    """System calls of a ring pass no filter."""
    os.close(system_call("io_uring_setup", ctypes.c_uint(1), ctypes.create_string_buffer(256)))
    return ["opened"]


def open_process(parent: int) -> list[str]:
    os.close(system_call("pidfd_open", ctypes.c_int(parent), ctypes.c_uint(0)))
    return ["opened"]


def make_executable_memory() -> list[str]:
    os.close(system_call("memfd_create", b"x", ctypes.c_uint(0)))
    mmap.mmap(-1, 4096).close()
    return ["made"]


def attacks(at: dict[str, Any]) -> dict[str, dict[str, Callable[[], list[str]]]]:
    parent = at["parent"]
    return {
        "secrets": {
            "environment": lambda: read_environment(parent),
            "memory": lambda: read_memory(parent),
            "memory-by-call": lambda: peek_at_memory(parent),
            "open-files": lambda: read_open_files(parent),
            "working-directory": lambda: read_files(
                [".env", f"/proc/{parent}/cwd/.env", f"/proc/{parent}/root{at['files'][0]}"]
            ),
            **{f"file-{Path(path).name}": partial(read_files, [path]) for path in at["files"]},
        },
        "sockets": {
            "redis": lambda: ask(socket.AF_INET, ("127.0.0.1", at["redis_port"]), b"GET tga-secret-test\r\n"),
            "postgres": lambda: ask(
                socket.AF_INET, ("127.0.0.1", at["postgres_port"]), bytes.fromhex("0000000804d2162f")
            ),
            "http": lambda: ask(socket.AF_INET, ("127.0.0.1", at["http_port"]), b"GET / HTTP/1.0\r\n\r\n"),
            "unix-path": lambda: ask(socket.AF_UNIX, at["unix_path"], b"GET / HTTP/1.0\r\n\r\n"),
            "unix-abstract": lambda: ask(
                socket.AF_UNIX, "\0" + at["unix_abstract"], b"GET / HTTP/1.0\r\n\r\n"
            ),
            "datagram": lambda: send_datagram(at["http_port"]),
            "listening": listen,
            "netlink": open_netlink,
        },
        "mischief": {
            "trace": lambda: trace(parent),
            "signal": lambda: signal_parent(parent),
            "limit": lambda: limit_parent(parent),
            "fork": fork,
            "program": start_program,
            "write": lambda: write_file(at["folder"]),
            "write-here": write_here,
            "change": lambda: change_file(at["files"][0]),
            "namespace": become_another_user_namespace,
            "ring": open_ring,
            "process": lambda: open_process(parent),
            "memory-file": make_executable_memory,
        },
    }


def attempt(attack: Callable[[], list[str]]) -> list[str]:
    try:
        return attack()
    except Exception:  # noqa: BLE001 -- however it is refused, it got nothing
        return []


def attack_everything(at: dict[str, Any]) -> dict[str, dict[str, list[str]]]:
    return {
        kind: {name: attempt(attack) for name, attack in some.items()} for kind, some in attacks(at).items()
    }


def main() -> None:
    if len(sys.argv) > 1:
        sys.stdout.write(json.dumps(attack_everything(json.loads(sys.argv[1]))))
        return
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin.buffer:
        sys.stdout.write(json.dumps(attack_everything(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
