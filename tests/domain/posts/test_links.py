import pytest

from telegram_assistant.domain.posts.links import addresses_of, normal_url, urls_of
from telegram_assistant.domain.posts.post import TextEntity
from testkit.factories import make_post


def test_links_are_found_where_telegram_marks_them_counted_in_its_units() -> None:
    text = "🔥 example.org и https://News.Example/A#top, снова example.org"
    entities = (
        TextEntity("url", 3, 11),
        TextEntity("url", 17, 26),
        TextEntity("bold", 0, 2),
        TextEntity("url", 51, 11),
        TextEntity("text_url", 45, 5, "http://hidden.example/x"),
    )
    assert urls_of(text, entities) == (
        "http://example.org/",
        "https://news.example/A",
        "http://hidden.example/x",
    )


@pytest.mark.parametrize(
    ("address", "normal"),
    [
        ("example.org", "http://example.org/"),
        ("HTTPS://Example.ORG:8443/Path?q=1#part", "https://example.org:8443/Path?q=1"),
        (" https://example.org ", "https://example.org/"),
        ("tg://resolve?domain=x", None),
        ("javascript:alert(1)", None),
        ("http://localhost/secret", None),
        ("http://[::1", None),
        ("http://example.org:99999999/", None),
        ("https://example.org/" + "a" * 3000, None),
    ],
)
def test_the_same_page_has_the_same_address_and_what_is_no_page_has_none(
    address: str, normal: str | None
) -> None:
    assert normal_url(address) == normal


def test_the_addresses_of_a_post_are_those_of_its_words_and_of_its_buttons() -> None:
    buttons = [
        {"text": "Buy", "url": "https://shop.example/a"},
        {"text": "No", "url": "tg://x"},
        {"text": "?"},
    ]
    post = make_post(
        text="Read",
        entities=(TextEntity("text_url", 0, 4, "https://paper.example/b"),),
        facts={"buttons": buttons},
    )
    assert addresses_of(post) == ("https://paper.example/b", "https://shop.example/a")
    assert addresses_of(make_post(facts={"buttons": "none"})) == ()
