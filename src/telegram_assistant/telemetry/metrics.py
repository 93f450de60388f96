"""All metrics, declared here and nowhere else. Labels come from small closed sets.

Names of the parser and the scheduler are public interface: dashboards are built on them. They join this
list with the code that moves them.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, GCCollector, Histogram, Info, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder

from telegram_assistant.telemetry.channel_series import Bound, ChannelGauge

REGISTRY = CollectorRegistry(auto_describe=True)
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)

CHANNEL_BOUND = Bound(1000)
LATENCIES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


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


POSTS_LANDED = Counter("posts_landed_total", "Posts written by landing, by outcome (inserted, changed).", ["outcome"], registry=REGISTRY)
CHANNEL_LAST_POST = ChannelGauge(
    "channel_last_post_timestamp_seconds",
    "Unix time of the newest post that this process has landed; beyond the bound, the channels silent for longest.",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
    badness=lambda moment: -moment,
)
