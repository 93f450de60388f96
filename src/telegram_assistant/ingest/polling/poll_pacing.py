"""Decides when the channels of one account are due again."""

from dataclasses import replace
from datetime import datetime, timedelta

from telegram_assistant.domain.channels.rhythm import FLAT, Rhythm, adjust_trim, wait_seconds
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.ingest.polling.silence import Silence
from telegram_assistant.settings import ParserSettings, SchedulerPolicy
from telegram_assistant.stores.postgres.channels.schedule import DueChannel, Plan, Schedule
from telegram_assistant.telemetry.metrics import CHANNEL_BOUND

PLAN_AGAIN = timedelta(minutes=1)
MIN_THRESHOLD = timedelta(minutes=30)
"""No silence is verified before that."""


class PollPacing:
    """Holds the account's plan, and adjusts it by how late the polls come."""

    def __init__(
        self, account_id: AccountId, *, settings: ParserSettings, schedule: Schedule, silence: Silence
    ) -> None:
        self._account_id = account_id
        self._settings = settings
        self._schedule = schedule
        self._silence = silence
        self._plan: Plan | None = None
        self._planned_at: datetime | None = None
        self._lateness: list[float] = []

    async def refresh(self, now: datetime) -> bool:
        """Load the plan once a minute, and adjust it by the lateness of the polls.

        Returns True if it was loaded.
        """
        if self._planned_at is not None and now - self._planned_at < PLAN_AGAIN:
            return False
        self._planned_at = now
        plan = await self._schedule.load_plan(self._account_id)
        if plan is not None and self._lateness:
            trim = adjust_trim(plan.trim, self._lateness, channel_count=plan.channels)
            await self._schedule.trim_plan(self._account_id, trim)
            plan = replace(plan, trim=trim)
            self._lateness = []
        self._plan = plan
        return True

    def note_poll_start(self, channel: DueChannel, now: datetime) -> None:
        """Record how late a poll begins, relative to the planned wait."""
        if channel.last_polled_at is not None and channel.due_at > channel.last_polled_at:
            self._lateness.append((now - channel.due_at) / (channel.due_at - channel.last_polled_at))

    async def next_poll_at(
        self, channel: DueChannel, rhythm: Rhythm | None, newest_posted_at: datetime | None, now: datetime
    ) -> datetime:
        """Return the due time by the policy.

        Once, when a silence becomes unusually long, a poll verifies that it is one.
        """
        interval = timedelta(seconds=self._settings.interval_seconds)
        if self._settings.policy is SchedulerPolicy.CLASSIC:
            return now + 2 * interval  # the next tick makes it due; this is the fallback if ticks stop
        planned_at = now + (self._wait(channel, rhythm, now) if self._plan and rhythm else interval)
        if newest_posted_at is None or planned_at < newest_posted_at + MIN_THRESHOLD:
            if channel.known is not None and (
                self._plan is None or self._plan.channels <= CHANNEL_BOUND.channels
            ):
                await self._silence.export_threshold(channel.channel_id, now)
            return planned_at
        threshold = await self._silence.threshold(channel.channel_id, now, silent_since=newest_posted_at)
        verify_at = newest_posted_at + threshold
        return verify_at if now < verify_at < planned_at else planned_at

    def _wait(self, channel: DueChannel, rhythm: Rhythm, now: datetime) -> timedelta:
        assert self._plan is not None  # the caller has checked
        seconds = wait_seconds(
            rhythm,
            channel.profile or FLAT,
            now=now.timestamp(),
            price=self._plan.price * self._plan.trim,
            weight=channel.weight or 1.0,
            max_seconds=self._plan.max_seconds,
        )
        return timedelta(seconds=seconds)
