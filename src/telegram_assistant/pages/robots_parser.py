"""Whether a robots.txt lets a program have a page. Runs in a process of its own, see `robots.py`.

Half a megabyte of rules that somebody wrote on purpose takes seconds and a hundred megabytes. So this process can be killed at
any time, may use so much memory and no more, and knows no secrets.
"""

import json
import logging
import resource
import sys
from functools import lru_cache

from protego import Protego

MAX_MEMORY_BYTES = 500_000_000
MAX_PARSED = 4
"""Robots files whose rules stay in memory; pages of one site are often asked for one after another."""

parsed = lru_cache(maxsize=MAX_PARSED)(Protego.parse)


def judge(text: str, url: str, name: str) -> dict[str, bool | float]:
    rules = parsed(text)
    return {"allowed": rules.can_fetch(url, name), "delay": float(rules.crawl_delay(name) or 0.0)}


def main() -> None:
    """Question after question from standard input: a line of JSON, then so many bytes. A line when it is ready, then one for each."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable(logging.CRITICAL)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        text = sys.stdin.buffer.read(asked["size"]).decode("utf-8", "replace")
        sys.stdout.write(json.dumps(judge(text, asked["url"], asked["name"])) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
