import asyncio
import io
import json
import logging

from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.repeats import LibraryLogHandler


def lines_of(log_stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in log_stream.getvalue().splitlines()]


def end_logging() -> None:
    """As at the end of a process: what was counted is written."""
    logging.getLogger().handlers[0].close()


def test_what_a_library_repeats_is_one_line_and_one_with_the_count(log_stream: io.StringIO) -> None:
    for number in range(77):
        logging.getLogger("asyncio").error(
            "Resetting connection with an active transaction <object at 0x%x>", 4096 + number
        )
    end_logging()
    lines = lines_of(log_stream)
    assert [line.get("repeated") for line in lines] == [None, 76]
    assert all(str(line["event"]).startswith("Resetting connection") for line in lines)


def test_the_traceback_of_a_library_stands_in_the_log_once(log_stream: io.StringIO) -> None:
    for _ in range(3):
        try:
            raise KeyError("missing")
        except KeyError:
            logging.getLogger("library").exception("it failed")
    end_logging()
    assert ["exception" in line for line in lines_of(log_stream)] == [True, False]


def test_what_libraries_say_once_is_written_as_it_is(log_stream: io.StringIO) -> None:
    for name in ("first", "second"):
        logging.getLogger(name).warning("the connection was closed")
    logging.getLogger("first").error("the connection was closed")
    end_logging()
    assert [(line["logger"], line["level"]) for line in lines_of(log_stream)] == [
        ("first", "warning"),
        ("second", "warning"),
        ("first", "error"),
    ]


def test_our_own_lines_and_information_are_never_counted_together(log_stream: io.StringIO) -> None:
    for number in range(3):
        get_logger("x").warning("post_lost", post_id=number)
        logging.getLogger("alembic.runtime.migration").info("Running upgrade %04d", number)
    assert len(lines_of(log_stream)) == 6


async def test_the_count_is_written_although_the_library_has_fallen_silent() -> None:
    stream = io.StringIO()
    library = logging.getLogger("a.library")
    library.addHandler(LibraryLogHandler(stream, repeat_seconds=0.05))
    for number in range(3):
        library.error("call %d failed", number)
    await asyncio.sleep(0.1)
    library.handlers.clear()
    assert stream.getvalue().splitlines() == ["call 0 failed", "call 2 failed"]
