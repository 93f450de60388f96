"""Metric series per channel that cannot grow without bound: a million channels would kill any Prometheus."""

import threading
from collections.abc import Callable, Iterable
from heapq import nlargest

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

OTHER = "other"


class Bound:
    """How many channels may have series of their own; shared by all metrics, set once at the start."""

    def __init__(self, channels: int) -> None:
        self.channels = channels


class _ChannelSeries(Collector):
    def __init__(self, name: str, about: str, *, bound: Bound, registry: CollectorRegistry) -> None:
        self._name = name
        self._about = about
        self._bound = bound
        self._values: dict[int, float] = {}
        self._lock = threading.Lock()
        registry.register(self)

    def describe(self) -> Iterable[Metric]:
        return ()


class ChannelCounter(_ChannelSeries):
    """A counter whose channels beyond the bound are counted together as `other`."""

    def __init__(self, name: str, about: str, *, bound: Bound, registry: CollectorRegistry) -> None:
        super().__init__(name, about, bound=bound, registry=registry)
        self._others = 0.0

    def add(self, channel_id: int, amount: float = 1.0) -> None:
        with self._lock:
            if channel_id in self._values or len(self._values) < self._bound.channels:
                self._values[channel_id] = self._values.get(channel_id, 0.0) + amount
            else:
                self._others += amount

    def collect(self) -> Iterable[Metric]:
        family = CounterMetricFamily(self._name, self._about, labels=["channel_id"])
        with self._lock:
            for channel_id, value in self._values.items():
                family.add_metric([str(channel_id)], value)
            if self._others:
                family.add_metric([OTHER], self._others)
        yield family


class ChannelGauge(_ChannelSeries):
    """A gauge that shows the worst channels when there are too many; `badness` says which value is worse."""

    def __init__(self, name: str, about: str, *, bound: Bound, registry: CollectorRegistry, badness: Callable[[float], float] = float) -> None:
        super().__init__(name, about, bound=bound, registry=registry)
        self._badness = badness

    def set(self, channel_id: int, value: float) -> None:
        with self._lock:
            self._values[channel_id] = value

    def raise_to(self, channel_id: int, value: float) -> None:
        """Set it unless it is higher already."""
        with self._lock:
            self._values[channel_id] = max(value, self._values.get(channel_id, value))

    def collect(self) -> Iterable[Metric]:
        family = GaugeMetricFamily(self._name, self._about, labels=["channel_id"])
        with self._lock:
            worst = nlargest(self._bound.channels, self._values.items(), key=lambda item: self._badness(item[1]))
        for channel_id, value in worst:
            family.add_metric([str(channel_id)], value)
        yield family
