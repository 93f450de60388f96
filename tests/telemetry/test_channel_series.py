import pytest
from prometheus_client import CollectorRegistry, generate_latest

from telegram_assistant.telemetry.channel_series import Bound, ChannelCounter, ChannelGauge


def shown(registry: CollectorRegistry) -> set[str]:
    return {line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")}


def test_a_counter_beyond_the_bound_goes_to_other_and_loses_nothing() -> None:
    registry = CollectorRegistry()
    counter = ChannelCounter("waits_seconds", "About.", bound=Bound(2), registry=registry)
    for channel_id in (1, 2, 3, 4, 3, 1):
        counter.add(channel_id)
    assert shown(registry) == {
        'waits_seconds_total{channel_id="1"} 2.0',
        'waits_seconds_total{channel_id="2"} 1.0',
        'waits_seconds_total{channel_id="other"} 3.0',
    }


def test_a_gauge_beyond_the_bound_shows_the_worst() -> None:
    registry = CollectorRegistry()
    gauge = ChannelGauge("age_seconds", "About.", bound=Bound(2), registry=registry)
    for channel_id, age in ((1, 10), (2, 30), (3, 20)):
        gauge.set(channel_id, age)
    assert shown(registry) == {'age_seconds{channel_id="2"} 30.0', 'age_seconds{channel_id="3"} 20.0'}
    gauge.set(2, 1)
    assert shown(registry) == {'age_seconds{channel_id="3"} 20.0', 'age_seconds{channel_id="1"} 10.0'}


@pytest.mark.parametrize("moments", [(5, 9), (9, 5)])
def test_a_gauge_can_be_raised_and_does_not_fall(moments: tuple[int, int]) -> None:
    registry = CollectorRegistry()
    gauge = ChannelGauge("last_seconds", "About.", bound=Bound(5), registry=registry)
    for moment in moments:
        gauge.raise_to(1, moment)
    assert shown(registry) == {'last_seconds{channel_id="1"} 9.0'}
