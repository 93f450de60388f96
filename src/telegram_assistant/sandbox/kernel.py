"""Calls of the Linux kernel that Python's standard library does not have."""

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from ctypes import c_int, c_long, c_ulong
from functools import cache

SET_PARENT_DEATH_SIGNAL, SET_DUMPABLE, SET_SECCOMP, DROP_BOUNDING, SET_NO_NEW_PRIVILEGES, AMBIENT = 1, 4, 22, 24, 38, 47
CLEAR_ALL_AMBIENT = 4
CAPABILITIES_VERSION = 0x20080522
MAX_CAPABILITIES = 64


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def system_call(number: int, *arguments: object) -> int:
    """OSError with the kernel's reason."""
    return _checked(_libc().syscall, c_long(number), *arguments)


def prctl(option: int, *arguments: object) -> None:
    """OSError with the kernel's reason."""
    four = (*arguments, 0, 0, 0, 0)[:4]
    _checked(_libc().prctl, c_int(option), *(c_ulong(one) if isinstance(one, int) else one for one in four))


def hide_memory() -> None:
    """Closes /proc/PID/environ, mem and fd of this process to others of the same user, and ptrace too. Skipped where there is no prctl."""
    with suppress(OSError, AttributeError):
        prctl(SET_DUMPABLE, 0)


def drop_capabilities() -> None:
    """For good: root keeps only what its files grant it as their owner. OSError with the kernel's reason."""
    for number in range(MAX_CAPABILITIES):
        with suppress(OSError):  # the kernel knows fewer, or we may not; then there is none to drop either
            prctl(DROP_BOUNDING, number)
    with suppress(OSError):  # kernels before 4.3 have no ambient set
        prctl(AMBIENT, CLEAR_ALL_AMBIENT)
    header, nothing = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)()
    _checked(_libc().capset, header, nothing)


def _checked(function: Callable[..., int], *arguments: object) -> int:
    answer: int = function(*arguments)
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer
