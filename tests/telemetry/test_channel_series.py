import math

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from structlog.testing import capture_logs

from telegram_assistant.telemetry.channel_series import (
    Bound,
    ChannelAge,
    ChannelAggregates,
    ChannelCounter,
    ChannelGauge,
    ChannelHistogram,
)


def exposed_lines(registry: CollectorRegistry) -> set[str]:
    return {line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")}


def test_a_counter_beyond_the_bound_goes_to_other_and_loses_nothing() -> None:
    registry = CollectorRegistry()
    counter = ChannelCounter("waits_seconds", "About.", bound=Bound(2), registry=registry)
    for channel_id in (1, 2, 3, 4, 3, 1):
        counter.add(channel_id)
    assert exposed_lines(registry) == {
        'waits_seconds_total{channel_id="1"} 2.0',
        'waits_seconds_total{channel_id="2"} 1.0',
        'waits_seconds_total{channel_id="other"} 3.0',
    }


def test_a_gauge_beyond_the_bound_shows_the_worst() -> None:
    registry = CollectorRegistry()
    gauge = ChannelGauge("age_seconds", "About.", bound=Bound(2), registry=registry)
    for channel_id, age in ((1, 10), (2, 30), (3, 20)):
        gauge.set(channel_id, age)
    assert exposed_lines(registry) == {'age_seconds{channel_id="2"} 30.0', 'age_seconds{channel_id="3"} 20.0'}
    gauge.set(2, 1)
    assert exposed_lines(registry) == {'age_seconds{channel_id="3"} 20.0', 'age_seconds{channel_id="1"} 10.0'}


@pytest.mark.parametrize("moments", [(5, 9), (9, 5)])
def test_a_gauge_can_be_raised_and_does_not_fall(moments: tuple[int, int]) -> None:
    registry = CollectorRegistry()
    gauge = ChannelGauge("last_seconds", "About.", bound=Bound(5), registry=registry)
    for moment in moments:
        gauge.raise_to(1, moment)
    assert exposed_lines(registry) == {'last_seconds{channel_id="1"} 9.0'}


def test_a_counter_with_labels_of_its_own_counts_them_apart_and_a_channel_once_in_the_bound() -> None:
    registry = CollectorRegistry()
    jobs = ChannelCounter("jobs_total", "About.", bound=Bound(1), registry=registry, labels=["status"])
    jobs.add(1, status="enqueued")
    jobs.add(1, status="completed")
    jobs.add(2, status="enqueued")
    jobs.add(3, status="enqueued")
    assert exposed_lines(registry) == {
        'jobs_total{channel_id="1",status="enqueued"} 1.0',
        'jobs_total{channel_id="1",status="completed"} 1.0',
        'jobs_total{channel_id="other",status="enqueued"} 2.0',
    }


def test_a_histogram_beyond_the_bound_goes_to_other_and_loses_nothing() -> None:
    registry = CollectorRegistry()
    pauses = ChannelHistogram("pause_seconds", "About.", bound=Bound(1), registry=registry, buckets=(10, 60))
    for channel_id, seconds in ((1, 10), (1, 11), (2, 5), (3, 600)):
        pauses.observe(channel_id, seconds)
    assert exposed_lines(registry) == {
        'pause_seconds_bucket{channel_id="1",le="10.0"} 1.0',
        'pause_seconds_bucket{channel_id="1",le="60.0"} 2.0',
        'pause_seconds_bucket{channel_id="1",le="+Inf"} 2.0',
        'pause_seconds_count{channel_id="1"} 2.0',
        'pause_seconds_sum{channel_id="1"} 21.0',
        'pause_seconds_bucket{channel_id="other",le="10.0"} 1.0',
        'pause_seconds_bucket{channel_id="other",le="60.0"} 1.0',
        'pause_seconds_bucket{channel_id="other",le="+Inf"} 2.0',
        'pause_seconds_count{channel_id="other"} 2.0',
        'pause_seconds_sum{channel_id="other"} 605.0',
    }


def test_an_age_goes_on_growing_when_nobody_moves_it() -> None:
    registry, now = CollectorRegistry(), 1000.0
    age = ChannelAge("age_seconds", "About.", bound=Bound(2), registry=registry, now=lambda: now)
    age.since(1, 900.0)
    assert exposed_lines(registry) == {'age_seconds{channel_id="1"} 100.0'}
    now = 5000.0
    assert exposed_lines(registry) == {'age_seconds{channel_id="1"} 4100.0'}


def test_a_moment_that_is_still_to_come_has_no_age() -> None:
    registry = CollectorRegistry()
    age = ChannelAge("age_seconds", "About.", bound=Bound(2), registry=registry, now=lambda: 1000.0)
    age.since(1, 1003.0)
    assert exposed_lines(registry) == {'age_seconds{channel_id="1"} 0.0'}


def test_ages_beyond_the_bound_show_the_oldest() -> None:
    registry = CollectorRegistry()
    age = ChannelAge("age_seconds", "About.", bound=Bound(2), registry=registry, now=lambda: 100.0)
    for channel_id, moment in ((1, 30.0), (2, 10.0), (3, 20.0)):
        age.since(channel_id, moment)
    assert exposed_lines(registry) == {'age_seconds{channel_id="2"} 90.0', 'age_seconds{channel_id="3"} 80.0'}


def test_a_forgotten_channel_is_gone_and_makes_room() -> None:
    registry, bound = CollectorRegistry(), Bound(1)
    gauge = ChannelGauge("threshold_seconds", "About.", bound=bound, registry=registry)
    age = ChannelAge("age_seconds", "About.", bound=bound, registry=registry, now=lambda: 100.0)
    for channel_id, value in ((1, 50.0), (2, 40.0)):
        gauge.set(channel_id, value)
        age.since(channel_id, 100.0 - value)
    for state in (gauge, age):
        state.forget(1)
        state.forget(404)
    assert exposed_lines(registry) == {
        'threshold_seconds{channel_id="2"} 40.0',
        'age_seconds{channel_id="2"} 40.0',
    }


def test_a_gauge_beside_another_shows_the_same_channels_so_that_they_can_be_compared() -> None:
    registry, bound = CollectorRegistry(), Bound(1)
    gap = ChannelAge("gap_seconds", "About.", bound=bound, registry=registry, now=lambda: 100.0)
    threshold = ChannelGauge("threshold_seconds", "About.", bound=bound, registry=registry, beside=gap)
    for channel_id, gap_seconds, threshold_seconds in ((1, 90.0, 10.0), (2, 20.0, 60.0)):
        gap.since(channel_id, 100.0 - gap_seconds)
        threshold.set(channel_id, threshold_seconds)
    assert exposed_lines(registry) == {
        'gap_seconds{channel_id="1"} 90.0',
        'threshold_seconds{channel_id="1"} 10.0',
    }


def test_what_the_bound_cuts_off_is_still_seen_as_a_whole() -> None:
    registry = CollectorRegistry()
    gauge = ChannelGauge("wait_seconds", "About.", bound=Bound(1), registry=registry)
    ChannelAggregates("channel_aggregate", "About.", of=[gauge], registry=registry)
    for channel_id, value in ((1, 10), (2, 30), (3, 20)):
        gauge.set(channel_id, value)
    assert exposed_lines(registry) == {
        'wait_seconds{channel_id="2"} 30.0',
        'channel_aggregate{metric="wait_seconds",stat="channels"} 3.0',
        'channel_aggregate{metric="wait_seconds",stat="min"} 10.0',
        'channel_aggregate{metric="wait_seconds",stat="mean"} 20.0',
        'channel_aggregate{metric="wait_seconds",stat="max"} 30.0',
    }


@pytest.mark.parametrize("nonsense", [None, "soon", math.nan, math.inf])
def test_a_value_that_is_no_number_changes_nothing_raises_nothing_and_is_told_once(nonsense: object) -> None:
    registry, bound = CollectorRegistry(), Bound(5)
    gauge = ChannelGauge("gauge_seconds", "About.", bound=bound, registry=registry)
    age = ChannelAge("age_seconds", "About.", bound=bound, registry=registry)
    counter = ChannelCounter("waits_total", "About.", bound=bound, registry=registry)
    histogram = ChannelHistogram("pause_seconds", "About.", bound=bound, registry=registry, buckets=(1,))
    gauge.set(1, 7.0)
    before = exposed_lines(registry)
    with capture_logs() as logged:
        for _ in range(3):
            gauge.set(1, nonsense)  # type: ignore[arg-type]  # the mistake is the subject
            gauge.raise_to(1, nonsense)  # type: ignore[arg-type]  # as above
            age.since(1, nonsense)  # type: ignore[arg-type]  # as above
            counter.add(1, nonsense)  # type: ignore[arg-type]  # as above
            histogram.observe(1, nonsense)  # type: ignore[arg-type]  # as above
    assert exposed_lines(registry) == before
    assert sorted(line["metric"] for line in logged) == [
        "age_seconds",
        "gauge_seconds",
        "pause_seconds",
        "waits_total",
    ]


def test_a_gauge_that_cannot_be_computed_does_not_hide_the_others() -> None:
    def no_clock() -> float:
        raise OSError("the clock is gone")

    registry, bound = CollectorRegistry(), Bound(5)
    age = ChannelAge("age_seconds", "About.", bound=bound, registry=registry, now=no_clock)
    gauge = ChannelGauge("gauge_seconds", "About.", bound=bound, registry=registry)
    ChannelAggregates("channel_aggregate", "About.", of=[age], registry=registry)
    age.since(1, 1.0)
    gauge.set(1, 7.0)
    assert exposed_lines(registry) == {
        'gauge_seconds{channel_id="1"} 7.0',
        'channel_aggregate{metric="age_seconds",stat="channels"} 0.0',
    }


def test_a_counter_does_not_fall() -> None:
    registry = CollectorRegistry()
    counter = ChannelCounter("waits_total", "About.", bound=Bound(1), registry=registry)
    counter.add(1, 2.0)
    counter.add(1, -1.0)
    assert exposed_lines(registry) == {'waits_total{channel_id="1"} 2.0'}
