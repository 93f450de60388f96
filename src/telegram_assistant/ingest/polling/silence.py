"""How long a channel is usually silent. Loaded on demand and cached for an hour."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from telegram_assistant.domain.channels.parsing import Statistics, overlap_of, quiet_hours, threshold_of
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.settings import ParserSettings
from telegram_assistant.stores.postgres.channels.silences import PostStatistics
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import ADAPTIVE_THRESHOLD

log = get_logger()

EXPORT_EVERY = timedelta(hours=1)


class Silence:
    """Caches statistics in three places: this process, Redis, and the posts themselves."""

    def __init__(self, *, settings: ParserSettings, marks: Marks, statistics: PostStatistics) -> None:
        self._settings = settings
        self._marks = marks
        self._statistics = statistics
        self._zone = ZoneInfo(settings.quiet_zone)
        self._known: dict[ChannelId, Statistics] = {}
        self._exported_at: dict[ChannelId, datetime] = {}

    async def overlap(self, channel_id: ChannelId, now: datetime) -> timedelta:
        return overlap_of(await self._load_statistics(channel_id, now))

    async def export_threshold(self, channel_id: ChannelId, now: datetime) -> None:
        """Export the gauge of a channel that is not silent, once an hour,
        because its statistics cost a query.
        """
        exported_at = self._exported_at.get(channel_id)
        if exported_at is None or now - exported_at >= EXPORT_EVERY:
            await self.threshold(channel_id, now, silent_since=None)

    async def threshold(
        self, channel_id: ChannelId, now: datetime, *, silent_since: datetime | None
    ) -> timedelta:
        """Return how long the channel may be silent. Logs a silence that lasts longer already."""
        threshold = threshold_of(await self._load_statistics(channel_id, now), now, self._zone)
        ADAPTIVE_THRESHOLD.set(channel_id, threshold.total_seconds())
        self._exported_at[channel_id] = now
        gap = now - silent_since if silent_since else timedelta(0)
        if gap > threshold:
            _, reason = quiet_hours(now, self._zone)
            log.info(
                "adaptive threshold",
                channel_id=channel_id,
                threshold_seconds=round(threshold.total_seconds()),
                gap_seconds=round(gap.total_seconds()),
                quiet_reason=reason,
            )
        return threshold

    async def last_before(self, channel_id: ChannelId, moment: datetime) -> MessageId | None:
        """Return the newest stored post before that moment."""
        return await self._statistics.last_before(channel_id, moment)

    async def stored_among(self, channel_id: ChannelId, message_ids: Sequence[MessageId]) -> set[MessageId]:
        return await self._statistics.select_stored(channel_id, message_ids)

    async def forget(self, channel_id: ChannelId) -> None:
        """Drop the cached statistics, because new posts have come."""
        self._known.pop(channel_id, None)
        await self._marks.drop_statistics(channel_id)

    async def _load_statistics(self, channel_id: ChannelId, now: datetime) -> Statistics | None:
        if not self._settings.adaptive:
            return None
        statistics = self._known.get(channel_id)
        if statistics is None or now - statistics.calculated_at > timedelta(hours=1):
            statistics = await self._marks.statistics(channel_id)
        if statistics is None:
            statistics = await self._statistics.load_statistics(
                channel_id, window_days=self._settings.window_days, now=now
            )
            await self._marks.keep_statistics(channel_id, statistics)
            log.info(
                "interarrival stats",
                channel_id=channel_id,
                median=statistics.median,
                p95=statistics.p95,
                posts=statistics.sample_count,
            )
        self._known[channel_id] = statistics
        return statistics
