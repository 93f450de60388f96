import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.posts.differences import Piece, PieceChange, difference, pieces_of
from telegram_assistant.domain.search.snippets import Snippet
from telegram_assistant.web.extracts import plain_excerpt, render_highlights, render_pieces
from testkit.cpu_time import cpu_limit
from tests.web import hostile
from tests.web.markup import ReadMarkup, read_markup

MAX_SECONDS = 0.3
SAME, REMOVED, ADDED = PieceChange


def render_change(*pieces: Piece, context: int = 20) -> str:
    markup = str(render_pieces(pieces, removed_label="removed", added_label="added", context=context))
    return markup.removeprefix('<p class="diff" dir="auto">').removesuffix("</p>")


def test_a_title_is_the_first_line() -> None:
    assert plain_excerpt("\n  Мост   закрыт \nАвтобусы пойдут в объезд", 80) == "Мост закрыт"


def test_a_title_skips_lines_in_which_nothing_is_seen() -> None:
    assert plain_excerpt("\u200b\n\u3164 \n\u2800\nМост закрыт", 80) == "Мост закрыт"
    assert plain_excerpt("\u200b\n ", 80) == ""


def test_a_long_line_ends_with_a_sentence() -> None:
    assert (
        plain_excerpt("Мост через Неву закрыли. Автобусы пойдут в объезд, водителей просят не ждать.", 40)
        == "Мост через Неву закрыли."
    )


def test_an_abbreviation_ends_no_sentence() -> None:
    assert plain_excerpt("На набережной ул. Ленина закрыт мост для машин", 30) == "На набережной ул. Ленина…"


def test_a_long_sentence_ends_with_a_word_and_an_ellipsis() -> None:
    assert plain_excerpt("Мост через Неву, который строили десять лет", 18) == "Мост через Неву…"
    assert plain_excerpt("Сто километров в час. Ещё десять лет", 24) == "Сто километров в час…"


def test_a_long_word_is_not_cut_inside_a_character() -> None:
    assert plain_excerpt("e\u0301" * 20, 10) == "e\u0301" * 4 + "…"
    family = "👨\u200d👩\u200d👧"
    assert plain_excerpt(family * 5, 12) == family * 2 + "…"


@given(st.text(max_size=200), st.integers(1, 100))
def test_a_title_is_one_short_line_of_visible_characters(text: str, letters: int) -> None:
    title = plain_excerpt(text, letters)
    assert len(title) <= letters
    assert "\n" not in title
    assert title == title.strip()


def test_hostile_titles_have_no_control_and_no_direction() -> None:
    for text in hostile.titles():
        with cpu_limit(MAX_SECONDS):
            title = plain_excerpt(text, 80)
        assert len(title) <= 80
        assert not set(title) & set(
            map(
                chr,
                (
                    *range(0x20),
                    *range(0x7F, 0xA0),
                    *range(0x202A, 0x202F),
                    *range(0x2066, 0x2070),
                    0x2028,
                    0x2029,
                ),
            )
        )
        assert title.encode().decode() == title


def test_changes_are_marked_for_eyes_and_for_screen_readers() -> None:
    assert render_change(
        Piece(SAME, "every "), Piece(REMOVED, "20"), Piece(ADDED, "25"), Piece(SAME, " minutes")
    ) == (
        'every <del><span class="sr">removed </span>20</del><ins><span class="sr">added </span>25</ins> '
        "minutes"
    )


def test_what_did_not_change_is_folded_around_the_changes() -> None:
    long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    assert render_change(
        Piece(SAME, long), Piece(ADDED, "!"), Piece(SAME, long), Piece(REMOVED, "?"), Piece(SAME, long)
    ) == (
        ' <span class="fold">…</span> thirteen fourteen<ins><span class="sr">added </span>!</ins>'
        'one two three four <span class="fold">…</span> thirteen fourteen<del><span class="sr">removed '
        "</span>?</del>"
        'one two three four <span class="fold">…</span> '
    )


def test_a_fold_never_hides_less_than_it_takes_to_say_so() -> None:
    assert (
        render_change(Piece(ADDED, "!"), Piece(SAME, "one two three four five six"), Piece(ADDED, "!")).count(
            "fold"
        )
        == 0
    )


def test_a_changed_line_break_is_seen() -> None:
    assert (
        render_change(Piece(SAME, "a\nb"), Piece(REMOVED, "\n"))
        == 'a<br>b<del><span class="sr">removed </span>↵<br></del>'
    )


@given(st.text(max_size=100), st.text(max_size=100))
def test_any_difference_is_valid_markup(before: str, after: str) -> None:
    read_markup(
        render_pieces(pieces_of(difference(before, after), before, after), removed_label="<", added_label="&")
    )


def test_hostile_differences_are_valid_markup() -> None:
    for text in hostile.texts():
        with cpu_limit(MAX_SECONDS):
            markup = render_pieces(
                [Piece(REMOVED, text), Piece(ADDED, text), Piece(SAME, text), Piece(ADDED, text)],
                removed_label="-",
                added_label="+",
            )
        read_markup(markup)


def test_found_words_are_marked() -> None:
    snippet = Snippet("снег & лёд на мосту", ((0, 4), (7, 10)), is_cut_before=True, is_cut_after=True)
    assert (
        render_highlights(snippet)
        == '<bdi class="snippet">… <mark>снег</mark> &amp; <mark>лёд</mark> на мосту …</bdi>'
    )


def test_a_snippet_without_marks_is_its_text() -> None:
    assert render_highlights(Snippet("<b>")) == '<bdi class="snippet">&lt;b&gt;</bdi>'


@pytest.mark.parametrize("text", [text for text in hostile.texts() if len(text) > 4][:150])
def test_hostile_snippets_are_valid_markup(text: str) -> None:
    read = read_markup(render_highlights(Snippet(text, ((0, 1), (2, 4)))))
    assert read == ReadMarkup(read.text, [], ["bdi", "mark", "mark"], [], ["snippet"])
