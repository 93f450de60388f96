from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.differences import Change, Piece, difference

texts = st.text(st.sampled_from("аб вг.12\n🔥é"), max_size=60)


@given(texts, texts)
def test_what_was_kept_and_removed_is_the_old_text_and_what_was_kept_and_added_the_new(before: str, after: str) -> None:
    pieces = difference(before, after)
    assert "".join(piece.text for piece in pieces if piece.change is not Change.ADDED) == before
    assert "".join(piece.text for piece in pieces if piece.change is not Change.REMOVED) == after


def test_a_number_that_was_put_right_is_all_that_differs() -> None:
    assert difference("Погибли 12 человек.", "Погибли 15 человек.") == (
        Piece(Change.SAME, "Погибли "),
        Piece(Change.REMOVED, "12"),
        Piece(Change.ADDED, "15"),
        Piece(Change.SAME, " человек."),
    )


def test_a_number_with_decimals_is_one_word() -> None:
    assert difference("2.1 billion", "10.8 billion") == (
        Piece(Change.REMOVED, "2.1"),
        Piece(Change.ADDED, "10.8"),
        Piece(Change.SAME, " billion"),
    )
