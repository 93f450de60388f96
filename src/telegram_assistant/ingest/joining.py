"""Joins lively channels, so that Telegram pushes their posts.

Only if the installation enables it, and slowly.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from telegram_assistant.domain.accounts.budget import DAY, Cost, meter_of
from telegram_assistant.domain.channels.joining import Candidate, joins_budget, worth_joining
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.domain.posts.history import Readable
from telegram_assistant.errors import Rejected
from telegram_assistant.stores.postgres.accounts.limits import AccountLimits
from telegram_assistant.stores.postgres.channels.joins import Joins
from telegram_assistant.telegram.login import whoami
from telegram_assistant.telegram.reader import ChannelReader, TooManyChannels
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()


@dataclass(slots=True, kw_only=True)
class Joiner:
    """Joins channels for one account, at most `per_day`."""

    account_id: AccountId
    per_day: int
    reader: ChannelReader
    joins: Joins
    limits: AccountLimits
    clock: Callable[[], datetime]
    _refused: set[ChannelId] = field(default_factory=set, init=False)
    """Channels that require approval or are closed. This process does not try them again."""

    async def join_one(self) -> ChannelId | None:
        """Join the channel that gains most, if the budget allows one now.

        The attempt is recorded before it is made.
        """
        if not self.per_day:
            return None
        budget, now = joins_budget(self.per_day), time.monotonic()
        meter = meter_of(budget, (await self.limits.load_meters(self.account_id)).get(budget.method), now)
        if meter.blocked_seconds(now) or meter.seconds_until(now, Cost()):
            return None
        chosen_candidate = await self._choose()
        if chosen_candidate is None:
            return None
        await self.limits.keep(self.account_id, budget.method, meter.take(now, Cost()).take_snapshot(now))
        try:
            await self.reader.join_public(Readable(chosen_candidate.channel_id, chosen_candidate.access_hash))
        except TooManyChannels as error:
            log.warning(
                "no_place_to_join",
                account_id=self.account_id,
                why=str(error),
                what_to_do="leave channels, or set PUSH_JOINS_PER_DAY=0",
            )
            await self.limits.keep(self.account_id, budget.method, meter.block(now, DAY).take_snapshot(now))
            return None
        except Rejected as error:
            self._refused.add(chosen_candidate.channel_id)
            log.info(
                "channel_not_joined",
                account_id=self.account_id,
                channel_id=chosen_candidate.channel_id,
                why=str(error),
            )
            return None
        await self.joins.note(self.account_id, chosen_candidate.channel_id)
        log.info(
            "channel_joined",
            account_id=self.account_id,
            channel_id=chosen_candidate.channel_id,
            posts_per_hour=round(chosen_candidate.posts_per_second * 3600, 1),
        )
        return chosen_candidate.channel_id

    async def _choose(self) -> Candidate | None:
        candidates = [
            candidate
            for candidate in await self.joins.candidates(self.account_id, self.clock())
            if candidate.channel_id not in self._refused
        ]
        joined_count = await self.joins.count(self.account_id)
        if worth_joining(candidates, joined_count=joined_count, is_premium=True) is None:
            return None
        me = await whoami(self.reader.client)
        return worth_joining(candidates, joined_count=joined_count, is_premium=me.is_premium)
