"""A network without an outside: every attempt to leave the machine fails, and the kernel counts it."""

import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40
DOCUMENTATION = ("192.0.2.1", 9)
"""An address that is reserved for examples."""


def leave_network() -> None:
    """Moves this process, and what it will start, into a network namespace that has a loopback interface
    only.
    """
    user_id, group_id = os.geteuid(), os.getegid()
    try:
        os.unshare(os.CLONE_NEWNET if user_id == 0 else os.CLONE_NEWUSER | os.CLONE_NEWNET)
    except OSError as error:
        sys.exit(
            f"this machine allows no network namespaces ({error.strerror}), "
            "so connections to the outside cannot be counted"
        )
    if user_id != 0:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user_id} {user_id} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group_id} {group_id} 1", encoding="ascii")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING))
    before = count_refused_connections()
    with socket.socket() as probe:
        assert probe.connect_ex(DOCUMENTATION) != 0
    assert count_refused_connections() == before + 1, "the kernel does not count what it refuses"


def count_refused_connections() -> int:
    """Attempts to connect or send to anything but loopback, by all processes in this namespace,
    name look-ups included.
    """
    lines = [
        line.split()
        for line in Path("/proc/self/net/snmp").read_text(encoding="ascii").splitlines()
        if line.startswith("Ip:")
    ]
    refused = int(dict(zip(*lines, strict=True))["OutNoRoutes"])
    six = Path("/proc/self/net/snmp6")
    if six.exists():
        refused += int(
            dict(line.split() for line in six.read_text(encoding="ascii").splitlines())["Ip6OutNoRoutes"]
        )
    return refused
