"""Requests for history, which keep the bytes of their answer.

They are most of our requests, so they take the shortest path.
"""

from telethon.extensions import BinaryReader
from telethon.tl import TLObject, functions


class HistoryRequest(functions.messages.GetHistoryRequest):  # type: ignore[misc]  # Telethon ships no types
    """messages.getHistory that keeps the bytes of its answer:
    serializing them again from objects costs a third of all our CPU.
    """

    answer: bytes = b""


class WithoutUpdates(functions.InvokeWithoutUpdatesRequest):  # type: ignore[misc]  # as above
    """Wraps a HistoryRequest, because this session wants no updates. Telethon passes the answer to it."""

    def read_result(self, reader: BinaryReader) -> TLObject:
        self.query.answer = reader.get_bytes()
        return reader.tgread_object()
