"""The last health report of every part of this process, and whether the process is ready for traffic."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum

from telegram_assistant.telemetry.scrubbing import scrub_text

type Fact = str | int | float | bool | None
type Probe = Callable[[], Awaitable[object]]
"""Checks a required server; raises if it does not answer."""
type Section = Callable[[], Awaitable[Mapping[str, Fact]]]
"""Examines something on demand.

Its facts include a `status`, one of the values of `State`, and may include a `detail`.
"""

SECTION_SECONDS = 3.0
"""How long examining a section may take."""
OWN_DELAY = 1.2
"""A timeout that is noticed this many times later than it was due says
more about this process than about the server.
"""


class State(StrEnum):
    """The state of a part or of a whole role, from the best to the worst."""

    OK = "ok"
    STARTING = "starting"
    STOPPED = "stopped"
    """It has ended because the process stops."""
    STALE = "stale"
    """It runs, and has achieved nothing for too long."""
    FAILING = "failing"
    DOWN = "down"
    """It does not run, or nobody can tell."""

    @property
    def is_trouble(self) -> bool:
        """Whether somebody should look at it."""
        return self in {State.STALE, State.FAILING, State.DOWN}


SEVERITY = {state: position for position, state in enumerate(State)}


def worst(states: Iterable[State]) -> State:
    """Return the worst of these states, and `ok` if there is none."""
    return max(states, key=SEVERITY.__getitem__, default=State.OK)


def state_named(name: object) -> State:
    """Return the state of this name. A name that a newer version may have introduced counts as a failure."""
    return next((state for state in State if state == name), State.FAILING)


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The report of one part, and since when its state holds."""

    state: State
    since: datetime
    detail: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def as_json(self) -> dict[str, Fact]:
        return {
            "status": self.state.value,
            "since": iso(self.since),
            **({"detail": self.detail} if self.detail else {}),
            **self.facts,
        }


@dataclass(frozen=True, slots=True)
class HealthSummary:
    """A whole role at one moment."""

    state: State
    """The worst of its parts, its required servers and its sections."""
    servers_away: Mapping[str, str]
    """The required servers that do not answer, each with the reason."""
    sections: Mapping[str, Mapping[str, Fact]]


class Health:
    """The registry of one role. Parts report by name; sections are examined on demand."""

    def __init__(
        self,
        *,
        probes: Mapping[str, Probe],
        sections: Mapping[str, Section] | None = None,
        probe_timeout_seconds: float = 2.0,
    ) -> None:
        self._reports: dict[str, HealthReport] = {}
        self._sections = sections or {}
        self._section_reports: dict[str, HealthReport] = {}
        """The results of the last examination of each section."""
        self._probes = probes
        self._probe_timeout_seconds = probe_timeout_seconds
        self._not_ready = "the process is starting"

    def report(self, part: str, state: State, detail: str = "", **facts: Fact) -> None:
        """Sets the state of a part; earlier facts stay until they are replaced."""
        self._reports[part] = _following(self._reports.get(part), state, detail, facts)

    def note(self, part: str, **facts: Fact) -> None:
        """Adds facts about a part without changing its state."""
        before = self._reports.get(part) or HealthReport(State.STARTING, datetime.now(UTC))
        self._reports[part] = replace(before, facts={**before.facts, **facts})

    def state_of(self, part: str) -> State | None:
        """The state that a part has reported; None if it has not."""
        report = self._reports.get(part)
        return None if report is None else report.state

    @property
    def state(self) -> State:
        """The worst state of all parts, and of the sections as they were last examined."""
        return worst(report.state for report in self._merge_reports().values())

    def parts(self) -> dict[str, dict[str, Fact]]:
        """All parts. A section is a part, too; where both have a name in common, the worse one is shown."""
        return {name: report.as_json() for name, report in sorted(self._merge_reports().items())}

    async def summarize(self) -> HealthSummary:
        """Examines the sections and asks the required servers."""
        examining = asyncio.gather(*(_examine(section) for section in self._sections.values()))
        unavailable, examined = await asyncio.gather(self.unavailable_servers(), examining)
        sections = dict(zip(self._sections, examined, strict=True))
        for name, facts in sections.items():
            previous_report = self._section_reports.get(name)
            self._section_reports[name] = _following(
                previous_report, state_named(facts["status"]), str(facts.get("detail") or ""), {}
            )
        return HealthSummary(
            worst([self.state, *([State.FAILING] if unavailable else [])]), unavailable, sections
        )

    def _merge_reports(self) -> dict[str, HealthReport]:
        merged_reports = dict(self._reports)
        for name, report in self._section_reports.items():
            if name not in merged_reports or SEVERITY[report.state] > SEVERITY[merged_reports[name].state]:
                merged_reports[name] = report
        return merged_reports

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
        answers = await asyncio.gather(
            *(_run_probe(probe, timeout_seconds) for probe in self._probes.values())
        )
        return {name: why for name, why in zip(self._probes, answers, strict=True) if why}


def _following(
    before: HealthReport | None, state: State, detail: str, facts: Mapping[str, Fact]
) -> HealthReport:
    """The report after `before`: while the state stays, so does the moment since when it holds."""
    since = before.since if before is not None and before.state is state else datetime.now(UTC)
    earlier_facts = {} if before is None else before.facts
    return HealthReport(state, since, scrub_text(detail), {**earlier_facts, **facts})


async def _examine(section: Section) -> Mapping[str, Fact]:
    """Examines a section. One that cannot be examined is down: the page of health answers nevertheless."""
    try:
        async with asyncio.timeout(SECTION_SECONDS):
            return await section()
    except TimeoutError:
        return {"status": State.DOWN.value, "detail": f"no answer within {SECTION_SECONDS:g} s"}
    except Exception as error:  # noqa: BLE001 -- whatever happened to it, nobody can tell how it is
        return {"status": State.DOWN.value, "detail": f"{type(error).__name__}: it cannot be examined now"}


async def _run_probe(probe: Probe, timeout_seconds: float) -> str:
    """Probes a server. If this process was itself too busy to see the answer in time, it asks once more."""
    loop = asyncio.get_running_loop()
    for _ in range(2):
        began_at = loop.time()
        try:
            async with asyncio.timeout(timeout_seconds):
                await probe()
        except TimeoutError:
            if loop.time() - began_at < timeout_seconds * OWN_DELAY:
                break
        except Exception as error:  # noqa: BLE001 -- any error means that the server is not ready
            return f"{type(error).__name__}: it cannot be used now"
        else:
            return ""
    return f"no answer within {timeout_seconds:g} s"


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC, with a Z."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
