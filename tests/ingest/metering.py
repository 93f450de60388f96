"""Reads the parser's metrics as a scraper does."""

from telegram_assistant.domain.channels.parsing import Mode
from telegram_assistant.telemetry.metrics import REGISTRY


def metric(name: str, channel_id: int | None = None, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels | ({"channel_id": str(channel_id)} if channel_id else {}))


def count_of(name: str, channel_id: int | None = None, **labels: str) -> float:
    return metric(name, channel_id, **labels) or 0.0


class Growth:
    """How much the counters of posts have grown since."""

    def __init__(self) -> None:
        self._before = self._now()

    @property
    def by_mode(self) -> dict[str, float]:
        return {
            name: now - before
            for (name, now), before in zip(self._now().items(), self._before.values(), strict=True)
            if now != before
        }

    def _now(self) -> dict[str, float]:
        return {mode.value: count_of("posts_parsed_total", mode=mode.value) for mode in Mode}
