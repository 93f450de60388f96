"""Ticks of the scheduler by several ingest processes: one per interval over all of them,
and the rest counted as missed.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.migrating import migrate
from telegram_assistant.telegram.vault import make_key
from testkit.engines import free_port
from testkit.harness import arguments, at_least, at_most, finish
from testkit.servers import own_servers

STARTED_WITHIN_SECONDS = 180.0


def attempts(ports: list[int]) -> Counter[str]:
    """How often the processes have tried to become the one who plans, by how it ended."""
    with ThreadPoolExecutor(len(ports)) as pool:
        answers = list(
            pool.map(
                lambda port: httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False, timeout=30.0),
                ports,
            )
        )
    samples = [
        sample
        for answer in answers
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    ]
    counts: Counter[str] = Counter()
    for sample in samples:
        if sample.name == "scheduler_lock_acquired_total":
            counts[sample.labels["status"]] += int(sample.value)
    return counts


def wait_until_all_tick(ports: list[int]) -> None:
    deadline = time.monotonic() + STARTED_WITHIN_SECONDS
    while time.monotonic() < deadline:
        with suppress(httpx.HTTPError):
            if sum(attempts(ports).values()) >= 2 * len(ports):
                return
        time.sleep(0.2)
    raise TimeoutError("the processes do not tick")


def run(processes: int, intervals: int, interval_seconds: int) -> dict[str, object]:
    with own_servers("postgres", "redis") as servers, ExitStack() as stack:
        environ = {
            **servers.environ(),
            "TELEGRAM_API_ID": "1",
            "TELEGRAM_API_HASH": "any",
            "SESSION_ENCRYPTION_KEY": make_key(),
            "PARSER_SCHEDULER_INTERVAL_SEC": str(interval_seconds),
        }
        asyncio.run(migrate(read_settings(environ).database, tell=lambda _: None))
        log = stack.enter_context(
            (Path(stack.enter_context(tempfile.TemporaryDirectory())) / "ingest.log").open("wb")
        )
        ports = [free_port() for _ in range(processes)]
        for port in ports:
            command = [sys.executable, "-m", "telegram_assistant", "run", "--roles", "ingest"]
            process = subprocess.Popen(
                command, env={**environ, "INGEST_PORT": str(port)}, stdout=log, stderr=log
            )
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
        wait_until_all_tick(ports)
        began = (time.time() // interval_seconds + 1.5) * interval_seconds  # the middle of an interval
        time.sleep(began - time.time())
        before = attempts(ports)
        time.sleep(began + interval_seconds * intervals - time.time())
        after = attempts(ports)
    return {
        "bench": "ticks",
        "processes": processes,
        "intervals": intervals,
        "interval_seconds": interval_seconds,
        "ticks": after["acquired"] - before["acquired"],
        "missed": after["missed"] - before["missed"],
        "errors": after["error"] - before["error"],
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--intervals", type=int, default=10)
    parser.add_argument("--interval-seconds", type=int, default=10)
    options = parser.parse_args()
    result = run(options.processes, options.intervals, options.interval_seconds)
    expected = {"ticks": options.intervals, "missed": options.intervals * (options.processes - 1)}
    finish(
        result,
        options,
        *(
            limit
            for figure, number in expected.items()
            for limit in (*at_most(number, figure), *at_least(number, figure))
        ),
    )


if __name__ == "__main__":
    main()
