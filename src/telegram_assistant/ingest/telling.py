"""What a run over a channel, or a post that was pushed, tells Prometheus. A broken gauge never stops parsing: the series see to it themselves."""

from collections.abc import Iterable
from datetime import datetime

from telegram_assistant.domain.parsing import Mode
from telegram_assistant.domain.post import Post, PostKind
from telegram_assistant.domain.priority import Priority
from telegram_assistant.ingest.poll import Run, RunStatus
from telegram_assistant.stores.postgres.hints import ReadChannel
from telegram_assistant.telemetry.metrics import (
    CHANNEL_GAP,
    FLOODWAIT_SECONDS,
    HWM_AGE,
    INTERARRIVAL,
    LAST_SUCCESS,
    PARSER_RUNS,
    PARSING_DURATION,
    POST_LAG,
    POSTS_PARSED,
    POSTS_PUSHED,
    WATERMARK_AGE,
)


def tell_run(run: Run, status: RunStatus, *, now: datetime, waited_seconds: float) -> None:
    """A run has ended."""
    channel_id = run.channel.channel_id
    PARSER_RUNS.labels(run.mode.value, status.value).inc()
    if waited_seconds:
        FLOODWAIT_SECONDS.add(channel_id, waited_seconds)
    if status not in {RunStatus.OK, RunStatus.EMPTY}:
        return
    PARSING_DURATION.labels(run.mode.value).observe(max(0.0, (now - run.started_at).total_seconds() - waited_seconds))
    POSTS_PARSED.labels(run.mode.value).inc(run.inserted)
    LAST_SUCCESS.set(channel_id, now.timestamp())
    HWM_AGE.forget(channel_id)
    parsed_at = run.started_at if run.has_news else run.channel.last_parsed_at
    if parsed_at is not None:
        WATERMARK_AGE.since(channel_id, parsed_at.timestamp())
    if run.newest_posted_at is not None:
        CHANNEL_GAP.since(channel_id, run.newest_posted_at.timestamp())
    if run.inserted and run.channel.last_polled_at is not None:  # what a first run finds was never meant to be fresh
        stored = [post for post in run.fresh if post.message_id in run.new_ids]
        _tell_freshness(channel_id, run.channel.tier, stored, before=run.channel.newest_posted_at, now=now)


def tell_pushed(channel: ReadChannel, stored: Iterable[Post], *, now: datetime) -> None:
    """These posts were told by Telegram itself, and stored: no run, but posts like any other."""
    posts = list(stored)
    POSTS_PARSED.labels(Mode.INCREMENTAL.value).inc(len(posts))
    POSTS_PUSHED.inc(len(posts))
    _tell_freshness(channel.channel_id, channel.tier, posts, before=channel.newest_posted_at, now=now)


def _tell_freshness(channel_id: int, tier: Priority, posts: Iterable[Post], *, before: datetime | None, now: datetime) -> None:
    lag = POST_LAG.labels(tier.value)
    moments = sorted({post.posted_at for post in posts if post.kind is not PostKind.SERVICE})
    for moment in moments:
        lag.observe(max(0.0, (now - moment).total_seconds()))
    for moment in moments:
        if before is not None and moment > before:
            INTERARRIVAL.observe(channel_id, (moment - before).total_seconds())
        before = moment
