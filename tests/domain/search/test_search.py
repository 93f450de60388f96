"""Rankings made one, snippets around words, what was found counted."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.search.facets import Counted, Facet, facets_of
from telegram_assistant.domain.search.fusion import fuse_rankings
from telegram_assistant.domain.search.snippets import LENGTH, snippet_of
from testkit.cpu_time import cpu_limit


def test_what_both_rankings_know_comes_first() -> None:
    assert fuse_rankings(["a", "b", "c"], ["d", "c"]) == ("c", "a", "d", "b")


def test_one_ranking_alone_stays_as_it_is() -> None:
    assert fuse_rankings([3, 1, 2], []) == (3, 1, 2)


@given(st.lists(st.integers(), unique=True), st.lists(st.integers(), unique=True))
def test_nothing_is_lost_and_nothing_comes_twice(first: list[int], other: list[int]) -> None:
    assert sorted(fuse_rankings(first, other)) == sorted({*first, *other})


def test_a_snippet_shows_the_words_where_they_are_near_each_other() -> None:
    text = "[снег] " + "пустые слова " * 60 + "здесь [снег] в [метро] и ещё " + "слова " * 60
    snippet = snippet_of(text, opening="[", closing="]")
    assert [snippet.text[begin:end] for begin, end in snippet.marks] == ["снег", "метро"]
    assert snippet.is_cut_before
    assert snippet.is_cut_after
    assert len(snippet.text) <= LENGTH


def test_a_short_text_is_shown_whole() -> None:
    snippet = snippet_of("Первый\n\n[снег] выпал", opening="[", closing="]")
    assert (snippet.text, snippet.marks, snippet.is_cut_before, snippet.is_cut_after) == (
        "Первый снег выпал",
        ((7, 11),),
        False,
        False,
    )


@given(st.text(alphabet="ab[] \n<", max_size=600))
def test_marks_are_always_inside_the_snippet(marked: str) -> None:
    snippet = snippet_of(marked, opening="[", closing="]")
    assert "[" not in snippet.text
    assert all(0 <= begin < end <= len(snippet.text) for begin, end in snippet.marks)


def test_facets_count_the_most_frequent_first_and_days_newest_first() -> None:
    monday, tuesday = date(2026, 11, 2), date(2026, 11, 3)
    first, other = ChannelId(1), ChannelId(2)
    counted = facets_of(
        [
            Counted(other, monday, "ru", "news", ("снег", "метро")),
            Counted(other, tuesday, "ru", None, ("снег",)),
            Counted(first, monday),
        ]
    )
    assert counted.posts == 3
    assert counted.channels == (Facet(other, 2), Facet(first, 1))
    assert counted.languages == (Facet("ru", 2),)
    assert counted.kinds == (Facet("news", 1),)
    assert counted.tags == (Facet("снег", 2), Facet("метро", 1))
    assert counted.days == (Facet(tuesday, 1), Facet(monday, 2))


def test_a_text_of_nothing_but_marked_words_takes_no_time() -> None:
    with cpu_limit(0.2):
        snippet = snippet_of("[снег] " * 2000, opening="[", closing="]")
    assert snippet.marks
