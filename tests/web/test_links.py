import pytest

from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.web.formatting import render_text
from telegram_assistant.web.links import safe_link
from tests.web import hostile_links
from tests.web.markup import ReadMarkup, read_markup


def read_link(words: str, address: str, text: str | None = None) -> ReadMarkup:
    whole = text or words
    entity = TextEntity("text_url", whole.index(words), len(words), address)
    return read_markup(render_text(whole, [entity], search_url=str, spoiler_label="", quote_label=""))


@pytest.mark.parametrize("address", hostile_links.REFUSED_LINKS)
def test_a_refused_address_is_shown_as_words(address: str) -> None:
    assert safe_link(address) is None
    assert read_link("Read on", address) == ReadMarkup("Read on", [], ["div", "p"], [], ["text"])


@pytest.mark.parametrize(("address", "host"), hostile_links.OFFERED_LINKS.items())
def test_an_offered_address_is_plain_ascii_and_its_host_is_known(address: str, host: str) -> None:
    link = safe_link(address)
    assert link is not None
    assert link.host == host
    assert link.address.isascii()
    assert link.address.isprintable()
    assert not set(link.address) & set(' <>"\\^`{|}')
    assert read_link("bank.example", address).notes == [host]


@pytest.mark.parametrize(
    ("words", "address"),
    [
        ("Read on", "https://evil.example/"),
        ("bank.example", "https://bank.example/login"),
        ("bank.example", "https://www.bank.example/"),
        ("www.bank.example", "https://bank.example:443/"),
        ("HTTPS://BANK.EXAMPLE/a.html?b=c.de", "https://bank.example/other"),
        ("мвд.рф", "https://МВД.рф/"),
        ("version 3.5, U.S. only", "https://evil.example/"),
        ("info@bank.example", "mailto:info@bank.example"),
    ],
)
def test_a_link_whose_reader_expects_no_other_host_has_no_note(words: str, address: str) -> None:
    assert read_link(words, address).notes == []


@pytest.mark.parametrize(
    "words",
    [
        "bank.example",
        "https://bank.example/",
        "https://bank.example@evil.example/",
        "Log in at Bank.Example now",
        "bank\u200b.example",
        "ba\u00adnk.exa\ufe0fmple",
        "bank\u3002example",
        "bank\uff0eexample",
        "bank\u2024example",
        "\uff42\uff41\uff4e\uff4b.example",
        "b\u202eank.example",
        "evil.example.bank.example",
        "sub.evil.example",
        "xn--80ak6aa92e.com",
        "info@bank.example",
    ],
)
def test_a_link_that_looks_like_another_host_says_where_it_leads(words: str) -> None:
    assert read_link(words, "https://evil.example/").notes == ["evil.example"]


def test_a_link_over_a_part_of_a_host_says_where_it_leads() -> None:
    assert read_link("nk", "https://evil.example/", "bank.example").notes == ["evil.example"]
    assert read_link(".example", "https://evil.example/", "bank.example").notes == ["evil.example"]


@pytest.mark.parametrize("words", ["\u200b", "\u3164", "\u2060\u200d"])
def test_a_link_that_nobody_sees_is_shown(words: str) -> None:
    assert read_link(words, "https://evil.example/", f"Words{words} and more").notes == ["evil.example"]


def test_letters_that_pass_for_others_are_shown_as_what_they_are() -> None:
    assert read_link(
        "\u0430\u0440\u0440\u04cf\u0435.com", "https://\u0430\u0440\u0440\u04cf\u0435.com/"
    ).notes == ["%D0%B0%D1%80%D1%80%D3%8F%D0%B5.com"]


def test_a_link_in_pieces_says_once_where_it_leads() -> None:
    entities = [TextEntity("text_url", 0, 20, "https://evil.example/"), TextEntity("spoiler", 2, 3)]
    read = read_markup(
        render_text("bank.example\n\nis here", entities, search_url=str, spoiler_label="", quote_label="")
    )
    assert len(read.addresses) == 4
    assert read.notes == ["evil.example"]
