"""Parts of all dashboards: curves, figures, queries and limits."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import common, prometheus, stat, timeseries
from grafana_foundation_sdk.builders.dashboard import Dashboard, ThresholdsConfig
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    GraphTresholdsStyleMode,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    TooltipDisplayMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataSourceRef,
    Threshold,
    ThresholdsMode,
)

PROMETHEUS = DataSourceRef(type_val="prometheus", uid="prometheus")
WIDTH, HEIGHT = 8, 9

type Panel = timeseries.Panel | stat.Panel


@dataclass(frozen=True)
class Query:
    """One expression, and the name of what it draws."""

    expression: str
    legend: str


def make_dashboard(title: str, uid: str, description: str, tag: str, panels: Sequence[Panel]) -> Dashboard:
    """Panels from left to right, row by row."""
    made = (
        Dashboard(title)
        .uid(uid)
        .description(description)
        .tags(["telegram-assistant", tag])
        .timezone("browser")
        .time("now-6h", "now")
        .refresh("30s")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .readonly()
    )
    for number, panel in enumerate(panels, 1):
        made.with_panel(panel.id(number).datasource(PROMETHEUS).span(WIDTH).height(HEIGHT))
    return made


def write_json(dashboard: Dashboard) -> str:
    """The same text for the same code, so that a change of it can be reviewed."""
    return json.dumps(dashboard.build(), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def draw_curve(title: str, description: str, *queries: Query) -> timeseries.Panel:
    """Curves over time, two at most."""
    dashed = common.GraphThresholdsStyleConfig().mode(GraphTresholdsStyleMode.DASHED)
    panel = (
        timeseries.Panel()
        .title(title)
        .description(description)
        .min(0)
        .fill_opacity(10)
        .thresholds_style(dashed)
    )
    legend = (
        common.VizLegendOptions()
        .show_legend(show_legend=True)
        .display_mode(LegendDisplayMode.LIST)
        .placement(LegendPlacement.BOTTOM)
    )
    panel.legend(legend.calcs([]))
    panel.tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING))
    return panel.targets([_target(query, ref) for query, ref in zip(queries, "AB", strict=False)])


def draw_figure(title: str, description: str, query: Query) -> stat.Panel:
    """The number of now."""
    panel = stat.Panel().title(title).description(description).min(0)
    panel.graph_mode(BigValueGraphMode.AREA).color_mode(BigValueColorMode.VALUE)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    return panel.targets([_target(query, "A")])


def _target(query: Query, ref: str) -> prometheus.Dataquery:
    return (
        prometheus.Dataquery()
        .ref_id(ref)
        .datasource(PROMETHEUS)
        .expr(query.expression)
        .legend_format(query.legend)
        .range()
    )


def limits(*steps: tuple[float, str]) -> ThresholdsConfig:
    """Green until the first step."""
    colours = [Threshold(None, "green"), *(Threshold(value, colour) for value, colour in steps)]
    return ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(colours)
