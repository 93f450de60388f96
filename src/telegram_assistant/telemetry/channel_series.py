"""Bounded metric series per channel: a series for each of a million channels would overload any Prometheus.

Counters and histograms have a series of their own for the first channels and one for all others. Gauges and
ages are exported for the worst channels, and aggregated over all. A broken metric never stops parsing:
nothing here raises; an error is logged once per metric, and the other metrics stay intact.
"""

import math
import threading
import time
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import nlargest, nsmallest
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from telegram_assistant.telemetry.logging import get_logger

OTHER = "other"

log = get_logger()


class Bound:
    """The most channels with series of their own; shared by all metrics, set once at the start."""

    def __init__(self, channels: int) -> None:
        self.channels = channels


class _ChannelSeries(Collector):
    def __init__(self, name: str, about: str, *, bound: Bound, registry: CollectorRegistry) -> None:
        self.name = name
        self._about = about
        self._bound = bound
        self._lock = threading.Lock()
        self._is_logged = False
        registry.register(self)

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        families: list[Metric] = []
        with self._log_errors():
            families.append(self._family())
        return families

    @abstractmethod
    def _family(self) -> Metric: ...

    @contextmanager
    def _log_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception:
            if not self._is_logged:
                log.exception("metric_broken", metric=self.name)
            self._is_logged = True


class _ChannelCounts(_ChannelSeries):
    """Values that only grow, so they may never move to another series:
    the first channels keep series of their own.
    """

    def __init__(self, name: str, about: str, *, bound: Bound, registry: CollectorRegistry) -> None:
        super().__init__(name, about, bound=bound, registry=registry)
        self._own_ids: set[int] = set()

    def _label(self, channel_id: int) -> str:
        if channel_id not in self._own_ids and len(self._own_ids) >= self._bound.channels:
            return OTHER
        self._own_ids.add(channel_id)
        return str(channel_id)


class ChannelCounter(_ChannelCounts):
    """A counter that counts channels beyond the bound together as `other`."""

    def __init__(
        self, name: str, about: str, *, bound: Bound, registry: CollectorRegistry, labels: Sequence[str] = ()
    ) -> None:
        super().__init__(name, about, bound=bound, registry=registry)
        self._labels = tuple(labels)
        self._values: dict[tuple[str, ...], float] = {}

    def add(self, channel_id: int, amount: float = 1.0, **labels: str) -> None:
        with self._log_errors(), self._lock:
            growth = _not_negative(amount)
            other_labels = tuple(labels[name] for name in self._labels)
            series = (self._label(channel_id), *other_labels)
            self._values[series] = self._values.get(series, 0.0) + growth

    def _family(self) -> Metric:
        family = CounterMetricFamily(self.name, self._about, labels=["channel_id", *self._labels])
        with self._lock:
            for series, value in self._values.items():
                family.add_metric(series, value)
        return family


class ChannelHistogram(_ChannelCounts):
    """A histogram that observes channels beyond the bound together as `other`."""

    def __init__(
        self, name: str, about: str, *, bound: Bound, registry: CollectorRegistry, buckets: Sequence[float]
    ) -> None:
        super().__init__(name, about, bound=bound, registry=registry)
        self._limits = (*buckets, math.inf)
        self._counts: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def observe(self, channel_id: int, value: float) -> None:
        with self._log_errors(), self._lock:
            observed_value = _not_negative(value)
            series = self._label(channel_id)
            self._counts.setdefault(series, [0] * len(self._limits))[
                bisect_left(self._limits, observed_value)
            ] += 1
            self._sums[series] = self._sums.get(series, 0.0) + observed_value

    def _family(self) -> Metric:
        family = HistogramMetricFamily(self.name, self._about, labels=["channel_id"])
        with self._lock:
            for series, counts in self._counts.items():
                upto = zip(map(floatToGoString, self._limits), accumulate(counts), strict=True)
                family.add_metric([series], list(upto), self._sums[series])
        return family


class ChannelState(_ChannelSeries):
    """The current value of every channel. Beyond the bound it exports the worst channels, or those that the
    metric `beside` exports.

    A process that stops reading a channel calls `forget`.
    """

    def __init__(
        self,
        name: str,
        about: str,
        *,
        bound: Bound,
        registry: CollectorRegistry,
        lowest_is_worst: bool = False,
        beside: "ChannelState | None" = None,
    ) -> None:
        super().__init__(name, about, bound=bound, registry=registry)
        self._values: dict[int, float] = {}
        self._worst = nsmallest if lowest_is_worst else nlargest
        self._beside = beside

    def forget(self, channel_id: int) -> None:
        with self._log_errors(), self._lock:
            self._values.pop(channel_id, None)

    def all(self) -> list[float]:
        """The values of all channels, exported or not."""
        values: list[float] = []
        with self._log_errors():
            with self._lock:
                stored_values = list(self._values.values())
            values.extend(self._as_shown(stored_values))
        return values

    def own_series(self) -> Iterable[int]:
        """The channels that have a series of their own."""
        with self._lock:
            values = dict(self._values)
        if len(values) <= self._bound.channels:
            return values
        if self._beside is not None:
            return self._beside.own_series()
        return self._worst(self._bound.channels, values, key=values.__getitem__)

    def _as_shown(self, stored_values: list[float]) -> list[float]:
        return stored_values

    def _put(self, channel_id: int, value: float) -> None:
        if not math.isfinite(value):
            raise ValueError(f"{value} is not finite")
        self._values[channel_id] = float(value)

    def _family(self) -> Metric:
        family = GaugeMetricFamily(self.name, self._about, labels=["channel_id"])
        channel_ids = self.own_series()
        with self._lock:
            stored_values = {
                channel_id: self._values[channel_id]
                for channel_id in channel_ids
                if channel_id in self._values
            }
        for channel_id, value in zip(
            stored_values, self._as_shown(list(stored_values.values())), strict=True
        ):
            family.add_metric([str(channel_id)], value)
        return family


class ChannelGauge(ChannelState):
    """A value per channel that stays until it is set again."""

    def set(self, channel_id: int, value: float) -> None:
        with self._log_errors(), self._lock:
            self._put(channel_id, value)

    def raise_to(self, channel_id: int, value: float) -> None:
        """Sets the value unless it is already higher."""
        with self._log_errors(), self._lock:
            self._put(channel_id, max(value, self._values.get(channel_id, value)))


class ChannelAge(ChannelState):
    """Seconds since a time, computed at each scrape, so that they keep growing when nothing else happens."""

    def __init__(
        self,
        name: str,
        about: str,
        *,
        bound: Bound,
        registry: CollectorRegistry,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(name, about, bound=bound, registry=registry, lowest_is_worst=True)
        self._now = now

    def since(self, channel_id: int, moment: float) -> None:
        """Starts the channel's age at this Unix time."""
        with self._log_errors(), self._lock:
            self._put(channel_id, moment)

    def since_latest(self, channel_id: int, moment: float) -> None:
        """Like `since`, unless the age already starts later."""
        with self._log_errors(), self._lock:
            self._put(channel_id, max(moment, self._values.get(channel_id, moment)))

    def _as_shown(self, stored_values: list[float]) -> list[float]:
        now = self._now()
        return [now - moment if moment < now else 0.0 for moment in stored_values]


class ChannelAggregates(Collector):
    """Aggregates over all channels, those beyond the bound included: how many, minimum, mean and maximum."""

    def __init__(
        self, name: str, about: str, *, of: Sequence[ChannelState], registry: CollectorRegistry
    ) -> None:
        self._name = name
        self._about = about
        self._states = of
        registry.register(self)

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        family = GaugeMetricFamily(self._name, self._about, labels=["metric", "stat"])
        for state in self._states:
            values = state.all()
            family.add_metric([state.name, "channels"], len(values))
            if values:
                family.add_metric([state.name, "min"], min(values))
                family.add_metric([state.name, "mean"], sum(values) / len(values))
                family.add_metric([state.name, "max"], max(values))
        return (family,)


def _not_negative(value: float) -> float:
    if not 0 <= value < math.inf:
        raise ValueError(f"{value} cannot be counted")
    return float(value)
