"""A Prometheus of the test's own, with the rules that are deployed, that scrapes whatever it is pointed at.

`with watching("127.0.0.1:8011") as watcher: assert panels_without_data(watcher) == []` asks it about any
process.
"""

import json
import math
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from testkit.servers import CHECKOUT, own_servers

DASHBOARD = CHECKOUT / "deploy/grafana/dashboards/incremental-parsing.json"
RULES = CHECKOUT / "deploy/prometheus/rules/incremental-parsing.yml"


@dataclass(frozen=True)
class Watcher:
    url: str
    targets: Path

    def scrape(self, *addresses: str) -> None:
        """From now on scrape these and no others."""
        written = self.targets / "under-test.part"
        written.write_text(json.dumps([{"targets": addresses}]), encoding="ascii")
        written.rename(self.targets / "under-test.json")

    def values(self, expression: str) -> list[float]:
        """The values of the expression now; fails if Prometheus does not understand it."""
        return [float(series["value"][1]) for series in self._get("query", query=expression)["result"]]

    def alerts(self) -> set[tuple[str, str]]:
        """Name and distinguishing label of every alert whose condition holds, waiting ones included."""
        return {
            alert_name(alert["labels"]["alertname"], alert["labels"])
            for alert in self._get("alerts")["alerts"]
        }

    def broken_rules(self) -> list[str]:
        return [
            rule["lastError"]
            for group in self._get("rules")["groups"]
            for rule in group["rules"]
            if rule["health"] == "err"
        ]

    def _get(self, what: str, **parameters: str) -> dict[str, Any]:
        answer = httpx.get(f"{self.url}/api/v1/{what}", params=parameters)
        assert answer.status_code == 200, f"{parameters}: {answer.text}"
        data: dict[str, Any] = answer.json()["data"]
        return data


@contextmanager
def watching(*addresses: str) -> Iterator[Watcher]:
    with own_servers("prometheus") as servers:
        exported = servers.environ()
        watcher = Watcher(exported["TEST_PROMETHEUS_URL"], Path(exported["TEST_PROMETHEUS_TARGETS"]))
        watcher.scrape(*addresses)
        yield watcher


def alert_name(alert: str, labels: dict[str, str]) -> tuple[str, str]:
    return alert, labels.get("tier") or labels.get("reason") or ""


def panels() -> list[dict[str, Any]]:
    dashboard_panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return dashboard_panels


def panel_expressions() -> dict[str, str]:
    """By title and place in the panel."""
    return {
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in panels()
        for target in panel["targets"]
    }


def rules() -> list[dict[str, Any]]:
    return [
        rule
        for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
        for rule in group["rules"]
    ]


def alert_rules() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


def metrics_in(expression: str) -> set[str]:
    """The names in an expression that are neither functions, nor operators, nor labels."""
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\b(by|on) *\([^)]*\)", " ", expression)
    return {name for name, call in re.findall(r"([a-z_:]+)( *\()?", bare) if not call} - {"and", "or"}


def panels_without_data(watcher: Watcher) -> list[str]:
    """The panels that a person sees empty."""
    drawn = {panel: watcher.values(expression) for panel, expression in panel_expressions().items()}
    return [panel for panel, values in drawn.items() if not values or not all(map(math.isfinite, values))]


def metrics_without_data(watcher: Watcher) -> list[str]:
    """The metrics that panels or rules use and no process exports."""
    expressions = [*panel_expressions().values(), *(rule["expr"] for rule in rules())]
    names = {name for expression in expressions for name in metrics_in(expression)}
    return [name for name in sorted(names) if not watcher.values(f'{{__name__="{name}"}}')]


def until(truth: Callable[[], object], *, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not truth():
        assert time.monotonic() < deadline, f"not true within {seconds} s"
        time.sleep(0.1)
