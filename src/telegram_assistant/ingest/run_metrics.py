"""Metrics of polls and pushed posts.

A broken gauge never stops parsing: the series handle their own errors.
"""

from collections.abc import Iterable
from datetime import datetime

from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.post import Post, PostKind
from telegram_assistant.ingest.polling.poll import PollRun, RunStatus
from telegram_assistant.stores.postgres.channels.hints import ReadChannel
from telegram_assistant.stores.postgres.channels.known_channels import KnownChannel
from telegram_assistant.telemetry.metrics import (
    CHANNEL_GAP,
    CHANNEL_LAST_POST,
    FLOODWAIT_SECONDS,
    INTERARRIVAL,
    LAST_SUCCESS,
    MISSING_DURATION,
    PARSER_RETRIES,
    PARSER_RUNS,
    PARSING_DURATION,
    POST_LAG,
    POSTS_PUSHED,
    WATERMARK_AGE,
)
from telegram_assistant.telemetry.waits import Waits


def record_known_channel(channel: KnownChannel) -> None:
    """Export the known state of a channel before its first poll by this process,
    for example after a restart.
    """
    if channel.last_polled_at is not None:
        LAST_SUCCESS.set(channel.channel_id, channel.last_polled_at.timestamp())
    if channel.last_parsed_at is not None:
        WATERMARK_AGE.since(channel.channel_id, channel.last_parsed_at.timestamp())
    _record_newest(channel.channel_id, channel.newest_posted_at)


def record_waits(channel_id: ChannelId, waits: Waits) -> None:
    """Count how long Telegram made a poll or a backfill of this channel wait."""
    if waits.seconds:
        FLOODWAIT_SECONDS.add(channel_id, waits.seconds)
    PARSER_RETRIES.labels("floodwait").inc(waits.retries)


def record_run(run: PollRun, status: RunStatus, *, now: datetime, waits: Waits) -> None:
    """Record the end of a poll."""
    channel_id = run.channel.channel_id
    PARSER_RUNS.labels(run.mode.value, status.value).inc()
    record_waits(channel_id, waits)
    if status not in {RunStatus.OK, RunStatus.EMPTY}:
        return
    PARSING_DURATION.labels(run.mode.value).observe(
        max(0.0, (now - run.started_at).total_seconds() - waits.seconds)
    )
    LAST_SUCCESS.set(channel_id, now.timestamp())
    parsed_at = run.started_at if run.has_stored else run.channel.last_parsed_at
    if parsed_at is not None:
        WATERMARK_AGE.since(channel_id, parsed_at.timestamp())
    _record_newest(channel_id, run.newest_posted_at)
    if (
        run.inserted_count and run.channel.last_polled_at is not None
    ):  # posts found by a first poll were never expected to be fresh
        stored_posts = [post for post in run.newer_posts if post.message_id in run.new_ids]
        _record_freshness(
            channel_id, run.channel.tier, stored_posts, before=run.channel.newest_posted_at, now=now
        )


def record_pushed_posts(channel: ReadChannel, stored_posts: Iterable[Post], *, now: datetime) -> None:
    """Record posts that Telegram pushed and that were stored."""
    posts = list(stored_posts)
    _record_newest(channel.channel_id, max((post.posted_at for post in posts), default=None))
    POSTS_PUSHED.inc(len(posts))
    _record_freshness(channel.channel_id, channel.tier, posts, before=channel.newest_posted_at, now=now)


def _record_newest(channel_id: ChannelId, posted_at: datetime | None) -> None:
    """Record the newest post of a channel. The value never goes back, whichever caller is last."""
    if posted_at is not None:
        newest = posted_at.timestamp()
        CHANNEL_LAST_POST.raise_to(channel_id, newest)
        CHANNEL_GAP.since_latest(channel_id, newest)
        MISSING_DURATION.since_latest(channel_id, newest)


def _record_freshness(
    channel_id: int, tier: Priority, posts: Iterable[Post], *, before: datetime | None, now: datetime
) -> None:
    lag = POST_LAG.labels(tier.value)
    moments = sorted({post.posted_at for post in posts if post.kind is not PostKind.SERVICE})
    for moment in moments:
        lag.observe(max(0.0, (now - moment).total_seconds()))
    for moment in moments:
        if before is not None and moment > before:
            INTERARRIVAL.observe(channel_id, (moment - before).total_seconds())
        before = moment
