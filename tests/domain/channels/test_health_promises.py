"""One promise of freshness: pages, documentation and alerts say what `PROMISED` says."""

import re
from typing import Any

import pytest

from telegram_assistant.domain.channels.health import PROMISED
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.telemetry.metrics import POST_LAG
from testkit.servers import CHECKOUT
from tests.deploy.watching import alert_rules

MINUTES = {priority.value: int(promised.total_seconds() // 60) for priority, promised in PROMISED.items()}


def late_rules() -> dict[str, dict[str, Any]]:
    return {rule["labels"]["tier"]: rule for rule in alert_rules() if rule["alert"] == "Posts Late"}


def numbers_of(text: str) -> dict[str, int]:
    """The minutes that a sentence gives each priority: "high 15 minutes, normal 30, low 60",
    or "15 minutes (high), 30 (normal)".
    """
    plain = " ".join(text.split())
    before = {tier: int(minutes) for tier, minutes in re.findall(r"(high|normal|low) (\d+)", plain)}
    after = {
        tier: int(minutes) for minutes, tier in re.findall(r"(\d+)(?: minutes)? \((high|normal|low)\)", plain)
    }
    return before or after


def paragraph(page: str, beginning: str) -> str:
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    _, separator, rest = text.partition(beginning)
    assert separator, f"{page} says nowhere: {beginning}"
    return rest.partition("\n\n")[0].partition("\n|")[0]


@pytest.mark.parametrize("tier", [priority.value for priority in Priority])
def test_the_alert_of_a_tier_watches_what_its_priority_promises(tier: str) -> None:
    expression, seconds = late_rules()[tier]["expr"], MINUTES[tier] * 60
    assert [int(limit) for limit in re.findall(r"\)\)\) > (\d+)$", expression, re.MULTILINE)] == [seconds]
    assert re.findall(r'tier="(\w+)"', expression) == [tier] * 3
    assert re.findall(r'le="([\d.]+)"', expression) == [f"{seconds}.0"]


def test_the_metric_can_tell_whether_a_promise_was_kept() -> None:
    bounds = {
        float(sample.labels["le"])
        for metric in POST_LAG.collect()
        for sample in metric.samples
        if "le" in sample.labels
    }
    assert {float(minutes * 60) for minutes in MINUTES.values()} <= bounds


def test_the_alert_names_the_promises_to_whom_it_wakes() -> None:
    assert {
        tier: numbers_of(rule["annotations"]["description"]) for tier, rule in late_rules().items()
    } == dict.fromkeys(MINUTES, MINUTES)


@pytest.mark.parametrize(
    ("page", "beginning"),
    [
        ("docs/web.md", "A priority promises that"),
        ("docs/monitoring.md", "| **Posts Late** warning"),
        ("docs/glossary.md", "| health, promise |"),
    ],
)
def test_each_page_names_the_same_promises(page: str, beginning: str) -> None:
    assert numbers_of(paragraph(page, beginning)) == MINUTES


def test_no_page_promises_anything_else() -> None:
    others = re.compile(r"(?:high|normal|low),? (?:priority )?(?:is |within )?(\d+) (?:minutes|hours)")
    for page in [*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md")]:
        for sentence in others.finditer(page.read_text(encoding="utf-8")):
            tier = sentence[0].split()[0].strip(",")
            assert int(sentence[1]) == MINUTES[tier], f"{page}: {sentence[0]}"
