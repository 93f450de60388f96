"""The dashboard "Incremental Parsing Dashboard", from which scripts/generate makes the file that Grafana
loads.
"""

from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.models import units

from deploy.grafana.panels import Panel, Query, draw_curve, draw_figure, limits, make_dashboard, write_json

TITLE = "Incremental Parsing Dashboard"
UID = "incremental-parsing"


def dashboard_json() -> str:
    """The text of the file."""
    return write_json(dashboard())


def dashboard() -> Dashboard:
    """Above: what the parser does. Below: what would lose or delay posts."""
    return make_dashboard(
        TITLE,
        UID,
        "Are posts coming in, how fast, and is anything left behind? docs/monitoring.md explains every "
        "panel and alert.",
        "parsing",
        (
            parsing_rate(),
            parsing_latency(),
            empty_ticks(),
            hwm_age(),
            forced_historical(),
            scheduler_freshness(),
        ),
    )


def parsing_rate() -> Panel:
    """How many posts come in."""
    panel = draw_curve(
        "Parsing Rate",
        "New posts stored per second, by mode. Historical for more than a few minutes: "
        "channels were read for the first time, or not at all for "
        "long (see Forced Historical Count). Nothing at an hour when people post: "
        "look at Scheduler Freshness and the alert Nothing Parsed.",
        Query("sum by (mode) (rate(posts_parsed_total[5m]))", "{{mode}}"),
    )
    return panel.unit("suffix: posts/s").decimals(2).thresholds(limits())


def parsing_latency() -> Panel:
    """How long a run takes."""
    panel = draw_curve(
        "Parsing Latency p95",
        "How long 95 of 100 runs take at most, without the waits that Telegram asks for. Target: "
        "under 30 s. Above 60 s an alert fires: look at the "
        "load of PostgreSQL and of this process; lower PARSER_MAX_CONCURRENCY if they are busy.",
        Query(
            "histogram_quantile(0.95, sum by (le, mode) (rate(parsing_duration_seconds_bucket[10m])))",
            "{{mode}}",
        ),
        Query("histogram_quantile(0.95, sum by (le) (rate(parsing_duration_seconds_bucket[10m])))", "all"),
    )
    return panel.unit(units.Seconds).thresholds(limits((30, "yellow"), (60, "red")))


def empty_ticks() -> Panel:
    """How many runs were for nothing."""
    panel = draw_curve(
        "Empty Ticks Detection",
        "Runs in ten minutes that stored nothing, beside all runs. Nine in ten is normal: "
        "most channels are silent most of the time. When both lines "
        "are one for hours, nothing is stored at all: see which status grows (parser_runs_total) and `tga "
        "accounts`.",
        Query(
            'sum(increase(parser_runs_total[10m])) - sum(increase(parser_runs_total{status="ok"}[10m]))',
            "stored nothing",
        ),
        Query("sum(increase(parser_runs_total[10m]))", "all runs"),
    )
    return panel.unit(units.Short).decimals(0).thresholds(limits())


def hwm_age() -> Panel:
    """How long something has been half read."""
    panel = draw_figure(
        "HWM Age Max",
        "For how long the crash mark of a half read channel has not been raised: "
        "a run was interrupted and none has gone on since. "
        "0: nothing is half read. Target: under 10 minutes. "
        "Older: find the channel with topk(5, parser_hwm_age_seconds) and why its runs fail. "
        "After a day an alert fires.",
        Query("max(parser_hwm_age_seconds) or vector(0)", "oldest mark"),
    )
    return panel.unit(units.Seconds).thresholds(limits((600, "yellow"), (86400, "red")))


def forced_historical() -> Panel:
    """How many channels were left alone for too long."""
    panel = draw_figure(
        "Forced Historical Count",
        "Channels in 24 hours whose last successful poll was older than LPA_MAX_AGE_HOURS, "
        "so that the whole window is read again. "
        "Some after an outage are right. A steady number: channels cannot be read, "
        "or there are too many for the accounts.",
        Query("sum by (reason) (increase(parser_mode_forced_total[24h]))", "{{reason}}"),
    )
    return panel.unit(units.Short).decimals(0).thresholds(limits((1, "yellow"), (100, "red")))


def scheduler_freshness() -> Panel:
    """How long ago the scheduler last worked."""
    panel = draw_curve(
        "Scheduler Freshness",
        "Time since the last tick of any instance, and twice the interval, "
        "above which the alert Scheduler Stale fires. The colours are those of the "
        "default interval of 300 s. Growing: see /health/details of ingest on port 8011, "
        "who holds the lock, and whether every run fails.",
        Query("time() - max(scheduler_last_tick_ts_seconds > 0)", "since the last tick"),
        Query("2 * max(scheduler_interval_seconds)", "limit"),
    )
    return panel.unit(units.Seconds).thresholds(limits((300, "yellow"), (600, "red")))
