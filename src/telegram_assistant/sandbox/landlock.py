"""Landlock: gives up access to files, TCP ports and other processes,
for a process and all its children (Linux 5.13 and later).
"""

import ctypes
import os
import stat
from collections.abc import Iterable, Mapping, Sequence

from telegram_assistant.sandbox.kernel import system_call

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION = 1
PATH_BENEATH, NET_PORT = 1, 2

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEVICE = 1 << 14, 1 << 15
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many rights on files the kernel knows, by ABI version."""
BIND_TCP, CONNECT_TCP = 1, 2
ABSTRACT_SOCKETS, SIGNALS = 1, 2
NETWORK_SINCE, SCOPES_SINCE = 4, 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _PortRule(ctypes.Structure):
    _fields_ = (("allowed", ctypes.c_uint64), ("port", ctypes.c_uint64))


def abi_version() -> int:
    """Return the ABI version. Raises OSError if the kernel has no Landlock, or it is turned off."""
    return system_call(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(ASK_VERSION))


def restrict(rules: Mapping[str, Sequence[str]]) -> int:
    """Apply rules about files and ports to this process and return the ABI version.

    Needs no_new_privs. Raises OSError without Landlock.
    """
    version = abi_version()
    all_rights = (1 << FILE_RIGHTS.get(version, FILE_RIGHTS[max(FILE_RIGHTS)])) - 1
    attributes = _Ruleset(
        all_rights, (BIND_TCP | CONNECT_TCP) if version >= NETWORK_SINCE else 0, ABSTRACT_SOCKETS | SIGNALS
    )
    attribute_bytes = 24 if version >= SCOPES_SINCE else 16 if version >= NETWORK_SINCE else 8
    ruleset = system_call(
        CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(attribute_bytes), ctypes.c_uint32(0)
    )
    try:
        reading = READ_FILE | READ_DIR
        _allow_paths(ruleset, [*rules.get("code", ()), *rules.get("read", ())], reading)
        _allow_paths(ruleset, rules.get("execute", ()), reading | EXECUTE)
        _allow_paths(ruleset, rules.get("write", ()), all_rights & ~EXECUTE)
        if version >= NETWORK_SINCE:
            _allow_ports(ruleset, rules.get("connect_ports", ()), CONNECT_TCP)
            _allow_ports(ruleset, rules.get("bind_ports", ()), BIND_TCP)
        system_call(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)
    return version


def _allow_paths(ruleset: int, paths: Iterable[str], rights: int) -> None:
    for path in paths:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            rule = _PathRule(rights if is_folder else rights & ON_FILES, descriptor)
            system_call(
                ADD_RULE,
                ctypes.c_int(ruleset),
                ctypes.c_int(PATH_BENEATH),
                ctypes.byref(rule),
                ctypes.c_uint32(0),
            )
        finally:
            os.close(descriptor)


def _allow_ports(ruleset: int, ports: Iterable[str], right: int) -> None:
    for port in ports:
        rule = _PortRule(right, int(port))
        system_call(
            ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(NET_PORT), ctypes.byref(rule), ctypes.c_uint32(0)
        )
