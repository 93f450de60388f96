"""The whole installation, for the operator: processes, stages, jobs, and what waits."""

from collections.abc import Sequence
from dataclasses import dataclass

from telegram_assistant.features.operations.overview import (
    MINUTES_PER_POINT,
    StageOverview,
    installation_overview,
)
from telegram_assistant.pipeline import stages_of
from telegram_assistant.stores.postgres.pipeline.backlog import Queue
from telegram_assistant.web.views import Content, TenantView

WIDTH, HEIGHT = 120, 28


@dataclass(frozen=True, slots=True)
class SmallChart:
    """A line without axes: its points in SVG, its highest and its last value."""

    points: str
    highest: float
    last: float


async def show(view: TenantView) -> Content:
    return await _content(view)


async def refresh(view: TenantView) -> Content:
    """The numbers alone, for a page that is open."""
    return await _content(view)


async def _content(view: TenantView) -> Content:
    typed_text = view.query("hours")
    hours = int(typed_text) if typed_text in {str(choice) for choice in MINUTES_PER_POINT} else 1
    stages = [stage.name for stage in stages_of(view.app.settings)]
    overview = await installation_overview(stores=view.app.api, stages=stages, now=view.now, hours=hours)
    return {
        "overview": overview,
        "stages": [(stage, _draw_processed(stage), _draw_lag(stage)) for stage in overview.stages],
        "hours": hours,
        "choices": tuple(MINUTES_PER_POINT),
        "queues": {queue.value: overview.waiting(queue) for queue in Queue},
        "totals": {queue.value: overview.total(queue) for queue in Queue},
        "now": view.now,
    }


def _draw_processed(stage: StageOverview) -> SmallChart:
    return _chart([point.processed for point in stage.points])


def _draw_lag(stage: StageOverview) -> SmallChart:
    return _chart([point.lag for point in stage.points])


def _chart(values: Sequence[float]) -> SmallChart:
    highest, step = max(values), WIDTH / (len(values) - 1)
    points = (
        f"{value_index * step:.1f},{HEIGHT - 1 - (HEIGHT - 2) * value / (highest or 1):.1f}"
        for value_index, value in enumerate(values)
    )
    return SmallChart(" ".join(points), highest, values[-1])
