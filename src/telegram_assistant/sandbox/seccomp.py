"""System call filters.

For a parser, every call that it does not need is refused; for a browser, sockets that it does not need.
"""

import ctypes
import errno
import os
import struct

from telegram_assistant.sandbox.kernel import SET_SECCOMP, prctl

TABLE = f"{os.path.dirname(__file__)}/system_calls.txt"  # noqa: PTH120 -- pathlib takes too long to load
FILTER_MODE = 2
INSTRUCTION = "=HBBI"
ARCHITECTURES = {"x86_64": (0xC000003E, 1), "aarch64": (0xC00000B7, 2)}
"""The kernel's id of each architecture, and its column in the table."""
LOAD, AND, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
NUMBER_AT, ARCHITECTURE_AT, FIRST_ARGUMENT_AT, SECOND_ARGUMENT_AT = 0, 4, 16, 24
OTHER_NUMBERS = 0x40000000
"""From here on, x86_64 has the same calls again under other numbers."""
SOCKET_TYPE = 0xF
UNIX, INTERNET, INTERNET_6, STREAM = 1, 2, 10, 1
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.ENOSYS
"""Refused like a call that the kernel is too old for: libraries handle that."""
ON_ITSELF, START, SOCKET, RING = "prlimit64", "execve", "socket", "io_uring_setup"
SPECIAL = {ON_ITSELF, START, SOCKET, RING}

type Instruction = tuple[int, int, int, int]
"""Operation, number of instructions to jump over if equal and if not, and a value."""


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def make_filter(*, is_parser: bool, may_execute: bool) -> bytes | None:
    """Build the filter for this machine.

    Returns None if its numbers are not known. Reads the table, so call it while files can be read.
    """
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        return None
    architecture, column = ARCHITECTURES[machine]
    numbers = _numbers(column)
    role_rules = _parser(numbers, may_execute=may_execute) if is_parser else _browser(numbers)
    architecture_check = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_IF_EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
    ]
    return b"".join(
        struct.pack(INSTRUCTION, *instruction) for instruction in (*architecture_check, *role_rules)
    )


def install(program: bytes) -> None:
    """Install the filter for this process and its children, for good.

    Needs no_new_privs. Raises OSError if the kernel has no such filter.
    """
    prctl(SET_SECCOMP, FILTER_MODE, _address(program))


def _parser(numbers: dict[str, int], *, may_execute: bool) -> list[Instruction]:
    """Allow the calls in the table."""
    plain_numbers = [
        number for name, number in numbers.items() if name not in SPECIAL or (name == START and may_execute)
    ]
    return [
        *(
            (JUMP_IF_EQUAL, len(plain_numbers) - index + 3, 0, number)
            for index, number in enumerate(plain_numbers)
        ),
        (JUMP_IF_EQUAL, 0, 2, numbers[ON_ITSELF]),
        (LOAD, 0, 0, FIRST_ARGUMENT_AT),
        (JUMP_IF_EQUAL, 1, 0, 0),
        (RETURN, 0, 0, REFUSE),
        (RETURN, 0, 0, ALLOW),
    ]


def _browser(numbers: dict[str, int]) -> list[Instruction]:
    """Allow everything except datagrams, other connectionless sockets, and io_uring,
    which would open them past this filter.
    """
    return [
        (JUMP_IF_AT_LEAST, 9, 0, OTHER_NUMBERS),
        (JUMP_IF_EQUAL, 8, 0, numbers[RING]),
        (JUMP_IF_EQUAL, 0, 8, numbers[SOCKET]),
        (LOAD, 0, 0, FIRST_ARGUMENT_AT),
        (JUMP_IF_EQUAL, 2, 0, INTERNET),
        (JUMP_IF_EQUAL, 1, 0, INTERNET_6),
        (JUMP_IF_EQUAL, 0, 3, UNIX),
        (LOAD, 0, 0, SECOND_ARGUMENT_AT),
        (AND, 0, 0, SOCKET_TYPE),
        (JUMP_IF_EQUAL, 1, 0, STREAM),
        (RETURN, 0, 0, REFUSE),
        (RETURN, 0, 0, ALLOW),
    ]


def _numbers(column: int) -> dict[str, int]:
    with open(TABLE, encoding="ascii") as table:  # noqa: PTH123 -- pathlib takes too long to load
        rows = [line.split() for line in table if line.strip() and not line.startswith("#")]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def _address(program: bytes) -> ctypes.c_void_p:
    length = len(program) // struct.calcsize(INSTRUCTION)
    return ctypes.cast(ctypes.pointer(_FilterProgram(length, program)), ctypes.c_void_p)
