"""Messages as Telegram sent them, packed to be kept: what was translated wrongly is translated again, not fetched again."""

import zlib
from collections.abc import Iterable

from telethon.extensions import BinaryReader
from telethon.tl import TLObject
from telethon.tl.alltlobjects import LAYER

__all__ = ["LAYER", "packed", "packed_answer", "unpacked"]

FASTEST = 1
"""Higher levels save one or two bytes in a hundred."""


def packed(messages: Iterable[TLObject]) -> bytes:
    """All of them together: one by one they take five times the CPU and twice the space."""
    return zlib.compress(b"".join(bytes(message) for message in messages), FASTEST)


def packed_answer(answer: bytes) -> bytes:
    """A whole page as it came: to make its bytes again from the objects would cost more than to read them did."""
    return zlib.compress(answer, FASTEST)


def unpacked(body: bytes) -> list[TLObject]:
    """The messages, either way. Only what was packed under this LAYER: another one has other constructors."""
    content = zlib.decompress(body)
    reader, messages = BinaryReader(content), list[TLObject]()
    while reader.tell_position() < len(content):
        found = reader.tgread_object()
        messages += getattr(found, "messages", [found])
    return messages
