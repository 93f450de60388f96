"""Every panel and every alert, on a real Prometheus that scrapes a real process."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from testkit.engines import free_port
from testkit.servers import CHECKOUT
from tests.deploy.watching import (
    Watcher,
    alert_name,
    alert_rules,
    metrics_in,
    metrics_without_data,
    panel_expressions,
    panels_without_data,
    until,
    watching,
)

pytestmark = pytest.mark.serial


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    """The address of the process to be watched."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.deploy.parser_in_trouble", str(port)], cwd=CHECKOUT
    )
    yield f"127.0.0.1:{port}"
    process.terminate()
    process.wait(timeout=10)


@pytest.fixture(scope="module")
def watcher(target: str) -> Iterator[Watcher]:
    """Has seen the target three times: a rate needs two, and the recorded rules one more."""
    with watching(target) as started:
        until(lambda: started.values("count_over_time(up[1m]) >= 3 and up == 1"), seconds=60)
        until(lambda: started.values("parser:runs_that_failed:two_intervals > 0"), seconds=60)
        yield started


def test_every_panel_draws_what_the_process_exports(watcher: Watcher) -> None:
    assert panels_without_data(watcher) == []


def test_a_parser_in_trouble_leaves_no_panel_at_zero(watcher: Watcher) -> None:
    assert {
        panel for panel, expression in panel_expressions().items() if not all(watcher.values(expression))
    } == set()


def test_every_metric_that_a_panel_or_a_rule_names_is_exported(watcher: Watcher) -> None:
    assert metrics_without_data(watcher) == []


def test_every_rule_is_evaluated_without_errors(watcher: Watcher) -> None:
    assert watcher.broken_rules() == []


def test_every_alert_sees_a_parser_in_trouble(watcher: Watcher) -> None:
    expected = {alert_name(rule["alert"], rule["labels"]) for rule in alert_rules()} - {
        ("Scheduler Stale", "absent")
    }
    until(lambda: watcher.alerts() == expected, seconds=60)


def test_a_process_that_is_gone_is_missed() -> None:
    with watching() as nothing_to_see:
        until(lambda: nothing_to_see.alerts() == {("Scheduler Stale", "absent")}, seconds=60)


def test_names_of_metrics_are_told_from_functions_operators_and_labels() -> None:
    expression = (
        'sum by (le, tier) (rate(lag_bucket{tier="high", le="1.0"}[1h])) > 2 * max(limit) and on (tier) '
        "parser:runs:recent == 0 or vector(0)"
    )
    assert metrics_in(expression) == {"lag_bucket", "limit", "parser:runs:recent"}
