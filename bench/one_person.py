"""One person's installation: how much memory it takes in all.

One process with all roles, PostgreSQL and Redis of its own, one account that follows 500 channels, the local
models loaded. Memory is what the kernel counts for each process with shared pages divided among those who
share them (PSS), so the sum is what the machine gives.
"""

import asyncio
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

from bench.workloads.joined_channels import Size, assistant, furnish, telegram_at
from telegram_assistant.assembly import assemble
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.migrating import migrate
from testkit.engines import free_port
from testkit.harness import arguments, at_most, finish
from testkit.models import MINILM, package_models
from testkit.processes import last_words, proportional_mb, with_children
from testkit.servers import OwnServers, own_servers
from testkit.simulators import simulator

POSTS = 50
LIMITS = at_most(1_250, "total_mb")


async def run(seconds: float, channels: int) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = stack.enter_context(own_servers("postgres", "redis"))
        running = stack.enter_context(
            simulator("load", "--channels", str(channels), "--posts", str(POSTS), "--live", limits="telegram")
        )
        control = stack.enter_context(running.control())
        ports = {name: str(free_port()) for name in ("INGEST_PORT", "WORKER_PORT", "API_PORT")}
        models = {"MODELS_DIR": str(package_models(folder / "models")), "AI_EMBEDDINGS_MODEL": MINILM}
        environ = {
            **servers.environ(),
            **telegram_at(running, None),
            **ports,
            **models,
            "FILES_DIR": str(folder / "files"),
            "VECTORS_DIR": str(folder / "vectors"),
        }
        settings = read_settings(environ)
        await migrate(settings.database, tell=lambda _: None)
        async with assemble(settings, with_accounts=True) as app:
            await furnish(app, control, Size(seconds, channels, accounts=1, proxy=False))
        async with assistant(environ, folder / "tga.log", roles="ingest,worker,api") as process:
            peaks = await watch(process, servers, seconds)
            if process.returncode is not None:
                sys.exit(last_words(folder / "tga.log"))
        return {
            "bench": "one_person",
            "total_mb": round(max(map(sum, zip(*peaks.values(), strict=True)))),
            **{f"{name}_mb": round(max(values)) for name, values in peaks.items()},
            "channels": channels,
            "seconds": seconds,
        }


async def watch(
    process: asyncio.subprocess.Process, servers: OwnServers, seconds: float
) -> dict[str, list[float]]:
    parts = {"tga": process.pid, "postgres": servers.pid("postgres"), "redis": servers.pid("redis")}
    seen: dict[str, list[float]] = {name: [] for name in parts}
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.returncode is None:
        for name, pid in parts.items():
            seen[name].append(proportional_mb(with_children(pid)))
        await asyncio.sleep(2)
    return seen


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--channels", type=int, default=500)
    options = parser.parse_args()
    finish(asyncio.run(run(options.seconds, options.channels)), options, *LIMITS)


if __name__ == "__main__":
    main()
