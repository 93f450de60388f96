"""Contents of an encrypted packet: containers, compressed parts, service messages, and calls."""

import gzip
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from telethon.extensions import BinaryReader
from telethon.tl import functions, types

MAX_UNPACKED = 4 * 1024 * 1024
MAX_IN_CONTAINER = 1024

CONTAINER = 0x73F1F8DC
GZIP_PACKED = 0x3072CFA1
RPC_RESULT = 0xF35C6D01
VECTOR = 0x1CB5C415
BOOL_TRUE = struct.pack("<I", 0x997275B5)
BOOL_FALSE = struct.pack("<I", 0xBC799737)


class Malformed(Exception):
    """A packet that decrypts well and makes no sense."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a packet."""

    msg_id: int
    seq_no: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Plaintext:
    """A decrypted packet."""

    salt: int
    session_id: bytes
    message: Message


def parse_plaintext(plaintext: bytes) -> Plaintext:
    salt, session_id, msg_id, seq_no, length = struct.unpack_from("<q8sqii", plaintext)
    if not 0 <= length <= len(plaintext) - 32:
        raise Malformed
    return Plaintext(salt, session_id, Message(msg_id, seq_no, plaintext[32 : 32 + length]))


def unpack(message: Message) -> Iterator[Message]:
    """The messages inside: those of a container one by one, anything else as it is."""
    if constructor_of(message.body) != CONTAINER:
        yield message
        return
    (count,) = struct.unpack_from("<i", message.body, 4)
    if not 0 <= count <= MAX_IN_CONTAINER:
        raise Malformed
    position = 8
    for _ in range(count):
        msg_id, seq_no, length = struct.unpack_from("<qii", message.body, position)
        position += 16
        if not 0 <= length <= len(message.body) - position:
            raise Malformed
        yield Message(msg_id, seq_no, message.body[position : position + length])
        position += length


def constructor_of(body: bytes) -> int:
    if len(body) < 4:
        raise Malformed
    constructor: int = struct.unpack_from("<I", body)[0]
    return constructor


def parse_object(body: bytes) -> Any:
    """The request or service message in a body; Malformed when the schema does not know it."""
    if constructor_of(body) == GZIP_PACKED:
        body = _ungzip(body)
    try:
        return BinaryReader(body).tgread_object()
    except Exception as error:
        raise Malformed from error


def _ungzip(body: bytes) -> bytes:
    try:
        packed = BinaryReader(body[4:]).tgread_bytes()
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        unpacked_bytes = unpacker.decompress(packed, MAX_UNPACKED)
    except Exception as error:
        raise Malformed from error
    if unpacker.unconsumed_tail or constructor_of(unpacked_bytes) == GZIP_PACKED:
        raise Malformed
    return unpacked_bytes


@dataclass(frozen=True, slots=True)
class Call:
    """A request without its wrappers, and what the wrappers said."""

    request: Any
    layer: int | None = None
    without_updates: bool = False


def unwrap(request: Any) -> Call:
    layer, without_updates = None, False
    for _ in range(8):
        match request:
            case functions.InvokeWithLayerRequest():
                layer = request.layer
            case functions.InvokeWithoutUpdatesRequest():
                without_updates = True
            case (
                functions.InitConnectionRequest()
                | functions.InvokeAfterMsgRequest()
                | functions.InvokeAfterMsgsRequest()
            ):
                pass
            case functions.InvokeWithTakeoutRequest():
                pass
            case _:
                return Call(request, layer, without_updates)
        request = request.query
    raise Malformed


def result(msg_id: int, answer: bytes, *, gzip_level: int = 0) -> bytes:
    """The answer to a call."""
    if gzip_level and len(answer) > 512:
        packed_bytes = gzip.compress(answer, gzip_level, mtime=0)
        if len(packed_bytes) < len(answer):
            answer = struct.pack("<I", GZIP_PACKED) + tl_bytes(packed_bytes)
    return struct.pack("<Iq", RPC_RESULT, msg_id) + answer


def error_answer(code: int, message: str) -> bytes:
    return bytes(types.RpcError(code, message))


def vector_of(objects: list[Any]) -> bytes:
    return struct.pack("<Ii", VECTOR, len(objects)) + b"".join(bytes(item) for item in objects)


def tl_bytes(data: bytes) -> bytes:
    """A string as the schema writes it: its length, itself, and zeros up to a multiple of four."""
    size_bytes = len(data)
    if size_bytes < 254:
        return bytes((size_bytes,)) + data + bytes(-(size_bytes + 1) % 4)
    return b"\xfe" + size_bytes.to_bytes(3, "little") + data + bytes(-size_bytes % 4)
