"""Writes a message that a library repeats once a minute, with the number of repetitions."""

import asyncio
import logging
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TextIO

REPEAT_SECONDS: Final = 60.0
MAX_MESSAGES: Final = 500
"""How many different messages are remembered; beyond, all are forgotten,
and the next one of each is written.
"""
VARIABLE = re.compile(r"0x[0-9a-fA-F]+|\d+")
"""Parts of a message that differ from one repetition to the next: addresses, numbers of tasks, ports,
seconds.
"""

type _Message = tuple[str, int, str]


@dataclass(slots=True)
class _Repeated:
    written_at: float
    last: logging.LogRecord
    count: int = 0
    """Repetitions that were not written."""


class LibraryLogHandler(logging.StreamHandler[TextIO]):
    """Our own lines pass as they are.

    Of a library's warnings and errors, those that repeat within a minute are counted.
    """

    def __init__(self, stream: TextIO, *, repeat_seconds: float = REPEAT_SECONDS) -> None:
        super().__init__(stream)
        self._repeat_seconds = repeat_seconds
        self._messages: dict[_Message, _Repeated] = {}

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING or isinstance(
            record.msg, dict
        ):  # structlog's own records carry a dict
            super().emit(record)
            return
        now, message = time.monotonic(), _message_of(record)
        repeated_message = self._messages.get(message)
        if repeated_message is None or now - repeated_message.written_at >= self._repeat_seconds:
            if len(self._messages) >= MAX_MESSAGES:
                self.write_counts()
            self._messages[message] = _Repeated(now, record)
            super().emit(record if repeated_message is None else _with_count(record, repeated_message.count))
            return
        repeated_message.last, repeated_message.count = record, repeated_message.count + 1
        if repeated_message.count == 1:
            with suppress(
                RuntimeError
            ):  # outside an event loop, the count is written with the next repetition or at the end
                asyncio.get_running_loop().call_later(self._repeat_seconds, self._write_count, message)

    def write_counts(self) -> None:
        """Writes what was counted and not written yet."""
        for message in list(self._messages):
            self._write_count(message)
        self._messages.clear()

    def close(self) -> None:
        self.write_counts()
        super().close()

    def _write_count(self, message: _Message) -> None:
        self.acquire()
        try:
            repeated_message = self._messages.pop(message, None)
            if repeated_message is not None and repeated_message.count:
                # The traceback stands in the first line.
                repeated_message.last.exc_info = repeated_message.last.exc_text = None
                super().emit(_with_count(repeated_message.last, repeated_message.count))
        finally:
            self.release()


def _message_of(record: logging.LogRecord) -> _Message:
    return record.name, record.levelno, VARIABLE.sub("…", record.getMessage())


def _with_count(record: logging.LogRecord, count: int) -> logging.LogRecord:
    if count:
        record.repeated = count
    return record
