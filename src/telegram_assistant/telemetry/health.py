"""The last health report of every part of this process, and whether the process is ready for traffic."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum

from telegram_assistant.telemetry.scrubbing import scrub_text

type Fact = str | int | float | bool | None
type Probe = Callable[[], Awaitable[object]]
"""Checks a required server; raises if it does not answer."""


OWN_DELAY = 1.2
"""A timeout that is noticed this many times later than it was due says more about this process than about the server."""


class State(StrEnum):
    """The state of a part."""

    STARTING = "starting"
    OK = "ok"
    FAILING = "failing"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The report of one part, and since when its state holds."""

    state: State
    since: datetime
    detail: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def as_json(self) -> dict[str, Fact]:
        return {"status": self.state.value, "since": iso(self.since), **({"detail": self.detail} if self.detail else {}), **self.facts}


class Health:
    """The registry. One per process; parts report by name."""

    def __init__(self, *, probes: Mapping[str, Probe], probe_timeout_seconds: float = 2.0) -> None:
        self._reports: dict[str, HealthReport] = {}
        self._probes = probes
        self._probe_timeout_seconds = probe_timeout_seconds
        self._not_ready = "the process is starting"

    def report(self, part: str, state: State, detail: str = "", **facts: Fact) -> None:
        """Sets the state of a part; earlier facts stay until they are replaced."""
        before = self._reports.get(part)
        since = before.since if before is not None and before.state is state else datetime.now(UTC)
        known = {} if before is None else before.facts
        self._reports[part] = HealthReport(state, since, scrub_text(detail), {**known, **facts})

    def note(self, part: str, **facts: Fact) -> None:
        """Adds facts about a part without changing its state."""
        before = self._reports.get(part) or HealthReport(State.STARTING, datetime.now(UTC))
        self._reports[part] = replace(before, facts={**before.facts, **facts})

    @property
    def state(self) -> State:
        """The state of the whole process: failing if any part is."""
        states = {report.state for report in self._reports.values()}
        return State.FAILING if State.FAILING in states else State.OK

    def parts(self) -> dict[str, dict[str, Fact]]:
        return {name: report.as_json() for name, report in sorted(self._reports.items())}

    def take_traffic(self) -> None:
        self._not_ready = ""

    def refuse_traffic(self, why: str) -> None:
        self._not_ready = why

    async def why_not_ready(self) -> dict[str, str]:
        """Empty if the process is ready for traffic; otherwise the obstacles."""
        if self._not_ready:
            return {"process": self._not_ready}
        return await self.unavailable_servers(timeout_seconds=self._probe_timeout_seconds)

    async def unavailable_servers(self, *, timeout_seconds: float = 1.0) -> dict[str, str]:
        """The required servers that do not answer, each with the reason."""
        answers = await asyncio.gather(*(_ask(probe, timeout_seconds) for probe in self._probes.values()))
        return {name: why for name, why in zip(self._probes, answers, strict=True) if why}


async def _ask(probe: Probe, timeout_seconds: float) -> str:
    """Probes a server. If this process was itself too busy to see the answer in time, it asks once more."""
    loop = asyncio.get_running_loop()
    for _ in range(2):
        began = loop.time()
        try:
            async with asyncio.timeout(timeout_seconds):
                await probe()
        except TimeoutError:
            if loop.time() - began < timeout_seconds * OWN_DELAY:
                break
        except Exception as error:  # noqa: BLE001 -- any error of a client library means the same: the server is not ready
            return f"{type(error).__name__}: it cannot be used now"
        else:
            return ""
    return f"no answer within {timeout_seconds:g} s"


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC, with a Z."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
