"""Which links are worth reading."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from telegram_assistant.domain.posts.links import canonical_url, normal_url
from telegram_assistant.domain.understanding.crawling import CrawlDecision, CrawlRules, decide, worth_reading
from telegram_assistant.domain.understanding.pages import LIFETIMES, PageStatus, lifetime_of

EVERYTHING = CrawlRules()


@pytest.mark.parametrize(
    ("url", "verdict"),
    [
        ("https://news.example/a", CrawlDecision.READ),
        ("https://bit.ly/3xyz", CrawlDecision.READ),
        ("https://t.me/channel/5", CrawlDecision.TELEGRAM),
        ("https://channel.t.me/5", CrawlDecision.TELEGRAM),
        ("https://nott.me/5", CrawlDecision.READ),
        ("https://www.instagram.com/p/1", CrawlDecision.NEEDS_LOGIN),
        ("https://x.com/a/status/1", CrawlDecision.NEEDS_LOGIN),
        ("https://netflix.com/", CrawlDecision.READ),
        ("https://site.example/login?next=/", CrawlDecision.NEEDS_LOGIN),
        ("https://site.example/report.PDF", CrawlDecision.FILE),
        ("https://site.example/report.pdf?page=2", CrawlDecision.FILE),
        ("https://site.example/v1.2/notes", CrawlDecision.READ),
        ("https://ad.doubleclick.net/x", CrawlDecision.TRACKER),
        ("ftp://site.example/", CrawlDecision.NO_PAGE),
        ("http://user@site.example/", CrawlDecision.NO_PAGE),
        ("http://[", CrawlDecision.NO_PAGE),
        ("", CrawlDecision.NO_PAGE),
    ],
)
def test_a_link_is_judged_by_where_it_leads(url: str, verdict: CrawlDecision) -> None:
    assert worth_reading(url, EVERYTHING) is verdict


def test_an_operator_denies_a_site_and_all_names_below_it() -> None:
    rules = CrawlRules(deny=frozenset({"news.example"}))
    assert [worth_reading(f"https://{host}/", rules) for host in ("news.example", "m.news.example")] == [
        CrawlDecision.DENIED
    ] * 2
    assert worth_reading("https://fakenews.example/", rules) is CrawlDecision.READ


def test_an_operator_allows_sites_and_no_others_and_a_denial_comes_first() -> None:
    rules = CrawlRules(allow=frozenset({"news.example", "x.com"}), deny=frozenset({"ads.news.example"}))
    urls = (
        "https://m.news.example/",
        "https://x.com/a",
        "https://ads.news.example/",
        "https://other.example/",
    )
    assert [worth_reading(url, rules) for url in urls] == [
        CrawlDecision.READ,
        CrawlDecision.READ,
        CrawlDecision.DENIED,
        CrawlDecision.NOT_ALLOWED,
    ]


def test_the_first_few_that_are_worth_it_are_read() -> None:
    urls = ["https://t.me/a", *(f"https://site.example/{number}" for number in range(4))]
    decisions = decide(urls, CrawlRules(max_links=2))
    assert [decision.verdict for decision in decisions] == [
        CrawlDecision.TELEGRAM,
        CrawlDecision.READ,
        CrawlDecision.READ,
        CrawlDecision.TOO_MANY,
        CrawlDecision.TOO_MANY,
    ]


def test_one_page_is_one_link_whoever_sent_the_reader() -> None:
    decisions = decide(
        [
            "https://site.example/a?utm_source=tg",
            "https://site.example:443/a",
            "https://site.example/a?yclid=1#x",
        ],
        EVERYTHING,
    )
    assert [decision.url for decision in decisions] == ["https://site.example/a"]


def test_nothing_is_read_when_reading_is_off() -> None:
    assert worth_reading("https://news.example/a", CrawlRules(enabled=False)) is CrawlDecision.OFF


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://a.example/?q=%D1%81&utm_medium=x", "https://a.example/?q=%D1%81"),
        ("https://a.example/?b=2&a=1", "https://a.example/?b=2&a=1"),
        ("http://a.example:80/", "http://a.example/"),
        ("http://a.example:8080/", "http://a.example:8080/"),
        ("https://a.example/?empty=&utm_x=1", "https://a.example/?empty="),
    ],
)
def test_only_what_says_nothing_about_the_page_is_left_out(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical


@example("A:////")
@example("http://:80//x")
@example("http://a.example:80:80/")
@given(st.text(max_size=200) | st.from_regex(r"https?://[a-z.:@\[\]\\%0-9]{0,30}[/?#]?.{0,50}"))
def test_whatever_a_link_says_there_is_a_decision(url: str) -> None:
    assert len(decide([url], EVERYTHING)) == 1
    assert canonical_url(canonical_url(url)) == canonical_url(url)
    normal = normal_url(url)
    if normal is not None:
        assert len(decide([normal], EVERYTHING)) == 1


def test_a_page_that_fails_again_and_again_is_asked_for_less_and_less_often() -> None:
    waits = [lifetime_of(PageStatus.FAILED, attempts) for attempts in (1, 2, 3, 50)]
    assert waits == sorted(waits)
    assert waits[0] == LIFETIMES[PageStatus.FAILED]
    assert waits[-1] == LIFETIMES[PageStatus.READ]
