"""The search understands a typed query, or it tells the person how to write it."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.search.parsing import parse_query
from telegram_assistant.domain.search.query import Has, Query, Term
from telegram_assistant.domain.understanding.policy import PostSort
from telegram_assistant.errors import Rejected

TODAY = date(2026, 11, 15)


def parse(typed: str) -> Query:
    return parse_query(typed, today=TODAY)


def test_words_phrases_exclusions_and_alternatives() -> None:
    query = parse('снег "в метро" -реклама or дождь -"в лесу"')
    assert query.alternatives == (
        (Term("снег"), Term("в метро", is_phrase=True), Term("реклама", is_excluded=True)),
        (Term("дождь"), Term("в лесу", is_phrase=True, is_excluded=True)),
    )
    assert query.words == 'снег "в метро" -реклама or дождь -"в лесу"'
    assert query.meaning == "снег в метро дождь"
    assert query.strict_words == '"в метро" -реклама or -"в лесу"'


def test_where_an_alternative_has_no_strict_words_meaning_the_same_will_do() -> None:
    assert parse('снег or "первый лёд"').strict_words == ""


def test_limits() -> None:
    query = parse(
        'from:@gorod from:"Город и люди" has:photo,link lang:RU tag:#Погода tag:"public transport" '
        "kind:news ads:yes"
    )
    assert query == Query(
        channels=("@gorod", "Город и люди"),
        has=(Has.IMAGE, Has.LINK),
        languages=("ru",),
        tags=("погода", "public transport"),
        kinds=(PostSort.NEWS,),
        with_ads=True,
    )


def test_edited_and_deleted_posts_can_be_asked_for() -> None:
    assert parse("снег edited:да") == Query(alternatives=((Term("снег"),),), is_edited=True)
    assert str(parse("deleted:yes channel:@gorod")) == "from:@gorod deleted:yes"
    assert parse("deleted:no") == Query()


@pytest.mark.parametrize(
    ("typed", "since", "until"),
    [
        ("since:2026-11-01", date(2026, 11, 1), None),
        ("until:1.11.2026", None, date(2026, 11, 1)),
        ("on:2026-02", date(2026, 2, 1), date(2026, 2, 28)),
        ("on:2025", date(2025, 1, 1), date(2025, 12, 31)),
        ("since:7d until:yesterday", date(2026, 11, 8), date(2026, 11, 14)),
        ("since:2w on:today", TODAY, TODAY),
        ("on:вчера", date(2026, 11, 14), date(2026, 11, 14)),
        ("after:2026-11-10", date(2026, 11, 11), None),
        ("before:2026-11-10", None, date(2026, 11, 9)),
        ("after:2026-09 before:2026-11", date(2026, 10, 1), date(2026, 10, 31)),
    ],
)
def test_days_months_and_years(typed: str, since: date | None, until: date | None) -> None:
    assert (parse(typed).since, parse(typed).until) == (since, until)


@pytest.mark.parametrize(
    "typed",
    ["http://a.b/c", "12:30", "note:", "localhost:8080", "C++", "a:b:c", "mailto:a@b.c", "город:Москва"],
)
def test_what_is_no_operator_is_a_word(typed: str) -> None:
    assert parse(typed).alternatives == ((Term(typed),),)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("has:pictures", "write has:image, has:video, has:link, has:file"),
        ("lang:russian", "as in lang:ru"),
        ("kind:joke", "write kind:news, kind:opinion"),
        ("since:tomorrow", "write a day like 2026-11-01"),
        ("on:2026-02-30", "is not a date"),
        ("on:0001", "before Telegram"),
        ("since:2026-02 until:2026-01", "swap them"),
        ("ads:maybe", "yes or no"),
        ("edited:no", "edited:yes"),
        ("deleted:perhaps", "deleted:yes"),
        ("is:edited", "there is no filter is: in a search; write edited:yes"),
        ("in:gorod", "write from:@gorod_news"),
        ("chanel:gorod", "write channel:@gorod_news"),
        ("city:Moscow", r"there is no filter city:.*or \"city:Moscow\" for the words"),
        ('snow -is:"deleted"', "write deleted:yes"),
        ("from: @gorod", "as in from:@gorod_news"),
        ("-has:image", "only words can be excluded"),
        ("а " * 600, "fewer words"),
        ("а " * 60, "fewer"),
    ],
)
def test_what_makes_no_sense_is_answered_with_what_to_write(typed: str, message: str) -> None:
    with pytest.raises(Rejected, match=message):
        parse(typed)


def test_nothing_is_a_query_too() -> None:
    assert parse(" - !? or ") == Query()


_PIECES = st.lists(
    st.sampled_from(
        [
            '"',
            "-",
            " ",
            "or",
            "from:",
            "has:",
            "since:",
            "on:",
            "lang:ru",
            "tag:",
            "kind:",
            ":",
            "@x",
            "7d",
            "2026-11",
            "снег",
            ",",
        ]
    )
    | st.text(max_size=5),
    max_size=15,
).map("".join)


@given(_PIECES)
def test_whatever_is_typed_it_is_a_query_or_rejected_and_written_again_it_means_the_same(typed: str) -> None:
    try:
        query = parse(typed)
    except Rejected:
        return
    assert parse(str(query)) == query
