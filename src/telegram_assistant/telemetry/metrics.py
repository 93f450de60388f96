"""All metrics, declared here and nowhere else. Labels come from small closed sets.

Names of the parser and the scheduler are public interface: dashboards are built on them. They join this
list with the code that moves them.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, GCCollector, Info, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder

from telegram_assistant.telemetry.channel_series import Bound, ChannelGauge

REGISTRY = CollectorRegistry(auto_describe=True)
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)

CHANNEL_BOUND = Bound(1000)


def exposition(accept: str) -> tuple[bytes, str]:
    """All metrics as Prometheus wants them, and their content type."""
    encode, content_type = choose_encoder(accept)
    return encode(REGISTRY), content_type


BUILD = Info("tga_build", "Version of the running program.", registry=REGISTRY)

LOOP_RESTARTS = Counter("loop_restarts_total", "Loops that crashed and were started again.", ["loop"], registry=REGISTRY)
LOOP_RUNNING = Gauge("loop_running", "1 while the loop runs, 0 while it waits to be started again.", ["loop"], registry=REGISTRY)

JOB_RUNS = Counter("job_runs_total", "Runs of periodic jobs, by how they ended (ok, failed, elsewhere).", ["job", "status"], registry=REGISTRY)
JOB_LAST_SUCCESS = Gauge("job_last_success_timestamp_seconds", "Unix time of the job's last success in this process.", ["job"], registry=REGISTRY)

POSTS_LANDED = Counter("posts_landed_total", "Posts written by landing, by outcome (inserted, changed).", ["outcome"], registry=REGISTRY)
CHANNEL_LAST_POST = ChannelGauge(
    "channel_last_post_timestamp_seconds",
    "Unix time of the newest post that this process has landed; beyond the bound, the channels silent for longest.",
    bound=CHANNEL_BOUND,
    registry=REGISTRY,
    badness=lambda moment: -moment,
)
