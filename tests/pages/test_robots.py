"""What sites ask of programs is obeyed."""

from collections.abc import AsyncIterator

import pytest

from telegram_assistant.domain.pages import PageStatus
from telegram_assistant.errors import Unreadable
from telegram_assistant.pages.fetching import Fetcher
from telegram_assistant.pages.robots import KEPT_AFTER_TROUBLE_SECONDS, KEPT_SECONDS, Robots
from tests.pages.web import OUTSIDE, Web, answer, redirect


@pytest.fixture
async def fetcher(web: Web) -> AsyncIterator[Fetcher]:
    opened = Fetcher(web.guard(), most_bytes=100_000)
    yield opened
    await opened.close()


def rules(*lines: str) -> bytes:
    return answer("\n".join(lines), kind="text/plain")


async def allowed(robots: Robots, web: Web, path: str, host: str = "news.example") -> bool:
    try:
        await robots.allow(web.guard().target(web.url(path, host=host)))
    except Unreadable as error:
        return error.status not in {PageStatus.ROBOTS, PageStatus.FAILED}
    return True


async def test_what_is_disallowed_is_not_asked_for(web: Web, fetcher: Fetcher) -> None:
    web.outside.pages["/robots.txt"] = rules("User-agent: *", "Disallow: /private/", "Crawl-delay: 3")
    robots = Robots(fetcher)
    assert await allowed(robots, web, "/news")
    assert not await allowed(robots, web, "/private/x")
    assert await robots.allow(web.guard().target(web.url("/news"))) == 3.0
    assert web.outside.count("/robots.txt") == 1


async def test_our_own_name_may_be_sent_away(web: Web, fetcher: Fetcher) -> None:
    web.outside.pages["/robots.txt"] = rules("User-agent: telegram-assistant", "Disallow: /", "", "User-agent: *", "Disallow:")
    assert not await allowed(Robots(fetcher), web, "/")


async def test_a_site_without_rules_forbids_nothing(web: Web, fetcher: Fetcher) -> None:
    assert await allowed(Robots(fetcher), web, "/")
    web.outside.pages["/robots.txt"] = answer("<h1>Disallow: /</h1>")
    assert await allowed(Robots(fetcher), web, "/")


async def test_a_site_in_trouble_is_left_alone_for_a_while(web: Web, fetcher: Fetcher) -> None:
    now = [0.0]
    robots = Robots(fetcher, clock=lambda: now[0])
    web.outside.pages["/robots.txt"] = answer("", status="503 Down")
    assert not await allowed(robots, web, "/")
    web.outside.pages["/robots.txt"] = rules("User-agent: *", "Disallow:")
    assert not await allowed(robots, web, "/")
    now[0] += KEPT_AFTER_TROUBLE_SECONDS
    assert await allowed(robots, web, "/")


async def test_rules_are_read_again_after_a_day(web: Web, fetcher: Fetcher) -> None:
    now = [0.0]
    robots = Robots(fetcher, clock=lambda: now[0])
    assert await allowed(robots, web, "/")
    web.outside.pages["/robots.txt"] = rules("User-agent: *", "Disallow: /")
    assert await allowed(robots, web, "/")
    now[0] += KEPT_SECONDS
    assert not await allowed(robots, web, "/")


async def test_robots_txt_leads_nowhere_that_a_page_may_not(web: Web, fetcher: Fetcher) -> None:
    web.outside.pages["/robots.txt"] = redirect(f"http://127.0.0.1:{web.port}/")
    with pytest.raises(Unreadable, match="not public"):
        await Robots(fetcher).allow(web.guard().target(web.url("/")))
    assert web.inside.connections == 0


async def test_every_site_has_its_own_rules(web: Web, fetcher: Fetcher) -> None:
    web.names["other.example"] = [OUTSIDE]
    robots = Robots(fetcher)
    assert await allowed(robots, web, "/")
    assert await allowed(robots, web, "/", host="other.example")
    assert web.outside.count("/robots.txt") == 2


async def test_hostile_rules_do_not_keep_us_busy(web: Web, fetcher: Fetcher) -> None:
    web.outside.pages["/robots.txt"] = rules("User-agent: *", *(f"Disallow: /{'*a' * 200}$" for _ in range(200)))
    assert await allowed(Robots(fetcher), web, "/" + "a" * 1500 + "b")
