"""The dashboard "Periodic Work", from which scripts/generate makes the file that Grafana loads."""

from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.models import units

from deploy.grafana.panels import Panel, Query, draw_curve, limits, make_dashboard, write_json

TITLE = "Periodic Work"
UID = "periodic-work"


def dashboard_json() -> str:
    """The text of the file."""
    return write_json(dashboard())


def dashboard() -> Dashboard:
    """Left to right: how much waits, since when, and what became of it."""
    return make_dashboard(
        TITLE,
        UID,
        "Do the workers keep up with digests, watches and upkeep? docs/monitoring.md says more.",
        "periodic",
        (due_work(), late_work(), failed_work()),
    )


def due_work() -> Panel:
    """How much waits."""
    panel = draw_curve(
        "Due Work",
        "Pieces of work that could be claimed now, by kind. Many at a full hour are digests and end soon. "
        "A line that never returns to zero: more workers are needed, or none takes this kind.",
        Query('max by (kind) (due_work_waiting{state="due"}) > 0 or vector(0)', "{{kind}}"),
    )
    return panel.unit(units.Short).decimals(0).thresholds(limits())


def late_work() -> Panel:
    """Since when it waits."""
    panel = draw_curve(
        "Late Work",
        "Since when the longest waiting piece of each kind has been due. Above 15 minutes the part "
        "“due work” on the page of health is stale: start more workers, or see in the log what fails.",
        Query("max by (kind) (due_work_late_seconds) > 0 or vector(0)", "{{kind}}"),
    )
    return panel.unit(units.Seconds).thresholds(limits((120, "yellow"), (900, "red")))


def failed_work() -> Panel:
    """Failures that wait, and attempts that failed."""
    panel = draw_curve(
        "Failed Work",
        "Pieces whose last attempt failed, by kind, beside attempts that failed in ten minutes. Each is "
        "tried again and stops nobody else's; its error is in due_work.error and the log.",
        Query('max by (kind) (due_work_waiting{state="failed"}) > 0 or vector(0)', "{{kind}}"),
        Query('sum(increase(due_work_runs_total{outcome="failed"}[10m])) or vector(0)', "attempts"),
    )
    return panel.unit(units.Short).decimals(0).thresholds(limits((1, "yellow"), (100, "red")))
