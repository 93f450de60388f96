"""The dashboard as Grafana will load it."""

import json

import yaml

from testkit.servers import CHECKOUT
from tests.deploy.watching import DASHBOARD, panels

PROVISIONING = CHECKOUT / "deploy/grafana/provisioning"


def test_it_has_the_six_panels_that_operators_know() -> None:
    assert json.loads(DASHBOARD.read_text(encoding="utf-8"))["title"] == "Incremental Parsing Dashboard"
    assert [panel["title"] for panel in panels()] == [
        "Parsing Rate",
        "Parsing Latency p95",
        "Empty Ticks Detection",
        "HWM Age Max",
        "Forced Historical Count",
        "Scheduler Freshness",
    ]


def test_every_panel_has_a_unit_limits_and_says_what_to_do() -> None:
    for panel in panels():
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["unit"]
        assert defaults["thresholds"]["steps"][0] == {"color": "green", "value": None}
        assert len(panel["description"]) > 100


def test_the_targets_are_where_green_ends() -> None:
    ends = {panel["title"]: panel["fieldConfig"]["defaults"]["thresholds"]["steps"][1:] for panel in panels()}
    assert [step["value"] for step in ends["Parsing Latency p95"]] == [30, 60]
    assert [step["value"] for step in ends["HWM Age Max"]] == [600, 86400]


def test_no_panel_covers_another() -> None:
    cells = [
        (column, row)
        for place in (panel["gridPos"] for panel in panels())
        for column in range(place["x"], place["x"] + place["w"])
        for row in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(column for column, _ in cells) < 24


def test_it_is_provisioned_in_its_folder_and_asks_the_data_source_that_is_provisioned() -> None:
    (provider,) = yaml.safe_load((PROVISIONING / "dashboards/dashboards.yaml").read_text(encoding="utf-8"))[
        "providers"
    ]
    (source,) = yaml.safe_load((PROVISIONING / "datasources/prometheus.yaml").read_text(encoding="utf-8"))[
        "datasources"
    ]
    assert provider["folder"] == "Telegram Assistant"
    assert source["uid"] == "prometheus"
    for panel in panels():
        assert {target["datasource"]["uid"] for target in panel["targets"]} | {
            panel["datasource"]["uid"]
        } == {source["uid"]}
