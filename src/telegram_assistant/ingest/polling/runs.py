"""Begins polls, and retries them while Telegram does not answer: the same for accounts and previews."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime

from telegram_assistant.domain.channels.parsing import choose_mode
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Busy, Flooded, NoRoom, Unanswered
from telegram_assistant.ingest.polling.poll import Poller, PollRun
from telegram_assistant.settings import ParserSettings
from telegram_assistant.stores.postgres.channels.schedule import DueChannel
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import MODE_FORCED, PARSER_RETRIES

log = get_logger()

FIRST_RETRY_SECONDS = 1.0


@dataclass(slots=True)
class RunStarter:
    """Chooses the mode of each poll, and counts a channel once when its mode is forced."""

    settings: ParserSettings
    _forced: set[ChannelId] = field(default_factory=set, init=False)

    def begin(self, channel: DueChannel, mark: datetime | None, now: datetime) -> PollRun:
        """Build the poll.

        A mode that somebody requested overrides all others, so it never counts as forced.
        """
        mode, is_forced = choose_mode(
            self.settings,
            last_parsed_at=channel.last_parsed_at,
            last_polled_at=channel.last_polled_at,
            now=now,
        )
        if channel.asked_mode is not None:
            return PollRun(channel, channel.asked_mode, mark, now)
        if is_forced and channel.channel_id not in self._forced:
            MODE_FORCED.labels("stale_lpa").inc()
            log.info(
                "mode_forced",
                channel_id=channel.channel_id,
                mode=mode.value,
                reason="stale_lpa",
                last_polled_at=str(channel.last_polled_at),
            )
        (self._forced.add if is_forced else self._forced.discard)(channel.channel_id)
        return PollRun(channel, mode, mark, now)


async def attempt_run(run: PollRun, *, poller: Poller, attempt_count: int, stopping: asyncio.Event) -> None:
    """Run a poll, with retries and growing pauses after transient errors. Only Telegram's errors count as
    retries.

    A flood and a full disk outlast all retries, so there are none.
    """
    for attempt in range(1, attempt_count + 1):
        try:
            await poller.run(run)
        except (Flooded, NoRoom):
            raise
        except Busy as busy:
            if attempt == attempt_count or stopping.is_set():
                raise
            if isinstance(busy, Unanswered):
                PARSER_RETRIES.labels(busy.kind).inc()
            await sleep_unless(stopping, FIRST_RETRY_SECONDS * 2 ** (attempt - 1))
        else:
            return
