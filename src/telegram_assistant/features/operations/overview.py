"""The operator's overview of the installation: processes, stages, jobs and backlogs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from telegram_assistant.features.operations.heartbeats import AWAY_AFTER_SECONDS
from telegram_assistant.features.operations.resources import ResourcesOverview, resources_of
from telegram_assistant.stores.postgres.channels.schedule import Parked
from telegram_assistant.stores.postgres.operations.job_runs import JobRun
from telegram_assistant.stores.postgres.operations.processes import KnownProcess, Processes
from telegram_assistant.stores.postgres.pipeline.backlog import BacklogEntry, OperatorBacklog, Queue
from telegram_assistant.stores.postgres.pipeline.outbox import Outbox
from telegram_assistant.stores.postgres.pipeline.stage_minutes import StageMinute
from telegram_assistant.stores.postgres.stores import ApiStores
from telegram_assistant.telemetry.health import State, state_named, worst

ALL_ROLES = ("ingest", "worker", "api")
SHOWN_PARKED = 20
MINUTES_PER_POINT = {1: 1, 6: 5, 24: 20}
"""The hours that a chart may show, and how many minutes one of its points stands for."""


class ProcessState(StrEnum):
    """Whether a process runs."""

    RUNNING = "running"
    AWAY = "away"
    """It has missed three heartbeats: it was killed, or cannot reach PostgreSQL."""
    STOPPED = "stopped"
    """It has stopped cleanly."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A part of a process that fails. `detail` is what the process says about it."""

    instance: str
    role: str
    part: str
    since: datetime
    detail: str


@dataclass(frozen=True, slots=True)
class ProcessOverview:
    """A process, and whether it runs."""

    process: KnownProcess
    state: ProcessState

    @property
    def health(self) -> State:
        """The worst of its parts and of its servers, as it last reported them:
        what `status` of its /health says.
        """
        states = [
            state_named(report["status"])
            for parts in self.process.parts.values()
            for report in parts.values()
        ]
        return worst([*states, *([State.FAILING] if self.process.servers_away else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePoint:
    """A stage at one place of its chart: what it finished per minute, and the most entries that waited."""

    at: datetime
    processed: float
    lag: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOverview:
    """A stage.

    Counts are since the start of the running workers; what waits is as the last worker measured it.
    """

    stage: str
    processed: int
    failed: int
    retried: int
    dead_lettered: int
    lag: int
    pending: int
    oldest_seconds: float
    points: tuple[StagePoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The whole installation at one moment."""

    processes: tuple[ProcessOverview, ...]
    missing_roles: Mapping[str, datetime | None]
    """Roles that no process runs, and when one was last heard of."""
    troubles: tuple[Trouble, ...]
    servers_away: Mapping[str, tuple[str, ...]]
    """Required servers that do not answer, and the instances that say so."""
    stages: tuple[StageOverview, ...]
    stages_age_seconds: float | None
    """The age of the numbers of stages; None if no worker has reported."""
    resources: ResourcesOverview
    posts_landed: int
    """Since the running ingest processes have started."""
    backlog: tuple[BacklogEntry, ...]
    jobs: Mapping[str, JobRun]
    parked: tuple[Parked, ...]

    @property
    def running(self) -> tuple[ProcessOverview, ...]:
        return tuple(process for process in self.processes if process.state is ProcessState.RUNNING)

    @property
    def ended(self) -> tuple[ProcessOverview, ...]:
        """Processes of the last hour that no longer run."""
        return tuple(process for process in self.processes if process.state is not ProcessState.RUNNING)

    def waiting(self, queue: Queue) -> tuple[BacklogEntry, ...]:
        return tuple(entry for entry in self.backlog if entry.queue is queue)

    def total(self, queue: Queue) -> int:
        return sum(entry.entries for entry in self.waiting(queue))


async def load_processes(*, processes: Processes) -> tuple[ProcessOverview, ...]:
    """Returns every process of the last hour: those that run first, the others as they were last heard."""
    states = list(ProcessState)
    overviews = [ProcessOverview(process, _state(process)) for process in await processes.all()]
    return tuple(
        sorted(
            overviews,
            key=lambda overview: (
                states.index(overview.state),
                0 if overview.state is ProcessState.RUNNING else overview.process.age_seconds,
            ),
        )
    )


def running_processes(processes: Sequence[ProcessOverview]) -> tuple[KnownProcess, ...]:
    """Returns the processes that run."""
    return tuple(process.process for process in processes if process.state is ProcessState.RUNNING)


def missing_roles(processes: Sequence[ProcessOverview]) -> tuple[str, ...]:
    """Returns the roles that no process runs."""
    running_roles = {
        role
        for process in processes
        if process.state is ProcessState.RUNNING
        for role in process.process.roles
    }
    return tuple(role for role in ALL_ROLES if role not in running_roles)


def troubles_of(process: KnownProcess) -> tuple[Trouble, ...]:
    """Returns the parts of a process that somebody should look at."""
    return tuple(
        Trouble(
            process.instance,
            role,
            part,
            datetime.fromisoformat(str(report["since"])),
            str(report.get("detail", "")),
        )
        for role, parts in process.parts.items()
        for part, report in parts.items()
        if state_named(report["status"]).is_trouble
    )


async def installation_overview(
    *, stores: ApiStores, stages: Sequence[str], now: datetime, hours: int = 1
) -> Overview:
    """Returns everything. `stages` are the enabled ones, in the order of the flow."""
    processes = await load_processes(processes=stores.processes)
    minutes = await stores.throughput.since(now.replace(second=0, microsecond=0) - timedelta(hours=hours))
    running = running_processes(processes)
    workers = [process.process for process in processes if "worker" in process.process.roles]
    newest = min(workers, key=lambda worker: worker.age_seconds, default=None)
    return Overview(
        processes=processes,
        missing_roles={role: _last_heard(processes, role) for role in missing_roles(processes)},
        troubles=tuple(trouble for process in running for trouble in troubles_of(process)),
        servers_away={
            server: tuple(process.instance for process in running if server in process.servers_away)
            for server in sorted({s for process in running for s in process.servers_away})
        },
        stages=tuple(_stage(name, running, newest, _points(name, minutes, now, hours)) for name in stages),
        stages_age_seconds=None if newest is None else newest.age_seconds,
        resources=resources_of(running),
        posts_landed=_total(running, "posts_landed_total"),
        backlog=await stores.backlog.entries(),
        jobs=await stores.backlog.job_runs(),
        parked=await stores.backlog.list_parked_channels(limit=SHOWN_PARKED),
    )


def _state(process: KnownProcess) -> ProcessState:
    if process.stopped_at is not None:
        return ProcessState.STOPPED
    return ProcessState.RUNNING if process.age_seconds <= AWAY_AFTER_SECONDS else ProcessState.AWAY


def _last_heard(processes: Sequence[ProcessOverview], role: str) -> datetime | None:
    return max((process.process.at for process in processes if role in process.process.roles), default=None)


def _servers_away(processes: Sequence[KnownProcess]) -> dict[str, tuple[str, ...]]:
    servers = sorted({server for process in processes for server in process.servers_away})
    return {
        server: tuple(process.instance for process in processes if server in process.servers_away)
        for server in servers
    }


def _stage(
    name: str, running: Sequence[KnownProcess], newest: KnownProcess | None, points: tuple[StagePoint, ...]
) -> StageOverview:
    measured_processes = [] if newest is None else [newest]
    return StageOverview(
        stage=name,
        processed=_total(running, "stage_processed_total", stage=name),
        failed=_total(running, "stage_failed_total", stage=name),
        retried=_total(running, "stage_retried_total", stage=name),
        dead_lettered=_total(running, "stage_dead_lettered_total", stage=name),
        lag=_total(measured_processes, "stage_lag_entries", stage=name),
        pending=_total(measured_processes, "stage_pending_entries", stage=name),
        oldest_seconds=0.0
        if newest is None
        else newest.metrics.largest("stage_oldest_age_seconds", stage=name) or 0.0,
        points=points,
    )


def _total(processes: Sequence[KnownProcess], metric: str, **labels: str) -> int:
    return int(sum(process.metrics.total(metric, **labels) or 0 for process in processes))


def _points(stage: str, minutes: Sequence[StageMinute], now: datetime, hours: int) -> tuple[StagePoint, ...]:
    """One point per bucket, also for minutes in which no worker ran."""
    width = timedelta(minutes=MINUTES_PER_POINT[hours])
    end = now.replace(second=0, microsecond=0)
    begin = end - timedelta(hours=hours)
    stage_minutes = [minute for minute in minutes if minute.stage == stage]
    points = []
    for number in range(int(timedelta(hours=hours) / width)):
        point_at = begin + number * width
        point_minutes = [minute for minute in stage_minutes if point_at <= minute.minute < point_at + width]
        processed_per_minute = sum(minute.processed for minute in point_minutes) / MINUTES_PER_POINT[hours]
        points.append(
            StagePoint(
                at=point_at,
                processed=processed_per_minute,
                lag=max((minute.lag for minute in point_minutes), default=0),
            )
        )
    return tuple(points)


async def last_job_runs(*, backlog: OperatorBacklog) -> Mapping[str, JobRun]:
    """The last run of each periodic job, by its name."""
    return await backlog.job_runs()


async def count_waiting_revisions(*, outbox: Outbox) -> int:
    """Revisions of posts that have not passed through the pipeline."""
    return await outbox.waiting()
