"""All metrics, declared here and nowhere else. Labels come from small closed sets.

Names of the parser and the scheduler are public interface: dashboards are built on them.
"""

from collections.abc import Sequence
from itertools import product

from prometheus_client import CollectorRegistry, Counter, Gauge, GCCollector, Histogram, Info, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder

from telegram_assistant.telemetry.channel_series import Bound, ChannelAge, ChannelAggregates, ChannelCounter, ChannelGauge, ChannelHistogram

REGISTRY = CollectorRegistry(auto_describe=True)
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)

CHANNEL_BOUND = Bound(1000)
LATENCIES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


def _from_zero(metric: Counter | Histogram, *labels: Sequence[str]) -> None:
    """A series that begins with its first event hides that event from rate() and increase(): closed sets begin at zero."""
    for values in product(*labels):
        metric.labels(*values)


def exposition(accept: str) -> tuple[bytes, str]:
    """All metrics as Prometheus wants them, and their content type."""
    encode, content_type = choose_encoder(accept)
    return encode(REGISTRY), content_type


BUILD = Info("tga_build", "Version of the running program.", registry=REGISTRY)

LOOP_RESTARTS = Counter("loop_restarts_total", "Loops that crashed and were started again.", ["loop"], registry=REGISTRY)
LOOP_RUNNING = Gauge("loop_running", "1 while the loop runs, 0 while it waits to be started again.", ["loop"], registry=REGISTRY)
TASKS = Gauge("asyncio_tasks", "Tasks of this process that are not finished; it should not grow.", registry=REGISTRY)

JOB_RUNS = Counter("job_runs_total", "Runs of periodic jobs, by how they ended (ok, failed, elsewhere).", ["job", "status"], registry=REGISTRY)
JOB_LAST_SUCCESS = Gauge("job_last_success_timestamp_seconds", "Unix time of the job's last success in this process.", ["job"], registry=REGISTRY)

HTTP_ANSWERS = Counter("http_answers_total", "Answers of /api/v1, by operation and status.", ["operation", "status"], registry=REGISTRY)
HTTP_SECONDS = Histogram("http_answer_seconds", "How long they took.", ["operation"], registry=REGISTRY)

_STAGE = ["stage"]
STAGE_PROCESSED = Counter("stage_processed_total", "Entries that a stage has finished.", _STAGE, registry=REGISTRY)
STAGE_FAILED = Counter("stage_failed_total", "Attempts that failed.", _STAGE, registry=REGISTRY)
STAGE_RETRIED = Counter("stage_retried_total", "Entries that came back for another attempt.", _STAGE, registry=REGISTRY)
STAGE_DEAD_LETTERED = Counter("stage_dead_lettered_total", "Entries that went to the dead letters.", _STAGE, registry=REGISTRY)
STAGE_LATENCY = Histogram("stage_latency_seconds", "Time in the handler, per entry.", _STAGE, registry=REGISTRY, buckets=LATENCIES)
STAGE_LAG = Gauge("stage_lag_entries", "Entries that a stage has not begun.", ["stage", "lane"], registry=REGISTRY)
STAGE_PENDING = Gauge("stage_pending_entries", "Entries begun and not finished.", ["stage", "lane"], registry=REGISTRY)
STAGE_OLDEST = Gauge("stage_oldest_age_seconds", "Age of the oldest entry that is not finished.", ["stage", "lane"], registry=REGISTRY)
STREAM_ENTRIES = Gauge("stream_entries", "Entries in a stream.", ["stream"], registry=REGISTRY)

OUTBOX_ANNOUNCED = Counter("outbox_announced_total", "Posts announced on the streams.", ["lane"], registry=REGISTRY)
OUTBOX_AGAIN = Counter("outbox_announced_again_total", "Posts announced again, by reason.", ["reason"], registry=REGISTRY)
OUTBOX_PAUSED = Gauge("outbox_paused", "1 while the relay waits for a slow stage.", registry=REGISTRY)


class StageMetrics:
    """One stage's counters, looked up once."""

    def __init__(self, stage: str) -> None:
        self.processed = STAGE_PROCESSED.labels(stage)
        self.failed = STAGE_FAILED.labels(stage)
        self.retried = STAGE_RETRIED.labels(stage)
        self.buried = STAGE_DEAD_LETTERED.labels(stage)
        self.latency = STAGE_LATENCY.labels(stage)


POSTS_LANDED = Counter("posts_landed_total", "Posts written by landing, by outcome (inserted, changed, deleted).", ["outcome"], registry=REGISTRY)

MEDIA_FILES = Counter(
    "media_files_total", "Files of posts, by what became of them (stored, failed: tried again later, given_up).", ["outcome"], registry=REGISTRY
)
MEDIA_BYTES = Counter("media_bytes_total", "Bytes of files that came from Telegram.", registry=REGISTRY)
MEDIA_QUEUE = Gauge("media_queue", "Files that an account of this process has still to fetch.", ["account_id"], registry=REGISTRY)
MEDIA_SWEPT = Counter(
    "media_swept_total",
    "What was put right in the store (orphan: no row knew it; unused: no post showed it; missing: a row without bytes).",
    ["what"],
    registry=REGISTRY,
)
_from_zero(MEDIA_FILES, ("stored", "failed", "given_up"))
_from_zero(MEDIA_SWEPT, ("orphan", "unused", "missing"))

PAGES_READ = Counter("pages_read_total", "Linked pages that were asked for, by how it ended (PageStatus).", ["status"], registry=REGISTRY)

_MODES = ("historical", "incremental")
PARSER_RUNS = Counter(
    "parser_runs_total", "Runs over one channel, by how they ended (ok, empty, failed, flood, skipped).", ["mode", "status"], registry=REGISTRY
)
POSTS_PARSED = Counter("posts_parsed_total", "Posts inserted; what an overlap reads again counts nothing.", ["mode"], registry=REGISTRY)
POSTS_PUSHED = Counter("push_posts_total", "Posts inserted because Telegram told of them by itself.", registry=REGISTRY)
PUSH_GAPS = Counter(
    "push_gaps_total",
    "Channels made due because something was not heard or not stored (missed, told, dropped, failed; away: while there was no connection).",
    ["reason"],
    registry=REGISTRY,
)
PARSING_DURATION = Histogram(
    "parsing_duration_seconds",
    "Time of one run, without the waits that Telegram asked for.",
    ["mode"],
    registry=REGISTRY,
    buckets=(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 120.0, 300.0, 600.0),
)
PARSER_RETRIES = Counter(
    "parser_retries_total", "Requests tried again, by reason (floodwait, timeout, connection, network).", ["reason"], registry=REGISTRY
)
MODE_FORCED = Counter(
    "parser_mode_forced_total", "Channels whose mode was forced to historical, once per change (stale_lpa).", ["reason"], registry=REGISTRY
)
SCHEDULER_LOCK = Counter(
    "scheduler_lock_acquired_total", "Attempts to become the one who plans (acquired, missed, error).", ["status"], registry=REGISTRY
)
LAST_TICK = Gauge("scheduler_last_tick_ts_seconds", "Unix time of the last tick of any instance; 0 before the first.", registry=REGISTRY)
SCHEDULER_INTERVAL = Gauge("scheduler_interval_seconds", "Planned time between ticks; 0 where no scheduler runs.", registry=REGISTRY)
POST_LAG = Histogram(
    "post_lag_seconds",
    "How old a live post was when it was stored, by the tier of its channel (high, normal, low).",
    ["tier"],
    registry=REGISTRY,
    buckets=(5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200),
)
CHANNELS = Gauge(
    "channels_by_status",
    "Channels that this process is to read (active: as planned; failing: the last run failed; parked: after too many) or cannot (suspended).",
    ["status"],
    registry=REGISTRY,
)
ACCOUNT_BLOCKED = Gauge(
    "account_blocked_until_seconds",
    "Unix time until which Telegram wants no such request of this account.",
    ["account_id", "method"],
    registry=REGISTRY,
)
PREVIEW_REQUESTS = Counter(
    "preview_requests_total", "Public preview pages asked for, by what was answered (ok, refused, flood, failed).", ["outcome"], registry=REGISTRY
)
MARKS_UNREADABLE = Counter("parser_marks_unreadable_total", "Marks in Redis that made no sense and were ignored.", registry=REGISTRY)
_from_zero(PARSER_RUNS, _MODES, ("ok", "empty", "failed", "flood", "skipped"))
_from_zero(POSTS_PARSED, _MODES)
_from_zero(PUSH_GAPS, ("missed", "told", "dropped", "failed", "away"))
_from_zero(PARSING_DURATION, _MODES)
_from_zero(PARSER_RETRIES, ("floodwait", "timeout", "connection", "network"))
_from_zero(PREVIEW_REQUESTS, ("ok", "refused", "flood", "failed"))
_from_zero(MODE_FORCED, ("stale_lpa",))
_from_zero(SCHEDULER_LOCK, ("acquired", "missed", "error"))
_from_zero(POST_LAG, ("high", "normal", "low"))

FLOODWAIT_SECONDS = ChannelCounter(
    "parser_floodwait_seconds_total", "Seconds that Telegram made a channel's runs wait.", bound=CHANNEL_BOUND, registry=REGISTRY
)
BACKFILL_JOBS = ChannelCounter(
    "backfill_jobs_total",
    "Backfills, by what became of them (enqueued, completed, failed).",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
    labels=["status"],
)
INTERARRIVAL = ChannelHistogram(
    "interarrival_seconds",
    "Time between two posts of a channel.",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
    buckets=(60, 300, 900, 3600, 10800, 21600, 43200, 86400),
)
CHANNEL_LAST_POST = ChannelGauge(
    "channel_last_post_timestamp_seconds",
    "Unix time of the newest post of a channel that this process reads; beyond the bound, the channels silent for longest.",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
    lowest_is_worst=True,
)
LAST_SUCCESS = ChannelGauge(
    "parser_last_success_seconds",
    "Unix time of the last successful run; beyond the bound, the channels unread for longest.",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
    lowest_is_worst=True,
)
HWM_AGE = ChannelAge(
    "parser_hwm_age_seconds",
    "Age of the crash mark of a run that has not finished; none when nothing is half read.",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
)
WATERMARK_AGE = ChannelAge(
    "incremental_watermark_age_seconds", "Time since the start of the last run that stored something.", bound=CHANNEL_BOUND, registry=REGISTRY
)
CHANNEL_GAP = ChannelAge("channel_gap_seconds", "Time since the channel's last post.", bound=CHANNEL_BOUND, registry=REGISTRY)
ADAPTIVE_THRESHOLD = ChannelGauge(
    "adaptive_threshold_seconds", "Gap above which a channel is unusually silent.", bound=CHANNEL_BOUND, registry=REGISTRY, beside=CHANNEL_GAP
)
MISSING_DURATION = ChannelAge(
    "posts_missing_duration_seconds", "The same as channel_gap_seconds, kept for old dashboards.", bound=CHANNEL_BOUND, registry=REGISTRY
)

_MODEL = ["provider", "model"]
AI_CALLS = Counter(
    "ai_calls_total",
    "Calls to providers by how they ended (ok, blacklist, no_money, rate, outage, late, unusable, refused).",
    [*_MODEL, "outcome"],
    registry=REGISTRY,
)
AI_LATENCY = Histogram(
    "ai_latency_seconds",
    "Time that a provider took.",
    _MODEL,
    registry=REGISTRY,
    buckets=(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 90.0),
)
AI_COST = Counter("ai_cost_micro_total", "What calls cost, in millionths of the unit that prices are in.", _MODEL, registry=REGISTRY)
AI_RESULTS = Counter(
    "ai_results_total",
    "Results by where they came from (provider, cache, local, none) and why it was no provider (policy, no_budget, busy, ...).",
    ["purpose", "origin", "reason"],
    registry=REGISTRY,
)
AI_BREAKER_OPEN = Gauge("ai_breaker_open", "1 while a provider is left alone, by lane (live, other).", ["provider", "lane"], registry=REGISTRY)

_STATES = (CHANNEL_LAST_POST, LAST_SUCCESS, HWM_AGE, WATERMARK_AGE, CHANNEL_GAP, MISSING_DURATION, ADAPTIVE_THRESHOLD)
ChannelAggregates(
    "channel_aggregate",
    "Each gauge per channel over all channels, those beyond the bound included (channels, min, mean, max).",
    of=_STATES,
    registry=REGISTRY,
)


def forget_channel(channel_id: int) -> None:
    """This process no longer reads the channel; what it has counted stays counted."""
    for state in _STATES:
        state.forget(channel_id)
