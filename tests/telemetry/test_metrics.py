import time
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from telegram_assistant.telemetry import metrics
from telegram_assistant.telemetry.metrics import exposition, forget_channel

CHANNEL = 7_700_700
PER_CHANNEL = {
    "parser_hwm_age_seconds",
    "incremental_watermark_age_seconds",
    "channel_last_post_timestamp_seconds",
    "parser_last_success_seconds",
    "adaptive_threshold_seconds",
    "channel_gap_seconds",
    "posts_missing_duration_seconds",
}


@pytest.fixture
def followed_channel() -> Iterator[int]:
    """A channel that this process reads, with all that is known of it."""
    moment = time.time() - 100
    for gauge in (metrics.CHANNEL_LAST_POST, metrics.LAST_SUCCESS, metrics.ADAPTIVE_THRESHOLD):
        gauge.set(CHANNEL, moment)
    for age in (metrics.HWM_AGE, metrics.WATERMARK_AGE, metrics.CHANNEL_GAP, metrics.MISSING_DURATION):
        age.since(CHANNEL, moment)
    metrics.FLOODWAIT_SECONDS.add(CHANNEL, 3.5)
    metrics.BACKFILL_JOBS.add(CHANNEL, status="enqueued")
    metrics.INTERARRIVAL.observe(CHANNEL, 240.0)
    yield CHANNEL
    forget_channel(CHANNEL)


def labels_of() -> dict[str, set[frozenset[str]]]:
    """Which labels each sample carries, as a scraper sees them; `le` is the histogram's own."""
    labels: dict[str, set[frozenset[str]]] = {}
    for family in text_string_to_metric_families(exposition("")[0].decode()):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).add(frozenset(sample.labels) - {"le"})
    return labels


def channels_shown() -> set[str]:
    families = text_string_to_metric_families(exposition("")[0].decode())
    return {
        sample.name
        for family in families
        for sample in family.samples
        if sample.labels.get("channel_id") == str(CHANNEL)
    }


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("parser_runs_total", {"mode", "status"}),
        ("posts_parsed_total", {"mode"}),
        ("parser_hwm_age_seconds", {"channel_id"}),
        ("incremental_watermark_age_seconds", {"channel_id"}),
        ("scheduler_lock_acquired_total", {"status"}),
        ("parser_retries_total", {"reason"}),
        ("parser_floodwait_seconds_total", {"channel_id"}),
        ("scheduler_last_tick_ts_seconds", set()),
        ("scheduler_interval_seconds", set()),
        ("parser_mode_forced_total", {"reason"}),
        ("parsing_duration_seconds_bucket", {"mode"}),
        ("channel_last_post_timestamp_seconds", {"channel_id"}),
        ("parser_last_success_seconds", {"channel_id"}),
        ("adaptive_threshold_seconds", {"channel_id"}),
        ("channel_gap_seconds", {"channel_id"}),
        ("backfill_jobs_total", {"channel_id", "status"}),
        ("interarrival_seconds_bucket", {"channel_id"}),
        ("posts_missing_duration_seconds", {"channel_id"}),
        ("post_lag_seconds_bucket", {"tier"}),
    ],
)
@pytest.mark.usefixtures("followed_channel")
def test_operators_find_the_names_and_labels_that_their_dashboards_are_built_on(
    name: str, labels: set[str]
) -> None:
    assert labels_of()[name] == {frozenset(labels)}


def test_what_a_process_no_longer_reads_is_no_longer_shown_and_stays_counted(followed_channel: int) -> None:
    counted = {"parser_floodwait_seconds_total", "backfill_jobs_total"} | {
        f"interarrival_seconds_{part}" for part in ("bucket", "count", "sum")
    }
    assert channels_shown() == PER_CHANNEL | counted
    forget_channel(followed_channel)
    assert channels_shown() == counted


@pytest.mark.parametrize("bound", [30.0, 60.0])
def test_the_limits_of_a_run_are_bounds_of_its_histogram(bound: float) -> None:
    assert (
        metrics.REGISTRY.get_sample_value(
            "parsing_duration_seconds_bucket", {"mode": "incremental", "le": str(bound)}
        )
        is not None
    )


@pytest.mark.parametrize(("tier", "target_seconds"), [("high", 120.0), ("normal", 900.0), ("low", 7200.0)])
def test_the_freshness_targets_are_bounds_of_their_histogram(tier: str, target_seconds: float) -> None:
    assert (
        metrics.REGISTRY.get_sample_value(
            "post_lag_seconds_bucket", {"tier": tier, "le": str(target_seconds)}
        )
        is not None
    )
