"""Decides whether a robots.txt allows a page. Runs in its own process, see `robots.py`.

Half a megabyte of malicious rules takes seconds and a hundred megabytes. So this process may be killed at any
time, has a memory limit, and knows no secrets.
"""

import json
import logging
import resource
import sys
from functools import lru_cache

from protego import Protego

MAX_MEMORY_BYTES = 500_000_000
MAX_PARSED = 4
"""How many parsed files stay in memory. Pages of one site are often requested one after another."""

parsed = lru_cache(maxsize=MAX_PARSED)(Protego.parse)


def judge(text: str, url: str, name: str) -> dict[str, bool | float]:
    rules = parsed(text)
    return {"allowed": rules.can_fetch(url, name), "delay": float(rules.crawl_delay(name) or 0.0)}


def main() -> None:
    """Serve requests from standard input: a line of JSON, then `size` bytes.

    Writes a line when ready, then one per request.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable(logging.CRITICAL)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        text = sys.stdin.buffer.read(request["size"]).decode("utf-8", "replace")
        sys.stdout.write(json.dumps(judge(text, request["url"], request["name"])) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
