"""Asks Telegram for the updates that an account has missed: after every new connection, and once a minute.

Telegram does not repeat updates that were sent into a lost connection, and a loss is noticed late. Its answer
names the channels in which something happened. Channels whose updates all arrived are skipped; the others are
read.
"""

import asyncio
import random
from dataclasses import dataclass, field

from telegram_assistant.domain.accounts.updates import SeenUpdates
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Busy
from telegram_assistant.ingest.joining import Joiner
from telegram_assistant.stores.postgres.accounts.push_states import PushStates
from telegram_assistant.stores.postgres.channels.hints import Hints
from telegram_assistant.supervision import sleep_unless, wait_for_either
from telegram_assistant.telegram.account_client import AccountClient
from telegram_assistant.telegram.updates import UpdateBuffer, load_missed, load_state
from telegram_assistant.telemetry.metrics import PUSH_GAPS
from telegram_assistant.telemetry.outages import OutageLog

EVERY_SECONDS, JITTER = 60.0, 0.2


@dataclass(slots=True, kw_only=True)
class CatchUp:
    """The catch-up loop of one account.

    Its position is saved in PostgreSQL after the channels were made due: a crash repeats the request.
    """

    account_id: AccountId
    lease_epoch: int
    receiver: UpdateBuffer
    client: AccountClient
    states: PushStates
    hints: Hints
    joiner: Joiner
    every_seconds: float = EVERY_SECONDS
    _seen: SeenUpdates | None = field(default=None, init=False)

    async def run(self, stopping: asyncio.Event) -> None:
        """Run until `stopping` is set. Waits, Telegram's or ours, delay this loop only."""
        outage = OutageLog(f"catching up of account {self.account_id}", account_id=self.account_id)
        while not stopping.is_set():
            try:
                possible_gaps = await self.catch_up()
                await self.joiner.join_one()
                outage.log_recovery()
            except Busy as busy:
                outage.log_failure(busy, is_routine=True, seconds=round(busy.retry_after_seconds))
                await sleep_unless(stopping, busy.retry_after_seconds)
                continue
            if self.receiver.possible_gaps == possible_gaps:
                jitter = random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 -- no secret
                self.receiver.has_possible_gap.clear()
                await wait_for_either(
                    self.receiver.has_possible_gap, stopping, seconds=self.every_seconds * jitter
                )

    async def catch_up(self) -> int:
        """Make all channels with missed updates due.

        Returns the number of the buffer's doubts that this covers.
        """
        while True:
            if self._seen is None:
                self._seen = await self.states.load_seen_updates(self.account_id) or await load_state(
                    self.client
                )
            missed_updates = await load_missed(self._seen, client=self.client, receiver=self.receiver)
            possible_gaps = self.receiver.possible_gaps
            if missed_updates.channels is None or missed_updates.channels:
                PUSH_GAPS.labels("away").inc(
                    1 if missed_updates.channels is None else len(missed_updates.channels)
                )
                await self.hints.make_due(self.account_id, self.lease_epoch, missed_updates.channels)
            await self.states.save(self.account_id, self.lease_epoch, missed_updates.state)
            self._seen = missed_updates.state
            if missed_updates.is_all:
                return possible_gaps
