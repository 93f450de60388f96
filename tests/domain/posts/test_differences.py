import random
from itertools import cycle, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.posts.differences import (
    MAX_CHANGES,
    Difference,
    Piece,
    PieceChange,
    difference,
    first_changed_sentence,
    pieces_of,
    replacement,
)
from testkit.cpu_time import cpu_limit

texts = st.text(st.sampled_from("аб вг.12\n🔥é"), max_size=60)
MAX_SECONDS = 0.3
"""A multiple of what is measured, because the machine may be busy; what it replaced took minutes."""


def shuffle_words(text: str) -> str:
    words = text.split(" ")
    random.Random(1).shuffle(words)
    return " ".join(words)


NUMBERED = " ".join(f"w{number}" for number in range(1000))
HOSTILE = {
    "one letter again and again": ("а " * 2048, "б а " * 1024),
    "punctuation": (".," * 2048, ",.!" * 1365),
    "words turned round": (NUMBERED, " ".join(reversed(NUMBERED.split(" ")))),
    "words shuffled": (NUMBERED, shuffle_words(NUMBERED)),
    "two letters out of step": ("".join(islice(cycle("ab "), 4096)), "".join(islice(cycle("ba  a"), 4096))),
    "nothing in common": (
        " ".join(f"a{number}" for number in range(1000)),
        " ".join(f"b{number}" for number in range(1000)),
    ),
    "every other word": (
        NUMBERED,
        " ".join(word if number % 2 else f"x{number}" for number, word in enumerate(NUMBERED.split(" "))),
    ),
    "one long number": ("1" * 4096, "1" * 4095 + "2"),
    "far longer than a post": ("a b " * 200_000, "b a " * 200_000),
}


@given(texts, texts)
@pytest.mark.parametrize(
    "compare", [difference, replacement, lambda _before, _after: None, lambda _before, _after: (3, 2, 1)]
)
def test_what_was_kept_and_removed_is_the_old_text_and_what_was_kept_and_added_the_new(
    compare: object, before: str, after: str
) -> None:
    assert callable(compare)
    outcome: Difference | None = compare(before, after)
    pieces = pieces_of(outcome, before, after)
    assert "".join(piece.text for piece in pieces if piece.change is not PieceChange.ADDED) == before
    assert "".join(piece.text for piece in pieces if piece.change is not PieceChange.REMOVED) == after


def compare_texts(before: str, after: str) -> tuple[Piece, ...]:
    return pieces_of(difference(before, after), before, after)


def test_a_number_that_was_put_right_is_all_that_differs() -> None:
    assert compare_texts("Погибли 12 человек.", "Погибли 15 человек.") == (
        Piece(PieceChange.SAME, "Погибли "),
        Piece(PieceChange.REMOVED, "12"),
        Piece(PieceChange.ADDED, "15"),
        Piece(PieceChange.SAME, " человек."),
    )


def test_a_number_with_decimals_is_one_word() -> None:
    assert compare_texts("2.1 billion", "10.8 billion") == (
        Piece(PieceChange.REMOVED, "2.1"),
        Piece(PieceChange.ADDED, "10.8"),
        Piece(PieceChange.SAME, " billion"),
    )


def test_two_places_that_were_put_right_are_told_apart() -> None:
    changed = compare_texts(
        "Мост в городе открыт в понедельник, сообщил мэр.", "Мост в городе закрыт в среду, сообщил мэр."
    )
    assert [piece.text for piece in changed if piece.change is not PieceChange.SAME] == [
        "открыт",
        "закрыт",
        "понедельник",
        "среду",
    ]


def test_an_edit_of_every_other_word_counts_as_a_replacement() -> None:
    before, after = (
        " ".join(f"word{number} {word}" for number in range(MAX_CHANGES + 1)) for word in ("old", "new")
    )
    assert compare_texts(before, after) == (
        Piece(PieceChange.SAME, "word0 "),
        Piece(PieceChange.REMOVED, before.removeprefix("word0 ")),
        Piece(PieceChange.ADDED, after.removeprefix("word0 ")),
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_the_texts_are_comparing_them_takes_no_time(name: str) -> None:
    before, after = HOSTILE[name]
    with cpu_limit(MAX_SECONDS):
        pieces = compare_texts(before, after)
    assert "".join(piece.text for piece in pieces if piece.change is not PieceChange.REMOVED) == after


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (
            "Мост закрыт. Чинить 13 дней. Объезд.",
            "Мост закрыт. Чинить 10 дней. Объезд.",
            "Чинить [-13][+10] дней.",
        ),
        ("It rains.\nNobody was hurt.", "It rains.\nTwo were hurt.", "[-Nobody][+Two] [-was][+were] hurt."),
        ("One. Two.", "One. Two. Three more came.", "Two.[+ Three more came.]"),
        ("One, two.", "One; two.", ""),
    ],
)
def test_one_line_has_the_sentence_that_changed_and_no_other(before: str, after: str, line: str) -> None:
    marks = {PieceChange.SAME: "{}", PieceChange.REMOVED: "[-{}]", PieceChange.ADDED: "[+{}]"}
    pieces = first_changed_sentence(pieces_of(difference(before, after), before, after))
    assert "".join(marks[piece.change].format(piece.text) for piece in pieces).strip() == line


def test_a_long_change_is_cut_to_a_line() -> None:
    before, after = " ".join(f"old{number}" for number in range(200)), "new"
    pieces = first_changed_sentence(pieces_of(difference(before, after), before, after))
    assert sum(len(piece.text) for piece in pieces) < 200
