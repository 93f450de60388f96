"""The dashboard of periodic work as Grafana will load it."""

import json
import re
from typing import Any

from telegram_assistant.telemetry.metrics import exposition
from testkit.servers import CHECKOUT

DASHBOARD = CHECKOUT / "deploy/grafana/dashboards/periodic-work.json"


def load_panels() -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return panels


def test_it_shows_what_is_due_late_and_failed_and_says_what_to_do() -> None:
    panels = load_panels()
    assert [panel["title"] for panel in panels] == ["Due Work", "Late Work", "Failed Work"]
    assert all(panel["fieldConfig"]["defaults"]["unit"] for panel in panels)
    assert all(len(panel["description"]) > 100 for panel in panels)


def test_it_asks_for_metrics_that_there_are() -> None:
    names = set(re.findall(r"^# HELP (\w+)", exposition("text/plain")[0].decode(), re.MULTILINE))
    wanted = {
        name
        for panel in load_panels()
        for target in panel["targets"]
        for name in re.findall(r"\bdue_work_\w+", target["expr"])
    }
    assert wanted == {"due_work_waiting", "due_work_late_seconds", "due_work_runs_total"}
    assert {name.removesuffix("_total") for name in wanted} <= {name.removesuffix("_total") for name in names}
