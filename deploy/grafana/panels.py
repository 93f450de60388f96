"""Parts of all dashboards: curves, figures, queries and limits."""

from dataclasses import dataclass

from grafana_foundation_sdk.builders import common, prometheus, stat, timeseries
from grafana_foundation_sdk.builders.dashboard import ThresholdsConfig
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    GraphTresholdsStyleMode,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    TooltipDisplayMode,
)
from grafana_foundation_sdk.models.dashboard import DataSourceRef, Threshold, ThresholdsMode

PROMETHEUS = DataSourceRef(type_val="prometheus", uid="prometheus")
WIDTH, HEIGHT = 8, 9

type Panel = timeseries.Panel | stat.Panel


@dataclass(frozen=True)
class Query:
    """One expression, and the name of what it draws."""

    expression: str
    legend: str


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
