"""What a run over a channel tells Prometheus. A broken gauge never stops parsing: the series see to it themselves."""

from datetime import datetime

from telegram_assistant.domain.post import PostKind
from telegram_assistant.ingest.poll import Run, RunStatus
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
    parsed_at = run.started_at if run.inserted else run.channel.last_parsed_at
    if parsed_at is not None:
        WATERMARK_AGE.since(channel_id, parsed_at.timestamp())
    if run.newest_posted_at is not None:
        CHANNEL_GAP.since(channel_id, run.newest_posted_at.timestamp())
    if run.inserted and run.channel.last_polled_at is not None:
        _tell_freshness(run, now)


def _tell_freshness(run: Run, now: datetime) -> None:
    """Only of channels that were followed already: what a first run finds was never meant to be fresh."""
    lag = POST_LAG.labels(run.channel.tier.value)
    moments = sorted({post.posted_at for post in run.fresh if post.kind is not PostKind.SERVICE})
    for moment in moments:
        lag.observe(max(0.0, (now - moment).total_seconds()))
    before = run.channel.newest_posted_at
    for moment in moments:
        if before is not None and moment > before:
            INTERARRIVAL.observe(run.channel.channel_id, (moment - before).total_seconds())
        before = moment
