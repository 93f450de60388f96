"""Nothing but the public web can be reached, whatever a link says."""

from collections.abc import AsyncIterator, Sequence
from ipaddress import ip_address

import pytest

from telegram_assistant.crawling.fetching import FetchedResponse, PageFetcher
from telegram_assistant.domain.understanding.pages import PageStatus, Unreadable
from telegram_assistant.outbound.addresses import is_public
from telegram_assistant.outbound.guard import Guard, Target
from testkit.web import EVERYTHING, OUTSIDE, Web, answer, redirect
from tests.crawling.tricks import TRICKS

every_trick = pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)


async def at_once(_target: Target) -> None:
    """No robots, no turns."""


@pytest.fixture
async def fetcher(web: Web) -> AsyncIterator[PageFetcher]:
    opened = PageFetcher(web.guard(), max_bytes=100_000)
    yield opened
    await opened.close()


async def get(fetcher: PageFetcher, url: str) -> FetchedResponse:
    return await fetcher.get(url, before=at_once)


async def refusal_status(fetcher: PageFetcher, url: str) -> str:
    with pytest.raises(Unreadable) as refusal:
        await get(fetcher, url)
    return refusal.value.status


async def test_the_public_web_is_reached(web: Web, fetcher: PageFetcher) -> None:
    web.outside.pages["/a"] = answer("<p>Снег</p>")
    assert (await get(fetcher, web.url("/a"))).body.decode() == "<p>Снег</p>"


@pytest.mark.parametrize("trick", ["loopback", "ipv6-loopback", "dns-to-loopback", "dns-last-of-many"])
async def test_without_the_guard_these_tricks_would_work(web: Web, trick: str) -> None:
    fetcher = PageFetcher(web.guard(EVERYTHING), max_bytes=100_000)
    web.outside.pages["/"] = redirect(f"http://127.0.0.1:{web.port}/")
    assert b"the secret" in (await get(fetcher, TRICKS[trick].format(port=web.port))).body
    await fetcher.close()


@every_trick
async def test_a_trick_reaches_nothing(web: Web, fetcher: PageFetcher, trick: str) -> None:
    assert await refusal_status(fetcher, trick.replace("{port}", str(web.port))) == PageStatus.BLOCKED
    assert web.inside.connections == web.outside.connections == 0


@every_trick
async def test_a_trick_behind_a_redirect_reaches_nothing(web: Web, fetcher: PageFetcher, trick: str) -> None:
    location = (
        trick.replace("{port}", str(web.port))
        .replace("\r", "%0D")
        .replace("\n", "%0A")
        .replace("\x00", "%00")
    )
    web.outside.pages["/start"] = redirect(location)
    status = await fetch_or_refusal(fetcher, web)
    assert web.inside.connections == 0
    assert status in {PageStatus.BLOCKED, PageStatus.FAILED, "stayed outside"}


async def fetch_or_refusal(fetcher: PageFetcher, web: Web) -> str:
    """A location without a scheme of its own is a path of the site that redirects: that site may answer."""
    try:
        fetched = await get(fetcher, web.url("/start"))
    except Unreadable as error:
        return error.status
    assert fetched.target.host == "news.example"
    return "stayed outside"


@pytest.mark.parametrize(
    "status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"]
)
async def test_every_kind_of_redirect_is_checked(web: Web, fetcher: PageFetcher, status: str) -> None:
    web.outside.pages["/start"] = redirect(f"http://127.0.0.1:{web.port}/", status)
    assert await refusal_status(fetcher, web.url("/start")) == PageStatus.BLOCKED
    assert web.inside.connections == 0


@pytest.mark.parametrize("hops", [2, 3, 5])
async def test_the_last_of_many_redirects_is_checked_like_the_first(
    web: Web, fetcher: PageFetcher, hops: int
) -> None:
    for hop in range(hops):
        web.outside.pages[f"/{hop}"] = redirect(f"/{hop + 1}")
    web.outside.pages[f"/{hops}"] = redirect(f"//127.0.0.1:{web.port}/")
    assert await refusal_status(fetcher, web.url("/0")) in {PageStatus.BLOCKED, PageStatus.FAILED}
    assert web.inside.connections == 0


async def test_a_name_that_changes_its_mind_after_the_check_gains_nothing(web: Web) -> None:
    """DNS rebinding: the address that was checked is the one that is connected to,
    and the name is asked once.
    """
    answers = iter([[OUTSIDE], ["127.0.0.1"]])

    async def rebinding(_host: str) -> Sequence[str]:
        return next(answers)

    fetcher = PageFetcher(
        Guard(rebinding, frozenset({web.port}), web.guard().although_private), max_bytes=1000
    )
    web.outside.pages["/"] = answer("outside")
    assert (await get(fetcher, web.url())).body == b"outside"
    assert web.inside.connections == 0
    assert next(answers) == ["127.0.0.1"]
    await fetcher.close()


async def test_a_name_that_changes_its_mind_between_two_redirects_is_refused(web: Web) -> None:
    answers = iter([[OUTSIDE], ["127.0.0.1"]])

    async def rebinding(_host: str) -> Sequence[str]:
        return next(answers)

    fetcher = PageFetcher(
        Guard(rebinding, frozenset({web.port}), web.guard().although_private), max_bytes=1000
    )
    web.outside.pages["/"] = redirect("/again")
    assert await refusal_status(fetcher, web.url()) == PageStatus.BLOCKED
    assert web.inside.connections == 0
    await fetcher.close()


async def test_a_page_that_sends_the_reader_on_by_its_own_words_is_not_followed(
    web: Web, fetcher: PageFetcher
) -> None:
    web.outside.pages["/"] = answer(
        f'<meta http-equiv="refresh" content="0;url=http://127.0.0.1:{web.port}/">',
        Refresh=f"0;url=http://127.0.0.1:{web.port}/",
    )
    assert (await get(fetcher, web.url())).status == 200
    assert web.inside.connections == 0


@pytest.mark.parametrize(
    "address",
    [
        "93.184.215.14",
        "8.8.8.8",
        "172.15.0.1",
        "172.32.0.1",
        "100.128.0.1",
        "2a00:1450:4010::71",
        "64:ff9b::808:808",
    ],
)
def test_addresses_of_the_public_web_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("https://Example.ORG", "https://example.org/"),
        ("https://example.org:443/a?b=c d".replace(" ", "%20"), "https://example.org/a?b=c%20d"),
        (
            "http://пример.рф/новости",
            "http://xn--e1afmkfd.xn--p1ai/%D0%BD%D0%BE%D0%B2%D0%BE%D1%81%D1%82%D0%B8",
        ),
        ("http://example.org./a", "http://example.org/a"),
        ("http://93.184.215.14/", "http://93.184.215.14/"),
        ("http://[2a00:1450:4010::71]/", "http://[2a00:1450:4010::71]/"),
    ],
)
def test_an_address_has_one_form(given: str, meant: str) -> None:
    assert Guard().target(given).url == meant
