"""Packs messages as Telegram sent them,
so that a wrong translation can be repeated without another download.
"""

import zlib
from collections.abc import Iterable

from telethon.extensions import BinaryReader
from telethon.tl import TLObject
from telethon.tl.alltlobjects import LAYER

__all__ = ["LAYER", "pack_answer", "pack_messages", "unpack_messages"]

FASTEST = 1
"""Higher levels save one or two percent."""


def pack_messages(messages: Iterable[TLObject]) -> bytes:
    """Pack messages together: one by one they take five times the CPU and twice the space."""
    return zlib.compress(b"".join(bytes(message) for message in messages), FASTEST)


def pack_answer(answer: bytes) -> bytes:
    """Pack a whole page as it came: serializing its objects again would cost more than reading them did."""
    return zlib.compress(answer, FASTEST)


def unpack_messages(body: bytes) -> list[TLObject]:
    """Unpack messages of either form. Only for the same LAYER: another layer has other constructors."""
    content = zlib.decompress(body)
    reader, messages = BinaryReader(content), list[TLObject]()
    while reader.tell_position() < len(content):
        unpacked_object = reader.tgread_object()
        messages += getattr(unpacked_object, "messages", [unpacked_object])
    return messages
