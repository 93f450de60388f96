"""Strangers' contents against a running installation: how long others wait while it meets what was made to
stop it.

The worker and the API run in a process of their own. Twenty posts a second land there for a while, ordinary
ones first, then the contents of testkit/hostile_contents.py; beside them come edits, linked pages with their
robots.txt, pictures, lists and bodies of requests, and their author reads the changes. Two probes ask all the
time: `/health`, and the feed of a tenant who has nothing to do with it. `probe_ratio` is the worse probe's
95th percentile in the hostile run beside the ordinary one.
"""

import asyncio
import os
import tempfile
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path

from testkit import hostile_contents as contents
from testkit.engines import free_port, running_engine
from testkit.harness import arguments, at_most, finish, own_database
from testkit.hostile_run import UNLIMITED, measure

LIMITS = (*at_most(2, "probe_ratio"), *at_most(1.1, "memory_ratio"), *at_most(0, "answers_503", "left"))


async def run(seconds: float) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        engine = stack.enter_context(running_engine("redis", folder / "redis"))
        database = (await stack.enter_async_context(own_database("tga_bench_hostile"))).database
        admin_url = {"DATABASE_ADMIN_URL": (database.admin_url or database.url).get_secret_value()}
        servers = {
            "DATABASE_URL": database.url.get_secret_value(),
            **admin_url,
            "REDIS_URL": engine.url,
            "NEO4J_URI": "",
            "S3_ENDPOINT": "",
        }
        ports = {name: str(free_port()) for name in ("WORKER_PORT", "API_PORT")}
        places = {"FILES_DIR": str(folder / "files"), "VECTORS_DIR": str(folder / "vectors")}
        environ = {**os.environ, **UNLIMITED, **servers, **ports, **places}
        measured = await measure(environ, folder, seconds=seconds)
    return {"bench": "hostile", "contents": contents.count_contents(), **asdict(measured)}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=120, help="of each run")
    parser.add_argument("--quick", action="store_true", help="a run of 15 seconds: every content, few times")
    options = parser.parse_args()
    finish(asyncio.run(run(15 if options.quick else options.seconds)), options, *LIMITS)


if __name__ == "__main__":
    main()
