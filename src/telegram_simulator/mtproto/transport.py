"""Framing: how packets lie in the TCP stream. The client's first bytes say which of three ways it uses."""

import asyncio
import struct
import zlib
from abc import ABC, abstractmethod

MAX_PACKET = 2 * 1024 * 1024

UNKNOWN_KEY = -404
TOO_MANY_CONNECTIONS = -429


class BadFrame(Exception):
    """The stream makes no sense any more; the connection must end."""


class Framing(ABC):
    """One connection's way of packing."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    @abstractmethod
    async def read(self) -> bytes:
        """The next packet; IncompleteReadError at the end of the stream, BadFrame when it makes no sense."""

    @abstractmethod
    def pack(self, packet: bytes) -> bytes:
        """The packet as it goes out."""

    async def _exactly(self, size_bytes: int) -> bytes:
        if not 0 < size_bytes <= MAX_PACKET:
            raise BadFrame
        return await self._reader.readexactly(size_bytes)


class Full(Framing):
    """Length, running number, packet, checksum."""

    def __init__(self, reader: asyncio.StreamReader, first_length: bytes) -> None:
        super().__init__(reader)
        self._first_length = first_length
        self._received = 0
        self._sent = 0

    async def read(self) -> bytes:
        length_bytes = self._first_length or await self._reader.readexactly(4)
        self._first_length = b""
        frame_body = await self._exactly(struct.unpack("<i", length_bytes)[0] - 4)
        if len(frame_body) < 8:
            raise BadFrame
        number, checksum = struct.unpack("<i", frame_body[:4])[0], struct.unpack("<I", frame_body[-4:])[0]
        if checksum != zlib.crc32(frame_body[:-4], zlib.crc32(length_bytes)) or number != self._received:
            raise BadFrame
        self._received += 1
        return frame_body[4:-4]

    def pack(self, packet: bytes) -> bytes:
        framed_bytes = struct.pack("<ii", len(packet) + 12, self._sent) + packet
        self._sent += 1
        return framed_bytes + struct.pack("<I", zlib.crc32(framed_bytes))


class Abridged(Framing):
    """A length in words of four, in one byte or in four."""

    async def read(self) -> bytes:
        length = (await self._reader.readexactly(1))[0]
        if length == 0x7F:
            length = int.from_bytes(await self._reader.readexactly(3), "little")
        return await self._exactly(length * 4)

    def pack(self, packet: bytes) -> bytes:
        words = len(packet) // 4
        return (bytes([words]) if words < 0x7F else b"\x7f" + words.to_bytes(3, "little")) + packet


class Intermediate(Framing):
    """A length in four bytes."""

    async def read(self) -> bytes:
        return await self._exactly(struct.unpack("<i", await self._reader.readexactly(4))[0])

    def pack(self, packet: bytes) -> bytes:
        return struct.pack("<i", len(packet)) + packet


async def detect(reader: asyncio.StreamReader) -> Framing:
    """Tell the framing by the first bytes."""
    first_byte = await reader.readexactly(1)
    if first_byte == b"\xef":
        return Abridged(reader)
    first_bytes = first_byte + await reader.readexactly(3)
    if first_bytes == b"\xee" * 4:
        return Intermediate(reader)
    return Full(reader, first_bytes)


def transport_error(code: int) -> bytes:
    """A packet of four bytes says that something is wrong below the protocol."""
    return struct.pack("<i", code)
