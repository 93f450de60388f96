"""All metrics, declared here and nowhere else. Labels come from small closed sets.

Names of the parser and the scheduler are public interface: dashboards are built on them.
It is long because it is the one list of all metrics.
"""

from collections.abc import Sequence
from itertools import product

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.exposition import choose_encoder

from telegram_assistant.telemetry.channel_series import (
    Bound,
    ChannelAge,
    ChannelAggregates,
    ChannelCounter,
    ChannelGauge,
    ChannelHistogram,
)

REGISTRY = CollectorRegistry(auto_describe=True)
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)

CHANNEL_BOUND = Bound(1000)
LATENCIES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


def _from_zero(metric: Counter | Histogram, *labels: Sequence[str]) -> None:
    """Creates all series of a closed set at zero: a series that begins with
    its first event hides it from rate() and increase().
    """
    for values in product(*labels):
        metric.labels(*values)


def exposition(accept: str) -> tuple[bytes, str]:
    """All metrics in Prometheus' format, and the content type."""
    encode, content_type = choose_encoder(accept)
    return encode(REGISTRY), content_type


BUILD = Info("tga_build", "Version of the running program.", registry=REGISTRY)

LOOP_RESTARTS = Counter("loop_restarts_total", "Restarts of crashed loops.", ["loop"], registry=REGISTRY)
LOOP_RUNNING = Gauge(
    "loop_running", "1 while the loop runs, 0 while it waits for its restart.", ["loop"], registry=REGISTRY
)
TASKS = Gauge(
    "asyncio_tasks", "Unfinished asyncio tasks of this process; should not grow over time.", registry=REGISTRY
)

JOB_RUNS = Counter(
    "job_runs_total",
    "Runs of periodic jobs, by status (ok, failed, elsewhere: "
    "this instance woke up and another one had run it).",
    ["job", "status"],
    registry=REGISTRY,
)
JOB_LAST_SUCCESS = Gauge(
    "job_last_success_timestamp_seconds",
    "Unix time of the job's last success in this process.",
    ["job"],
    registry=REGISTRY,
)
DUE_WORK_RUNS = Counter(
    "due_work_runs_total",
    "Pieces of periodic work that this process ran, by kind and outcome (done, failed: tried again later).",
    ["kind", "outcome"],
    registry=REGISTRY,
)
DUE_WORK_WAITING = Gauge(
    "due_work_waiting",
    "Pieces of periodic work that wait in PostgreSQL, by kind and state (due: claimable now, failed: "
    "their last attempt failed).",
    ["kind", "state"],
    registry=REGISTRY,
)
DUE_WORK_LATE = Gauge(
    "due_work_late_seconds",
    "Since when the longest waiting piece of periodic work has been due, by kind.",
    ["kind"],
    registry=REGISTRY,
)

HTTP_ANSWERS = Counter(
    "http_answers_total",
    "HTTP responses of /api/v1, by operation and status code.",
    ["operation", "status"],
    registry=REGISTRY,
)
LOGINS_LIMITED = Counter(
    "logins_limited_total",
    "Attempts to log in or to change a password that were refused, by the limit.",
    ["limit"],
    registry=REGISTRY,
)
HTTP_SECONDS = Histogram(
    "http_answer_seconds", "Response time of /api/v1, by operation.", ["operation"], registry=REGISTRY
)
REQUESTS_REFUSED = Counter(
    "requests_refused_total",
    "Requests of the API, pages and feeds that were refused, by limit (BucketOwner; or WorkKind: "
    "the tenant's line was full).",
    ["limit"],
    registry=REGISTRY,
)
REQUESTS_WAITING = Gauge(
    "requests_waiting",
    "Requests that wait for a place, by kind of work (WorkKind).",
    ["kind"],
    registry=REGISTRY,
)
STREAMS_CLOSED = Counter(
    "live_streams_closed_total",
    "Event streams of pages closed in favour of newer ones, by limit.",
    ["limit"],
    registry=REGISTRY,
)
_from_zero(
    REQUESTS_REFUSED,
    (
        "key",
        "tenant",
        "address",
        "person",
        "tenant_pages",
        "visitor",
        "person_media",
        "tenant_media",
        "feed",
        "tenant_feeds",
    ),
)
_from_zero(REQUESTS_REFUSED, ("logins_from", "logins_of", "ordinary", "media", "expensive"))
_from_zero(STREAMS_CLOSED, ("person", "tenant", "process"))

DELIVERIES = Counter(
    "deliveries_total",
    "Attempts to deliver alerts and digests, by kind of receiver and outcome (delivered, failed).",
    ["kind", "outcome"],
    registry=REGISTRY,
)
_from_zero(DELIVERIES, ("webhook", "email"), ("delivered", "failed"))

_STAGE = ["stage"]
STAGE_PROCESSED = Counter(
    "stage_processed_total", "Stream entries that the stage has finished.", _STAGE, registry=REGISTRY
)
STAGE_FAILED = Counter("stage_failed_total", "Failed attempts of the stage.", _STAGE, registry=REGISTRY)
STAGE_RETRIED = Counter("stage_retried_total", "Stream entries that were retried.", _STAGE, registry=REGISTRY)
STAGE_DEAD_LETTERED = Counter(
    "stage_dead_lettered_total", "Stream entries that became dead letters.", _STAGE, registry=REGISTRY
)
STAGE_LATENCY = Histogram(
    "stage_latency_seconds",
    "Time in the stage's handler, per entry.",
    _STAGE,
    registry=REGISTRY,
    buckets=LATENCIES,
)
STAGE_LAG = Gauge(
    "stage_lag_entries",
    "Stream entries that the stage has not read yet.",
    ["stage", "lane"],
    registry=REGISTRY,
)
STAGE_PENDING = Gauge(
    "stage_pending_entries",
    "Stream entries that the stage has read and not finished.",
    ["stage", "lane"],
    registry=REGISTRY,
)
STAGE_OLDEST = Gauge(
    "stage_oldest_age_seconds",
    "Age of the stage's oldest unfinished entry.",
    ["stage", "lane"],
    registry=REGISTRY,
)
STREAM_ENTRIES = Gauge("stream_entries", "Entries in a stream.", ["stream"], registry=REGISTRY)

OUTBOX_ANNOUNCED = Counter(
    "outbox_announced_total", "Posts announced on the streams.", ["lane"], registry=REGISTRY
)
OUTBOX_AGAIN = Counter(
    "outbox_announced_again_total", "Posts announced again, by reason.", ["reason"], registry=REGISTRY
)
BACKLOG = Gauge(
    "backlog_entries",
    "Entries that wait in PostgreSQL, by queue and kind (outbox by lane, backfills by kind, "
    "dead_letters by stage, parked channels).",
    ["queue", "kind"],
    registry=REGISTRY,
)
OUTBOX_PAUSED = Gauge(
    "outbox_paused",
    "1 while the outbox relay waits for a slow stage or for memory of Redis.",
    registry=REGISTRY,
)


DISK_SIZE = Gauge(
    "disk_size_bytes",
    "Size of the disk with a folder of this process, without what is reserved for root (files, spool, "
    "vectors, temporary, postgres).",
    ["disk"],
    registry=REGISTRY,
)
DISK_FREE = Gauge(
    "disk_free_bytes", "Bytes of the disk that are free, by the same names.", ["disk"], registry=REGISTRY
)
REDIS_MEMORY = Gauge(
    "redis_memory_bytes",
    "Memory of Redis (used, limit: maxmemory, 0 without one, machine: all that it could have).",
    ["kind"],
    registry=REGISTRY,
)


class StageMetrics:
    """The metrics of one stage, looked up once."""

    def __init__(self, stage: str) -> None:
        self.processed = STAGE_PROCESSED.labels(stage)
        self.failed = STAGE_FAILED.labels(stage)
        self.retried = STAGE_RETRIED.labels(stage)
        self.dead_lettered = STAGE_DEAD_LETTERED.labels(stage)
        self.latency = STAGE_LATENCY.labels(stage)


POSTS_LANDED = Counter(
    "posts_landed_total",
    "Posts written by landing, by outcome (inserted, changed, deleted).",
    ["outcome"],
    registry=REGISTRY,
)

SHARE_FILES = Counter(
    "media_files_total",
    "Files of posts, by outcome (stored, failed: retried later, given_up).",
    ["outcome"],
    registry=REGISTRY,
)
MEDIA_BYTES = Counter("media_bytes_total", "Bytes of files downloaded from Telegram.", registry=REGISTRY)
MEDIA_QUEUE = Gauge(
    "media_queue",
    "Files that an account of this process has still to download.",
    ["account_id"],
    registry=REGISTRY,
)
MEDIA_PAUSED = Gauge(
    "media_paused",
    "1 while an account of this process downloads no files because a disk has too little room.",
    registry=REGISTRY,
)
MEDIA_SWEPT = Counter(
    "media_swept_total",
    "Repairs of the media store (orphan: a file without a row, unused: a file without a post, missing: "
    "a row without a file, thumbnail: one "
    "without a file).",
    ["what"],
    registry=REGISTRY,
)
_from_zero(SHARE_FILES, ("stored", "failed", "given_up"))
_from_zero(MEDIA_SWEPT, ("orphan", "unused", "missing", "thumbnail"))

PAGES_READ = Counter(
    "pages_read_total", "Requests for linked pages, by status (PageStatus).", ["status"], registry=REGISTRY
)

_MODES = ("historical", "incremental")
PARSER_RUNS = Counter(
    "parser_runs_total",
    "Runs over one channel, by status (ok, empty, failed, flood, skipped).",
    ["mode", "status"],
    registry=REGISTRY,
)
POSTS_PARSED = Counter(
    "posts_parsed_total",
    "Posts inserted. Posts that an overlap reads again are not counted.",
    ["mode"],
    registry=REGISTRY,
)
POSTS_PUSHED = Counter(
    "push_posts_total", "Posts inserted from updates pushed by Telegram.", registry=REGISTRY
)
PUSH_GAPS = Counter(
    "push_gaps_total",
    "Channels made due because an update was not received or not stored (missed, told: "
    "reported by Telegram, dropped, failed, away: no connection).",
    ["reason"],
    registry=REGISTRY,
)
PARSING_DURATION = Histogram(
    "parsing_duration_seconds",
    "Duration of one run, without the waits that Telegram imposed.",
    ["mode"],
    registry=REGISTRY,
    buckets=(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 120.0, 300.0, 600.0),
)
PARSER_RETRIES = Counter(
    "parser_retries_total",
    "Retried requests, by reason (floodwait, timeout, connection, network).",
    ["reason"],
    registry=REGISTRY,
)
MODE_FORCED = Counter(
    "parser_mode_forced_total",
    "Channels whose mode was forced to historical, counted once per change, by reason (stale_lpa).",
    ["reason"],
    registry=REGISTRY,
)
SCHEDULER_LOCK = Counter(
    "scheduler_lock_acquired_total",
    "Attempts to acquire the scheduler's lock, by status (acquired, missed, error).",
    ["status"],
    registry=REGISTRY,
)
LAST_TICK = Gauge(
    "scheduler_last_tick_ts_seconds",
    "Unix time of the last scheduler tick of any instance; 0 before the first.",
    registry=REGISTRY,
)
SCHEDULER_INTERVAL = Gauge(
    "scheduler_interval_seconds",
    "Planned time between scheduler ticks; 0 if this process runs no scheduler.",
    registry=REGISTRY,
)
POST_LAG = Histogram(
    "post_lag_seconds",
    "Age of a live post when it was stored, by the tier of its channel (high, normal, low).",
    ["tier"],
    registry=REGISTRY,
    buckets=(5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200),
)
CHANNELS = Gauge(
    "channels_by_status",
    "Channels of this process, by status (active, failing: the last run failed, parked: "
    "after too many failures, suspended: cannot be read).",
    ["status"],
    registry=REGISTRY,
)
ACCOUNT_BLOCKED = Gauge(
    "account_blocked_until_seconds",
    "Unix time until which Telegram blocks this method for the account.",
    ["account_id", "method"],
    registry=REGISTRY,
)
PREVIEW_REQUESTS = Counter(
    "preview_requests_total",
    "Requests for public preview pages, by outcome (ok, refused, flood, failed).",
    ["outcome"],
    registry=REGISTRY,
)
MARKS_UNREADABLE = Counter(
    "parser_marks_unreadable_total",
    "Marks in Redis that could not be parsed and were ignored.",
    registry=REGISTRY,
)
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
    "parser_floodwait_seconds_total",
    "Seconds of flood waits that Telegram imposed on runs of the channel.",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
)
BACKFILL_JOBS = ChannelCounter(
    "backfill_jobs_total",
    "Backfill jobs, by status (enqueued, completed, failed).",
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
    "Unix time of the newest post of a channel that this process reads. Beyond the bound, "
    "only the channels silent for longest.",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
    lowest_is_worst=True,
)
LAST_SUCCESS = ChannelGauge(
    "parser_last_success_seconds",
    "Unix time of the channel's last successful run. Beyond the bound, only the channels unread for longest.",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
    lowest_is_worst=True,
)
HWM_AGE = ChannelAge(
    "parser_hwm_age_seconds",
    "Time since a run last raised the high-water mark of an unfinished channel; "
    "absent if no channel is unfinished.",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
)
WATERMARK_AGE = ChannelAge(
    "incremental_watermark_age_seconds",
    "Time since the start of the channel's last run that stored a post.",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
)
CHANNEL_GAP = ChannelAge(
    "channel_gap_seconds", "Time since the channel's last post.", bound=CHANNEL_BOUND, registry=REGISTRY
)
ADAPTIVE_THRESHOLD = ChannelGauge(
    "adaptive_threshold_seconds",
    "Time without a post above which the channel counts as unusually silent.",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
    beside=CHANNEL_GAP,
)
MISSING_DURATION = ChannelAge(
    "posts_missing_duration_seconds",
    "Same as channel_gap_seconds, kept for old dashboards.",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
)

_MODEL = ["provider", "model"]
AI_CALLS = Counter(
    "ai_calls_total",
    "Calls to AI providers, by outcome (ok, blacklist, no_money, rate, outage, late, unusable, refused).",
    [*_MODEL, "outcome"],
    registry=REGISTRY,
)
AI_LATENCY = Histogram(
    "ai_latency_seconds",
    "Response time of the AI provider.",
    _MODEL,
    registry=REGISTRY,
    buckets=(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 90.0),
)
AI_COST = Counter(
    "ai_cost_micro_total", "Cost of calls, in millionths of the price unit.", _MODEL, registry=REGISTRY
)
AI_RESULTS = Counter(
    "ai_results_total",
    "Results by origin (provider, cache, local, none) and by the reason for not using a provider (policy, "
    "no_budget, busy, ...).",
    ["purpose", "origin", "reason"],
    registry=REGISTRY,
)
AI_BREAKER_OPEN = Gauge(
    "ai_breaker_open",
    "1 while the provider's circuit breaker is open, by lane (live, other).",
    ["provider", "lane"],
    registry=REGISTRY,
)

_STATES = (
    CHANNEL_LAST_POST,
    LAST_SUCCESS,
    HWM_AGE,
    WATERMARK_AGE,
    CHANNEL_GAP,
    MISSING_DURATION,
    ADAPTIVE_THRESHOLD,
)
ChannelAggregates(
    "channel_aggregate",
    "Aggregates of each per-channel gauge over all channels, those beyond the bound included (channels, "
    "min, mean, max).",
    of=_STATES,
    registry=REGISTRY,
)


def forget_channel(channel_id: int) -> None:
    """Removes the gauges of a channel that this process no longer reads; its counters stay."""
    for state in _STATES:
        state.forget(channel_id)
