"""The alert rules: understood by Prometheus, tried out in both directions, and helpful to whom they wake."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from testkit.servers import CHECKOUT
from tests.deploy.watching import RULES, alert_rules

PROMETHEUS = CHECKOUT / "deploy/prometheus"
CASES = sorted((PROMETHEUS / "tests").glob("*.yml"))
ALERTS = sorted({rule["alert"] for rule in alert_rules()})


def promtool(*arguments: str | Path) -> None:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_understands_rules_and_configuration() -> None:
    promtool("check", "rules", "--lint-fatal", RULES)
    promtool("check", "config", "--syntax-only", PROMETHEUS / "prometheus.yml")


@pytest.mark.parametrize("cases", CASES, ids=lambda path: path.stem)
def test_alerts_fire_and_stay_quiet_as_their_cases_say(cases: Path) -> None:
    promtool("test", "rules", cases)


@pytest.mark.parametrize("behaviour", ["fires", "stays quiet"])
@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_has_cases_in_which_it_fires_and_in_which_it_stays_quiet(
    alert: str, behaviour: str
) -> None:
    names = [
        case["name"] for file in CASES for case in yaml.safe_load(file.read_text(encoding="utf-8"))["tests"]
    ]
    assert any(name.startswith(f"{alert} {behaviour}") for name in names)


@pytest.mark.parametrize("rule", alert_rules(), ids=lambda rule: rule["alert"])
def test_every_alert_says_what_happened_why_it_matters_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert rule["annotations"]["summary"]
    assert re.fullmatch(
        r"What happened: .+ Why it matters: .+ What to do: .+", rule["annotations"]["description"]
    )


def test_a_silent_channel_wakes_nobody() -> None:
    severities = {
        rule["labels"]["severity"] for rule in alert_rules() if "channel_gap_seconds" in rule["expr"]
    }
    assert severities == {"info"}


def test_every_role_is_scraped_with_the_operators_key() -> None:
    jobs = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"]
    targets = {target for job in jobs for static in job["static_configs"] for target in static["targets"]}
    assert targets == {"telethon-ingest:8011", "worker:8012", "api:8000"}
    assert all(job["authorization"]["credentials_file"] for job in jobs)


def test_the_page_for_operators_explains_every_alert() -> None:
    page = (CHECKOUT / "docs/monitoring.md").read_text(encoding="utf-8")
    assert [alert for alert in ALERTS if f"**{alert}**" not in page] == []
