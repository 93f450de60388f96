"""Log lines about outages: one when a part begins to wait, one when it goes on,
and a summary once a minute between.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from telegram_assistant.telemetry.health import iso
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()

SUMMARY_SECONDS: Final = 60.0
MAX_BEGINNINGS: Final = 2
"""How many beginnings a part may log within SUMMARY_SECONDS.

Further outages of a part that comes and goes are counted.
"""

type LogField = str | int | float


class OutageLog:
    """One per part. Its owner calls `failed` after every attempt that failed, and `recovered` after every one
    that succeeded.

    `began` names the line of the beginning. The other two are `part_still_waits` and `part_goes_on`.
    `shorter_outages` in a line counts those before it that were too many to be logged. An outage that ends
    within `patience_seconds` is not logged at all.
    """

    def __init__(
        self,
        part: str,
        *,
        began: str = "part_waits",
        patience_seconds: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        **facts: LogField,
    ) -> None:
        self._facts: dict[str, LogField] = {"part": part, **facts}
        self._began_event = began
        self._patience_seconds = patience_seconds
        self._clock = clock
        self._began_at: float | None = None
        self._since = ""
        self._attempts = 0
        self._is_logged = False
        self._error_type: type[BaseException] | None = None
        self._logged_at = 0.0
        self._beginnings: deque[float] = deque(maxlen=MAX_BEGINNINGS)
        self._unlogged = 0

    def log_failure(
        self, why: object, *, error: BaseException | None = None, is_routine: bool = False, **facts: LogField
    ) -> None:
        """Notes a failed attempt. It is a warning; a routine wait is information.

        With `error` it is an error, the first line has its traceback, and an error of another type begins a
        new outage.
        """
        now = self._clock()
        if self._began_at is None:
            self._began_at, self._since = now, iso(datetime.now(UTC))
        self._attempts += 1
        if now - self._began_at < self._patience_seconds:
            return
        is_beginning = not self._is_logged or (error is not None and type(error) is not self._error_type)
        if is_beginning and self._may_begin(now):
            self._beginnings.append(now)
            self._error_type = None if error is None else type(error)
            self._write(self._began_event, {"why": str(why), **facts}, error, is_routine=is_routine)
        elif now - self._logged_at >= SUMMARY_SECONDS:
            self._write(
                "part_still_waits",
                {"why": str(why), "since": self._since, "attempts": self._attempts, **facts},
                is_routine=is_routine,
            )
        else:
            return
        self._logged_at, self._is_logged = now, True

    def log_recovery(self) -> None:
        """Notes a success. Costs nothing unless an outage ends with it."""
        if self._began_at is None:
            return
        after_seconds = self._clock() - self._began_at
        if self._is_logged:
            log.info(
                "part_goes_on", **self._facts, after_seconds=round(after_seconds, 1), attempts=self._attempts
            )
        elif after_seconds >= self._patience_seconds:
            self._unlogged += 1
        self._began_at, self._attempts, self._is_logged, self._error_type = None, 0, False, None

    def _may_begin(self, now: float) -> bool:
        return len(self._beginnings) < MAX_BEGINNINGS or now - self._beginnings[0] >= SUMMARY_SECONDS

    def _write(
        self,
        event: str,
        facts: Mapping[str, LogField],
        error: BaseException | None = None,
        *,
        is_routine: bool,
    ) -> None:
        fields: dict[str, object] = {**self._facts, **facts}
        if self._unlogged:
            fields["shorter_outages"] = self._unlogged
            self._unlogged = 0
        if error is not None:
            fields["exc_info"] = error
        write = log.info if is_routine else log.warning if error is None else log.error
        write(event, **fields)
