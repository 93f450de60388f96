"""Chance that is always the same: numbers that follow from a seed and a name."""

import hashlib
import struct

_EIGHT = struct.Struct("<8I")
_SIXTEEN = struct.Struct("<16I")
_NUMBERED = struct.Struct("<Bqq").pack


def draw(*name: int | str) -> tuple[int, ...]:
    """Eight numbers below 2**32 that belong to this name."""
    return _EIGHT.unpack(hashlib.blake2b(repr(name).encode(), digest_size=32).digest())


def number64(*name: int | str) -> int:
    """A signed number of 64 bits that belongs to this name."""
    return int.from_bytes(hashlib.blake2b(repr(name).encode(), digest_size=8).digest(), "little", signed=True)


def share(number: int) -> float:
    """One of the drawn numbers as a share of one."""
    return number / 2**32


class Lot:
    """Many draws that share a name: made once, each further draw costs a microsecond."""

    __slots__ = ("_start",)

    def __init__(self, *name: int | str) -> None:
        self._start = hashlib.blake2b(repr(name).encode())

    def sixteen(self, kind: int, number: int, version: int = 0) -> tuple[int, ...]:
        """Sixteen numbers below 2**32."""
        copy = self._start.copy()
        copy.update(_NUMBERED(kind, number, version))
        return _SIXTEEN.unpack(copy.digest())
