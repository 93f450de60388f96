"""Asking for history, and keeping the answer as it came: most of our requests, so they take the shortest way."""

from telethon.extensions import BinaryReader
from telethon.tl import TLObject, functions


class HistoryRequest(functions.messages.GetHistoryRequest):  # type: ignore[misc]  # Telethon ships no types
    """messages.getHistory that remembers the bytes of its answer: to make them again from objects costs a third of all our CPU."""

    answer: bytes = b""


class WithoutUpdates(functions.InvokeWithoutUpdatesRequest):  # type: ignore[misc]  # as above
    """Around a HistoryRequest: the session that asks wants no updates. It is what Telethon hands the answer to."""

    def read_result(self, reader: BinaryReader) -> TLObject:
        self.query.answer = reader.get_bytes()
        return reader.tgread_object()
