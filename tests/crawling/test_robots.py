"""The crawler obeys the rules of robots.txt."""

import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from telegram_assistant.crawling.fetching import PageFetcher
from telegram_assistant.crawling.robots import (
    MAX_FILE_BYTES,
    SITE_BYTES,
    TTL_AFTER_FAILURE_SECONDS,
    TTL_SECONDS,
    Robots,
)
from telegram_assistant.domain.understanding.pages import PageStatus, Unreadable
from testkit.cpu_time import cpu_limit
from testkit.web import OUTSIDE, Web, answer, redirect


@pytest.fixture
async def fetcher(web: Web) -> AsyncIterator[PageFetcher]:
    opened = PageFetcher(web.guard(), max_bytes=100_000)
    yield opened
    await opened.close()


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def robots(fetcher: PageFetcher, clock: Clock) -> AsyncIterator[Robots]:
    opened = Robots(fetcher, clock=clock)
    yield opened
    await opened.close()


def rules(*lines: str) -> bytes:
    return answer("\n".join(lines), kind="text/plain")


async def is_allowed(robots: Robots, web: Web, path: str, host: str = "news.example") -> bool:
    try:
        await robots.allow(web.guard().target(web.url(path, host=host)))
    except Unreadable as error:
        return error.status not in {PageStatus.ROBOTS, PageStatus.FAILED}
    return True


async def test_what_is_disallowed_is_not_asked_for(web: Web, robots: Robots) -> None:
    web.outside.pages["/robots.txt"] = rules("User-agent: *", "Disallow: /private/", "Crawl-delay: 3")
    assert await is_allowed(robots, web, "/news")
    assert not await is_allowed(robots, web, "/private/x")
    assert await robots.allow(web.guard().target(web.url("/news"))) == 3.0
    assert web.outside.count("/robots.txt") == 1


async def test_our_own_name_may_be_sent_away(web: Web, robots: Robots) -> None:
    web.outside.pages["/robots.txt"] = rules(
        "User-agent: telegram-assistant", "Disallow: /", "", "User-agent: *", "Disallow:"
    )
    assert not await is_allowed(robots, web, "/")


async def test_a_site_without_rules_forbids_nothing(web: Web, robots: Robots) -> None:
    assert await is_allowed(robots, web, "/")
    web.outside.pages["/robots.txt"] = answer("<h1>Disallow: /</h1>")
    assert await is_allowed(robots, web, "/")


async def test_a_site_in_trouble_is_left_alone_for_a_while(web: Web, robots: Robots, clock: Clock) -> None:
    web.outside.pages["/robots.txt"] = answer("", status="503 Down")
    assert not await is_allowed(robots, web, "/")
    web.outside.pages["/robots.txt"] = rules("User-agent: *", "Disallow:")
    assert not await is_allowed(robots, web, "/")
    clock.now += TTL_AFTER_FAILURE_SECONDS
    assert await is_allowed(robots, web, "/")


async def test_rules_are_read_again_after_a_day(web: Web, robots: Robots, clock: Clock) -> None:
    assert await is_allowed(robots, web, "/")
    web.outside.pages["/robots.txt"] = rules("User-agent: *", "Disallow: /")
    assert await is_allowed(robots, web, "/")
    clock.now += TTL_SECONDS
    assert not await is_allowed(robots, web, "/")


async def test_robots_txt_leads_nowhere_that_a_page_may_not(web: Web, robots: Robots) -> None:
    web.outside.pages["/robots.txt"] = redirect(f"http://127.0.0.1:{web.port}/")
    with pytest.raises(Unreadable, match="not public"):
        await robots.allow(web.guard().target(web.url("/")))
    assert web.inside.connections == 0


async def test_every_site_has_its_own_rules(web: Web, robots: Robots) -> None:
    web.names["other.example"] = [OUTSIDE]
    assert await is_allowed(robots, web, "/")
    assert await is_allowed(robots, web, "/", host="other.example")
    assert web.outside.count("/robots.txt") == 2


async def test_hostile_rules_do_not_keep_us_busy(web: Web, robots: Robots) -> None:
    web.outside.pages["/robots.txt"] = rules(
        "User-agent: *", *(f"Disallow: /{'*a' * 200}$" for _ in range(200))
    )
    assert await is_allowed(robots, web, "/" + "a" * 1500 + "b")


def hostile(count: int) -> bytes:
    """Rules that differ, so that none is shared; packed they are small."""
    lines = "\n".join(["User-agent: *", *(f"Disallow: /{number}/*a*b*c$" for number in range(count))])
    return answer(gzip.compress(lines.encode()), kind="text/plain", Content_Encoding="gzip")


async def test_three_megabytes_of_rules_cost_this_process_neither_time_nor_memory(
    web: Web, robots: Robots
) -> None:
    web.outside.pages["/robots.txt"] = hostile(120_000)
    await is_allowed(robots, web, "/")
    with cpu_limit(0.2):
        await is_allowed(robots, web, "/1/abc")
    assert robots.cached_bytes <= MAX_FILE_BYTES + SITE_BYTES


async def test_what_comes_after_half_a_megabyte_is_ignored(web: Web, robots: Robots) -> None:
    many = [f"# {'x' * 98}" for _ in range(MAX_FILE_BYTES // 100)]
    web.outside.pages["/robots.txt"] = rules("User-agent: *", "Disallow: /early/", *many, "Disallow: /late/")
    assert not await is_allowed(robots, web, "/early/x")
    assert await is_allowed(robots, web, "/late/x")


async def test_rules_that_keep_their_reader_busy_close_the_site_for_a_while(
    web: Web, fetcher: PageFetcher, clock: Clock
) -> None:
    agents = [f"User-agent: {number}" for number in range(10_000)]
    web.outside.pages["/robots.txt"] = rules(
        *agents, *(f"Disallow: /{number}" for number in range(10_000))
    )  # each for each
    impatient = Robots(fetcher, clock=clock, max_judging_seconds=0.5)
    with pytest.raises(Unreadable, match="cannot be parsed"):
        await impatient.allow(web.guard().target(web.url("/")))
    with pytest.raises(Unreadable, match="cannot be fetched"):
        await impatient.allow(web.guard().target(web.url("/")))
    web.outside.pages["/robots.txt"] = rules("User-agent: *", "Disallow: /private/")
    clock.now += TTL_AFTER_FAILURE_SECONDS
    assert await is_allowed(impatient, web, "/news")
    await impatient.close()


async def test_files_of_many_sites_are_kept_up_to_so_many_bytes(web: Web, fetcher: PageFetcher) -> None:
    web.outside.pages["/robots.txt"] = rules("User-agent: *", f"Disallow: /{'x' * 10_000}")
    few = Robots(fetcher, max_cache_bytes=50_000)
    for number in range(10):
        web.names[f"site{number}.example"] = [OUTSIDE]
        assert await is_allowed(few, web, "/", host=f"site{number}.example")
    assert 30_000 < few.cached_bytes <= 50_000
    await is_allowed(few, web, "/", host="site9.example")
    assert web.outside.count("/robots.txt") == 10  # the newest is among those kept
    await few.close()
