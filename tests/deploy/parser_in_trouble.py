"""A process whose parser has every trouble that there is an alert for:
`python -m tests.deploy.parser_in_trouble PORT`.
"""

import asyncio
import sys
import time

import uvicorn
from pydantic import SecretStr

from telegram_assistant.api.operator_access import OperatorAccess
from telegram_assistant.api.rate_limiting import FailedKeys
from telegram_assistant.api.status import RoleEndpoints, role_sites
from telegram_assistant.settings import HttpSettings, RedisSettings
from telegram_assistant.stores.redis.client import connect_to
from telegram_assistant.stores.redis.limiter import Limiter
from telegram_assistant.stores.redis.rate_limits import RateLimits
from telegram_assistant.telemetry import metrics
from telegram_assistant.telemetry.health import Health

CHANNEL = 100


def be_in_trouble() -> None:
    now = time.time()
    metrics.SCHEDULER_INTERVAL.set(300)
    metrics.LAST_TICK.set(now - 5000)
    metrics.CHANNELS.labels("failing").set(1)
    metrics.HWM_AGE.since(CHANNEL, now - 90_000)
    metrics.CHANNEL_GAP.since(CHANNEL, now - 90_000)
    metrics.ADAPTIVE_THRESHOLD.set(CHANNEL, 3600)
    metrics.ACCOUNT_BLOCKED.labels("1", "history").set(now + 4000)


async def make_it_worse() -> None:
    while True:
        metrics.PARSER_RUNS.labels("incremental", "failed").inc()
        metrics.MODE_FORCED.labels("stale_lpa").inc()
        for mode in ("historical", "incremental"):
            metrics.POSTS_PARSED.labels(mode).inc()
            metrics.PARSING_DURATION.labels(mode).observe(90)
        for tier, seconds in (("high", 2000), ("normal", 4000), ("low", 20_000)):
            metrics.POST_LAG.labels(tier).observe(seconds)
        await asyncio.sleep(0.1)


async def main(port: int) -> None:
    nowhere = connect_to(RedisSettings(url=SecretStr("redis://127.0.0.1:1/0")))
    access = OperatorAccess(HttpSettings(), FailedKeys(Limiter(RateLimits(nowhere))))
    sites = role_sites(
        role="ingest",
        instance="in-trouble",
        health=Health(probes={}),
        access=access,
        endpoints=RoleEndpoints(),
    )
    be_in_trouble()
    worsening = asyncio.create_task(make_it_worse())
    await uvicorn.Server(
        uvicorn.Config(sites.public, port=port, log_config=None, access_log=False, lifespan="off")
    ).serve()
    worsening.cancel()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
