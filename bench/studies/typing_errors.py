"""Typing errors: how many words with one wrong letter a search mends, in quiet and beside busy processes.

The words are those of the demo world, as a tenant sees them. A letter of each is replaced, left out, doubled
by another, or changes places with the next one; what becomes another word of the world is no error, and words
like *under*, which no search looks up, are not among them. A word is mended if what was searched instead has
the stem of the right word. The others must say that the time was over. Words that are typed correctly must be
searched as they are.
"""

import asyncio
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from bench.workloads.demo_posts import NOW, text_of_post
from bench.workloads.search_recall import land_world, plan_posts
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.search.spelling import CYRILLIC, LATIN
from telegram_assistant.features.search.results import SearchPage
from telegram_assistant.features.search.search import search
from testkit.factories import make_tenant
from testkit.harness import arguments, at_least, at_most, finish, own_database, percentile

_WORD = re.compile(r"[^\W\d_]{5,20}")
LIMITS = (
    *at_least(0.9, "quiet_mended"),
    *at_least(0.6, "busy_mended"),
    *at_most(0, "quiet_silent", "busy_silent", "replaced"),
)


async def run(posts: int, words: int, load: int) -> dict[str, object]:
    async with own_database("tga_bench_typing") as settings, assemble(settings) as app:
        tenant_id = await make_tenant(app.system)
        stored = await land_world(app, tenant_id, plan_posts(posts))
        texts = [text_of_post(planned) for planned in stored.values()]
        known = sorted({word.lower() for text in texts for word in _WORD.findall(text)})
        rng = random.Random(7)
        chosen = [word for word in rng.sample(known, 2 * words) if await _is_same(app, word, word)][:words]
        mistyped = {make_error(word, rng, known=set(known)): word for word in chosen}
        await look_up(app, tenant_id, rng.sample(known, 20))  # what is cold is not measured
        quiet = await mend(app, tenant_id, mistyped)
        with keep_busy(load):
            busy = await mend(app, tenant_id, mistyped)
        pages = await look_up(app, tenant_id, rng.sample(known, words))
    return {
        "bench": "typing_errors",
        "posts": len(stored),
        "vocabulary": len(known),
        "words": len(mistyped),
        "load": load,
        **{f"quiet_{name}": value for name, value in quiet.items()},
        **{f"busy_{name}": value for name, value in busy.items()},
        "correct_words": len(pages),
        "replaced": sum(bool(page.mended) for page in pages.values()),
    }


def make_error(word: str, rng: random.Random, *, known: set[str]) -> str:
    letters = LATIN if word[0] in LATIN else CYRILLIC
    while True:
        place, letter = rng.randrange(len(word) - 1), rng.choice(letters)
        before, after = word[:place], word[place:]
        typed = rng.choice(
            (
                before + letter + after[1:],
                before + letter + after,
                before + after[1:],
                before + after[1] + after[0] + after[2:],
            )
        )
        if typed != word and typed not in known:
            return typed


async def look_up(app: App, tenant_id: TenantId, words: Sequence[str]) -> dict[str, SearchPage]:
    stores, now = app.tenant(tenant_id), datetime.fromtimestamp(NOW, UTC)
    return {
        word: await search(word, tenant_id=tenant_id, stores=stores, index=None, now=now) for word in words
    }


async def mend(app: App, tenant_id: TenantId, mistyped: Mapping[str, str]) -> dict[str, object]:
    outcomes: Counter[str] = Counter()
    took = []
    for typed, meant in mistyped.items():
        began = time.perf_counter()
        page = (await look_up(app, tenant_id, [typed]))[typed]
        took.append((time.perf_counter() - began) * 1e3)
        if page.mended:
            outcomes["right" if await _is_same(app, page.mended[0].meant, meant) else "other"] += 1
        elif page.gave_up:
            outcomes["gave_up"] += 1
        else:
            outcomes["seen" if page.results else "silent"] += 1
    errors = len(mistyped) - outcomes["seen"]
    return {
        "mended": round(outcomes["right"] / errors, 3),
        **{name: outcomes[name] for name in ("right", "other", "gave_up", "silent", "seen")},
        "p95_ms": round(percentile(took, 0.95), 1),
    }


async def _is_same(app: App, word: str, meant: str) -> bool:
    """Whether both have one stem."""
    marked = await app.tenant(TenantId(1)).words.mark_words([word], meant)
    return marked[0] != word


@contextmanager
def keep_busy(processes: int) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--posts", type=int, default=6000, help="of the demo world")
    parser.add_argument("--words", type=int, default=200)
    parser.add_argument("--load", type=int, default=8, help="busy processes beside the second half")
    options = parser.parse_args()
    finish(asyncio.run(run(options.posts, options.words, options.load)), options, *LIMITS)


if __name__ == "__main__":
    main()
