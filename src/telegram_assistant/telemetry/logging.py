"""Structured logs: JSON lines for machines, readable lines on a terminal, never a secret.

`log = get_logger()` at the top of a module, then `log.info("post_stored", post_id=...)`: a static event
name, fields as keywords, ids instead of objects.
"""

import logging
import sys
from datetime import datetime
from typing import TextIO
from zoneinfo import ZoneInfo

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from telegram_assistant.settings import TelemetrySettings
from telegram_assistant.telemetry.repeats import LibraryLogHandler
from telegram_assistant.telemetry.scrubbing import scrub_event
from telegram_assistant.telemetry.trace_ids import add_trace_id

get_logger = structlog.stdlib.get_logger

CHATTY = ("apscheduler", "uvicorn", "telethon", "neo4j", "alembic.runtime.plugins", "pymorphy3", "httpx")
"""Libraries whose info messages are noise for an operator; their warnings are kept."""
SILENT = ("telethon.network",)
"""Silenced because `telegram.account_client` logs the fate of its connections itself."""


def configure_logging(
    settings: TelemetrySettings, *, stream: TextIO | None = None, is_pretty: bool | None = None
) -> None:
    """Sends every log message of this process, those of libraries included,
    through one chain of processors.
    """
    output = stream if stream is not None else sys.stderr
    readable = output.isatty() if is_pretty is None else is_pretty
    before: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        add_trace_id,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ExtraAdder(),
        _local_time(settings.time_zone)
        if readable
        else structlog.processors.TimeStamper(fmt="iso", utc=True, key="timestamp"),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        scrub_event,
    ]
    render: Processor = (
        structlog.dev.ConsoleRenderer() if readable else structlog.processors.JSONRenderer(ensure_ascii=False)
    )
    handler = LibraryLogHandler(output)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=before,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
        )
    )
    level = getattr(logging, settings.log_level.upper())
    root = logging.getLogger()
    for old_handler in root.handlers[:]:
        root.removeHandler(old_handler)
        if isinstance(old_handler, LibraryLogHandler):
            old_handler.close()
    root.addHandler(handler)
    root.setLevel(level)
    for name in CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    for name in SILENT:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.captureWarnings(capture=True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *before,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _local_time(zone_name: str) -> Processor:
    zone = ZoneInfo(zone_name)

    def stamp(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["timestamp"] = datetime.now(zone).strftime("%Y-%m-%d %H:%M:%S%z")
        return event

    return stamp
