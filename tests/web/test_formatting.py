import unicodedata
from collections.abc import Sequence
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.web.formatting import MAX_MARKUP_LENGTH, render_text
from testkit.cpu_time import cpu_limit
from tests.web import hostile
from tests.web.markup import SEARCH, read_markup

REL = 'rel="noreferrer noopener nofollow"'
MAX_SECONDS = 0.5
"""A multiple of the measured time, because the machine may be busy."""


def render(text: str, entities: Sequence[TextEntity] = ()) -> Markup:
    return render_text(
        text,
        entities,
        search_url=lambda words: f"{SEARCH}{quote(words)}",
        spoiler_label="Show the spoiler",
        quote_label="A quote",
    )


def inside(text: str, *entities: TextEntity) -> str:
    """The markup inside the only paragraph."""
    markup = str(render(text, entities))
    beginning, end = '<div class="text"><p dir="auto">', "</p></div>"
    assert (markup[: len(beginning)], markup[-len(end) :]) == (beginning, end)
    return markup[len(beginning) : -len(end)]


def whole(kind: str, text: str, url: str | None = None, detail: str | int | None = None) -> str:
    return inside(text, TextEntity(kind, 0, len(text), url, detail))


def blocks(text: str, *entities: TextEntity) -> str:
    return str(render(text, entities)).removeprefix('<div class="text">').removesuffix("</div>")


@pytest.mark.parametrize(
    ("kind", "opening", "closing"),
    [
        ("bold", "<b>", "</b>"),
        ("italic", "<i>", "</i>"),
        ("underline", "<u>", "</u>"),
        ("strike", "<s>", "</s>"),
        ("code", "<code>", "</code>"),
        ("marked", "<mark>", "</mark>"),
        ("subscript", "<sub>", "</sub>"),
        ("superscript", "<sup>", "</sup>"),
        ("heading", '<strong class="heading">', "</strong>"),
        ("math", '<code class="math">', "</code>"),
        ("diff_insert", "<ins>", "</ins>"),
        ("diff_replace", "<ins>", "</ins>"),
        ("diff_delete", "<del>", "</del>"),
    ],
)
def test_simple_formatting_is_an_element(kind: str, opening: str, closing: str) -> None:
    assert inside("one two three", TextEntity(kind, 4, 3)) == f"one {opening}two{closing} three"


@pytest.mark.parametrize("kind", ["bot_command", "custom_emoji", "bank_card", "other", "of next year"])
def test_commands_custom_emoji_cards_and_unknown_kinds_are_their_text(kind: str) -> None:
    assert whole(kind, "/start 🔥 4000 0000 0000 0002") == "/start 🔥 4000 0000 0000 0002"


def test_a_date_is_a_time() -> None:
    assert (
        whole("formatted_date", "tomorrow", None, "2026-11-17T09:00:00+00:00")
        == '<time datetime="2026-11-17T09:00:00+00:00">tomorrow</time>'
    )
    assert whole("formatted_date", "tomorrow", None, "soon") == "tomorrow"


def test_code_of_several_lines_keeps_its_lines_and_names_its_language() -> None:
    code = "if x:\n\n    y < 2"
    assert blocks(code, TextEntity("pre", 0, len(code), None, "Python")) == (
        '<pre dir="auto"><code class="language-python">if x:\n\n    y &lt; 2</code></pre>'
    )


@pytest.mark.parametrize("language", [None, 7, "", "x y", 'x"y', "язык", "x" * 33])
def test_a_language_that_is_no_word_is_not_named(language: str | int | None) -> None:
    assert (
        blocks("code", TextEntity("pre", 0, 4, None, language)) == '<pre dir="auto"><code>code</code></pre>'
    )


def test_a_quote_stands_between_paragraphs() -> None:
    assert blocks("before\nquoted\nafter", TextEntity("blockquote", 7, 6)) == (
        '<p dir="auto">before</p><blockquote><p dir="auto">quoted</p></blockquote><p dir="auto">after</p>'
    )


def test_a_collapsed_quote_is_opened_by_its_reader() -> None:
    assert blocks("quoted", TextEntity("blockquote", 0, 6, None, "collapsed")) == (
        '<details class="quote"><summary>A quote</summary><blockquote><p '
        'dir="auto">quoted</p></blockquote></details>'
    )


def test_a_spoiler_is_uncovered_by_a_labelled_checkbox() -> None:
    box = '<input type="checkbox" autocomplete="off" aria-label="Show the spoiler">'
    assert (
        inside("The butler did it", TextEntity("spoiler", 4, 6))
        == f'The <label class="spoiler">{box}<span>butler</span></label> did it'
    )


def test_a_link_inside_a_spoiler_is_covered_with_it() -> None:
    tags = read_markup(
        render("see t.me/x there", [TextEntity("url", 4, 6), TextEntity("spoiler", 0, 16)])
    ).tags
    assert tags == ["div", "p", "label", "input", "span", "a"]


def test_an_address_is_a_link_that_tells_nobody_where_it_was_followed() -> None:
    assert whole("url", "https://example.com/a?b=1&c=2") == (
        f'<a href="https://example.com/a?b=1&amp;c=2" {REL} target="_blank" '
        'dir="auto">https://example.com/a?b=1&amp;c=2</a>'
    )


def test_an_address_without_a_scheme_is_read_as_telegram_reads_it() -> None:
    assert (
        whole("url", "example.com/a")
        == f'<a href="http://example.com/a" {REL} target="_blank" dir="auto">example.com/a</a>'
    )


def test_words_with_an_address_are_a_link() -> None:
    assert (
        whole("text_url", "Read on", "https://example.com/")
        == f'<a href="https://example.com/" {REL} target="_blank" dir="auto">Read on</a>'
    )


def test_a_mention_leads_to_telegram() -> None:
    assert (
        whole("mention", "@gorod_news")
        == f'<a href="https://t.me/gorod_news" {REL} target="_blank" dir="auto">@gorod_news</a>'
    )
    assert whole("mention", "@gorod/../news") == "@gorod/../news"


def test_a_mention_of_a_person_without_a_username_opens_telegram() -> None:
    assert (
        whole("mention_name", "Ivan", None, 12345)
        == f'<a href="tg://user?id=12345" {REL} dir="auto">Ivan</a>'
    )
    assert whole("mention_name", "Ivan") == "Ivan"


@pytest.mark.parametrize(("kind", "tag"), [("hashtag", "#снег"), ("cashtag", "$TON")])
def test_a_tag_leads_to_our_search(kind: str, tag: str) -> None:
    assert whole(kind, tag) == f'<a href="{SEARCH}{quote(tag)}" dir="auto">{tag}</a>'


def test_a_tag_of_several_words_is_none() -> None:
    assert whole("hashtag", "#a and more") == "#a and more"


def test_an_email_address_opens_the_mail_program() -> None:
    assert (
        whole("email", "a+b@example.com")
        == f'<a href="mailto:a+b@example.com" {REL} dir="auto">a+b@example.com</a>'
    )
    assert read_markup(render("a@b.cd?bcc=e@f.gh", [TextEntity("email", 0, 17)])).addresses == [
        "mailto:a@b.cd%3Fbcc%3De@f.gh"
    ]


def test_a_phone_number_can_be_called() -> None:
    assert (
        whole("phone", "+7 (900) 123-45-67")
        == f'<a href="tel:+79001234567" {REL} dir="auto">+7 (900) 123-45-67</a>'
    )
    assert whole("phone", "call me") == "call me"


def test_blank_lines_separate_paragraphs_and_other_lines_break() -> None:
    assert blocks("\n one\ntwo \n \n\n three\n") == '<p dir="auto">one<br>two</p><p dir="auto">three</p>'


def test_no_text_is_an_empty_block() -> None:
    assert render("") == render(" \n\n ") == '<div class="text"></div>'


def test_formatting_goes_on_in_the_next_paragraph() -> None:
    assert (
        blocks("one\n\ntwo", TextEntity("bold", 0, 8))
        == '<p dir="auto"><b>one</b></p><p dir="auto"><b>two</b></p>'
    )


def test_offsets_count_utf_16_units() -> None:
    assert inside("🔥🔥 fire", TextEntity("bold", 5, 4)) == "🔥🔥 <b>fire</b>"


def test_an_entity_that_splits_a_character_begins_and_ends_before_it() -> None:
    assert inside("a🔥b🔥c", TextEntity("bold", 2, 3)) == "a<b>🔥b</b>🔥c"


def test_characters_that_are_left_out_do_not_shift_the_formatting() -> None:
    assert inside("a\u202eb\u2066c d", TextEntity("bold", 6, 1)) == "abc <b>d</b>"


def test_overlapping_formatting_is_closed_and_opened_again() -> None:
    assert (
        inside("one two three", TextEntity("italic", 0, 7), TextEntity("bold", 4, 9))
        == "<i>one </i><b><i>two</i> three</b>"
    )


def test_overlapping_entities_of_one_kind_follow_each_other() -> None:
    links = [
        TextEntity("text_url", 0, 7, "https://a.example/"),
        TextEntity("text_url", 4, 9, "https://b.example/"),
    ]
    assert read_markup(render("one two three", links)).addresses == [
        "https://a.example/",
        "https://b.example/",
    ]


def test_formatting_outside_of_the_text_is_ignored() -> None:
    assert inside(
        "one",
        TextEntity("bold", -2, 3),
        TextEntity("italic", 2, 100),
        TextEntity("code", 9, 9),
        TextEntity("strike", 1, -1),
    ) == ("<b>o</b>n<i>e</i>")


def test_formatting_that_would_fill_the_page_is_left_out() -> None:
    words = "a b " * 1000
    link = TextEntity("text_url", 0, 4000, "https://example.com/" + "a" * 1900)
    spoilers = [TextEntity("spoiler", number * 4, 1) for number in range(499)]
    assert "<a" in render(words, [link])
    assert render(words, [link, *spoilers]) == render(words)


def visible_characters(text: str) -> str:
    """The characters of a text that a reader must see, without blanks and line breaks."""
    written = "".join(_visible_character(character) for character in storable(text))
    return "".join(written.split())


def _visible_character(character: str) -> str:
    if character in "\t\n\r\v\f\x85" or unicodedata.bidirectional(character) in {
        "LRE",
        "RLE",
        "LRO",
        "RLO",
        "PDF",
        "LRI",
        "RLI",
        "FSI",
        "PDI",
    }:
        return " " if character.isspace() else ""
    if "\u206a" <= character <= "\u206f":
        return ""
    return "\ufffd" if unicodedata.category(character) == "Cc" else character


def check(text: str, entities: Sequence[TextEntity]) -> None:
    markup = render(text, entities)
    read = read_markup(markup)
    assert "".join(read.text.split()) == visible_characters(text)
    assert len(markup) <= MAX_MARKUP_LENGTH
    assert markup.encode()


characters = st.one_of(
    st.characters(), st.sampled_from("ab <>&\"'\n\r\t🔥é.#@/:\u202e\u2069\u200f\x00\u2028")
)
entities = st.builds(
    TextEntity,
    st.sampled_from(hostile.KINDS),
    st.integers(-5, 70),
    st.integers(-5, 80),
    st.one_of(st.none(), st.text(max_size=20), st.sampled_from(hostile.links())),
    st.one_of(st.none(), st.integers(), st.text(max_size=8), st.just("collapsed")),
)


@given(st.text(characters, max_size=60), st.lists(entities, max_size=30))
def test_any_text_with_any_formatting_is_valid_and_complete(text: str, formatting: list[TextEntity]) -> None:
    check(text, formatting)


def test_hostile_texts_stay_texts() -> None:
    assert len(set(hostile.texts())) >= 200
    for text in hostile.texts():
        check(text, ())
        check(text, [TextEntity(kind, 0, 2 * len(text), text, text) for kind in hostile.KINDS])


@pytest.mark.parametrize("name", hostile.entities())
def test_hostile_formatting_is_valid_and_takes_milliseconds(name: str) -> None:
    formatting = hostile.entities()[name]
    for text in ("a.bc #tag @name\n\n" * 240, "🔥" * 2048):
        with cpu_limit(MAX_SECONDS):
            render(text, formatting)
        check(text, formatting)


@pytest.mark.parametrize("name", hostile.LONG)
def test_hostile_texts_take_milliseconds(name: str) -> None:
    text = hostile.LONG[name]
    with cpu_limit(MAX_SECONDS):
        render(text, [TextEntity(kind, 0, len(text), "https://example.com/", "x") for kind in hostile.KINDS])
