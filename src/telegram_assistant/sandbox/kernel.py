"""Linux system calls that Python's standard library lacks."""

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from ctypes import c_int, c_long, c_ulong
from functools import cache

SET_PARENT_DEATH_SIGNAL, SET_DUMPABLE, SET_SECCOMP, DROP_BOUNDING, SET_NO_NEW_PRIVILEGES, AMBIENT = (
    1,
    4,
    22,
    24,
    38,
    47,
)
CLEAR_ALL_AMBIENT = 4
CAPABILITIES_VERSION = 0x20080522
MAX_CAPABILITIES = 64


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def system_call(number: int, *arguments: object) -> int:
    """Raise OSError with the kernel's reason on failure."""
    return _call_checked(_libc().syscall, c_long(number), *arguments)


def prctl(option: int, *arguments: object) -> None:
    """Raise OSError with the kernel's reason on failure."""
    four = (*arguments, 0, 0, 0, 0)[:4]
    _call_checked(
        _libc().prctl,
        c_int(option),
        *(c_ulong(argument) if isinstance(argument, int) else argument for argument in four),
    )


def hide_memory() -> None:
    """Close /proc/PID/environ, mem and fd of this process, and ptrace, to other processes of the same user.

    Skipped without prctl.
    """
    with suppress(OSError, AttributeError):
        prctl(SET_DUMPABLE, 0)


def drop_capabilities() -> None:
    """Drop all capabilities for good: root keeps only what its files grant it as their owner.

    Raises OSError with the kernel's reason.
    """
    for number in range(MAX_CAPABILITIES):
        with suppress(OSError):  # the kernel has fewer, or we may not drop them; then we have none either
            prctl(DROP_BOUNDING, number)
    with suppress(OSError):  # kernels before 4.3 have no ambient set
        prctl(AMBIENT, CLEAR_ALL_AMBIENT)
    header, no_capabilities = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)()
    _call_checked(_libc().capset, header, no_capabilities)


def _call_checked(function: Callable[..., int], *arguments: object) -> int:
    answer: int = function(*arguments)
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer
