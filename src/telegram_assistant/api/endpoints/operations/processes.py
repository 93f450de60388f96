"""Running processes, pipeline stages, memory and disks. For the operator."""

from datetime import datetime
from typing import Annotated

from fastapi import Query

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ResponseModel
from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.operations.overview import (
    ProcessOverview,
    ProcessState,
    StageOverview,
    installation_overview,
    load_processes,
    missing_roles,
    running_processes,
    troubles_of,
)
from telegram_assistant.features.operations.resources import DiskOverview, resources_of
from telegram_assistant.pipeline import stages_of
from telegram_assistant.streams.redis_memory import RedisMemory
from telegram_assistant.telemetry.health import State

area = Area(
    "Operations",
    "Running processes, pipeline stages, memory and disks of the installation. For the operator only.",
)

PROCESS_EXAMPLE = {
    "instance": "moscow-1#ab12",
    "roles": ["ingest", "worker", "api"],
    "version": "0.1.0",
    "state": "running",
    "age_seconds": 1.4,
    "started_at": "2026-11-16T08:00:00Z",
    "reported_at": "2026-11-16T09:30:00Z",
    "stopped_at": None,
    "health": "failing",
    "failing": ["account 7"],
    "servers_away": [],
}
STAGE_EXAMPLE = {
    "stage": "tagging",
    "lag": 0,
    "pending": 2,
    "oldest_seconds": 0.4,
    "processed": 1234,
    "failed": 0,
    "retried": 0,
    "dead_lettered": 0,
    "minutes": [{"minute": "2026-11-16T09:29:00Z", "processed": 40, "lag": 3}],
}


RESOURCES_EXAMPLE = {
    "redis": {
        "used_bytes": 12_582_912,
        "limit_bytes": 167_772_160,
        "size_bytes": 167_772_160,
        "used_share": 0.075,
        "severity": "ok",
    },
    "disks": [
        {
            "uses": ["files", "spool"],
            "size_bytes": 53_687_091_200,
            "free_bytes": 4_294_967_296,
            "used_share": 0.92,
            "severity": "bad",
        }
    ],
    "downloads_paused": True,
}


class ProcessResponse(ResponseModel):
    """A process by its last report, `age_seconds` ago. `away`: it has missed three reports.

    `health` is the worst of its parts and of its servers; `failing` names the parts that are stale, failing
    or down.
    """

    instance: str
    roles: list[str]
    version: str
    state: ProcessState
    age_seconds: float
    started_at: datetime
    reported_at: datetime
    stopped_at: datetime | None
    health: State
    failing: list[str]
    servers_away: list[str]


class ProcessesResponse(ResponseModel):
    """Every process that has reported within the last hour, the oldest first.

    `missing_roles`: roles that no process runs.
    """

    items: list[ProcessResponse]
    missing_roles: list[str]


class StageMinuteResponse(ResponseModel):
    """One minute of a stage: entries that it finished, and the most entries that waited."""

    minute: datetime
    processed: int
    lag: int


class StageStatusResponse(ResponseModel):
    """A stage.

    `processed` to `dead_lettered` count since the running workers started; `minutes` are those of the last
    hour.
    """

    stage: str
    lag: int
    pending: int
    oldest_seconds: float
    processed: int
    failed: int
    retried: int
    dead_lettered: int
    minutes: list[StageMinuteResponse]


class StageStatusesResponse(ResponseModel):
    """All stages in the order of the flow, as a worker reported them `age_seconds` ago; null:
    none has within the last hour.
    """

    items: list[StageStatusResponse]
    age_seconds: float | None


class RedisMemoryResponse(ResponseModel):
    """The memory of Redis.

    `limit_bytes` is maxmemory, 0 without one; then `size_bytes` is what its machine could give it.
    """

    used_bytes: int
    limit_bytes: int
    size_bytes: int
    used_share: float
    severity: Severity


class DiskResponse(ResponseModel):
    """A disk and what the program keeps on it.

    `severity` is `warning` from 70 % used on, and `bad` from 90 %.
    """

    uses: list[str]
    size_bytes: int
    free_bytes: int
    used_share: float
    severity: Severity


class ResourcesResponse(ResponseModel):
    """Memory and disks as the running processes measured them last; `redis` is null if none could.

    `downloads_paused`: files of posts wait.
    """

    redis: RedisMemoryResponse | None
    disks: list[DiskResponse]
    downloads_paused: bool


@area.get(
    "/operations/processes", scope=KeyScope.OPERATE, example={"items": [PROCESS_EXAMPLE], "missing_roles": []}
)
async def list_processes(
    context: Context,
    state: Annotated[ProcessState | None, Query(description="Only processes in this state.")] = None,
) -> ProcessesResponse:
    """List the processes of the installation."""
    overviews = await load_processes(processes=context.app.api.processes)
    return ProcessesResponse(
        items=[_process(overview) for overview in overviews if state in {None, overview.state}],
        missing_roles=list(missing_roles(overviews)),
    )


@area.get(
    "/operations/stages", scope=KeyScope.OPERATE, example={"items": [STAGE_EXAMPLE], "age_seconds": 1.4}
)
async def list_stages(context: Context) -> StageStatusesResponse:
    """List the pipeline stages with their backlog and their throughput."""
    stages = [stage.name for stage in stages_of(context.app.settings)]
    overview = await installation_overview(stores=context.app.api, stages=stages, now=context.now)
    return StageStatusesResponse(
        items=[_stage(stage) for stage in overview.stages], age_seconds=overview.stages_age_seconds
    )


@area.get("/operations/resources", scope=KeyScope.OPERATE, example=RESOURCES_EXAMPLE)
async def show_resources(context: Context) -> ResourcesResponse:
    """Show the memory of Redis and the disks, and whether downloads wait for room."""
    processes = await load_processes(processes=context.app.api.processes)
    resources = resources_of(running_processes(processes))
    return ResourcesResponse(
        redis=None if resources.redis is None else _redis_memory(resources.redis),
        disks=[_disk(disk) for disk in resources.disks],
        downloads_paused=resources.downloads_paused,
    )


def _redis_memory(memory: RedisMemory) -> RedisMemoryResponse:
    fullness = memory.fullness
    return RedisMemoryResponse(
        used_bytes=memory.used_bytes,
        limit_bytes=memory.max_bytes,
        size_bytes=fullness.size_bytes,
        used_share=round(fullness.share, 3),
        severity=fullness.severity,
    )


def _disk(disk: DiskOverview) -> DiskResponse:
    fullness = disk.fullness
    return DiskResponse(
        uses=list(disk.uses),
        size_bytes=fullness.size_bytes,
        free_bytes=fullness.free_bytes,
        used_share=round(fullness.share, 3),
        severity=fullness.severity,
    )


def _process(overview: ProcessOverview) -> ProcessResponse:
    process = overview.process
    return ProcessResponse(
        instance=process.instance,
        roles=list(process.roles),
        version=process.version,
        state=overview.state,
        age_seconds=round(process.age_seconds, 1),
        started_at=process.started_at,
        reported_at=process.at,
        stopped_at=process.stopped_at,
        health=overview.health,
        failing=[trouble.part for trouble in troubles_of(process)],
        servers_away=sorted(process.servers_away),
    )


def _stage(stage: StageOverview) -> StageStatusResponse:
    minutes = [
        StageMinuteResponse(minute=point.at, processed=round(point.processed), lag=point.lag)
        for point in stage.points
    ]
    return StageStatusResponse(
        stage=stage.stage,
        lag=stage.lag,
        pending=stage.pending,
        oldest_seconds=round(stage.oldest_seconds, 1),
        processed=stage.processed,
        failed=stage.failed,
        retried=stage.retried,
        dead_lettered=stage.dead_lettered,
        minutes=minutes,
    )
