"""What an edit changed in the meaning of a text, in words that a reader understands."""

import pytest

from telegram_assistant.domain.posts.meaning import MeaningKind, weight_of
from telegram_assistant.language.meaning_changes import MAX_CHANGES, meaning_changes


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("Пострадали 12 человек", "Пострадали 17 человек", ["a number changed: 12 → 17"]),
        ("Прибыль 5,4 млрд", "The profit is 5.4 billion", []),
        ("Мост откроют 5 мая", "Мост откроют 7 мая", ["a date changed: 5 мая → 7 мая"]),
        ("Мэр встретил Иванова и Петрова", "Мэр встретил Иванова", ["a name was removed: Петрова"]),
        ("Завод закроют", "Завод не закроют", ["“не” was added"]),
        (
            "The mayor resigned",
            "The mayor reportedly resigned",
            ["it is less certain now: “reportedly” was added"],
        ),
        ("Он якобы ушёл", "Он ушёл", ["it is more certain now: “якобы” was removed"]),
        ("Снег выпал ночью", "Ночью выпал снег", []),
    ],
)
def test_a_change_of_the_meaning_is_said_in_plain_words(before: str, after: str, words: list[str]) -> None:
    assert [str(meaning_change.words) for meaning_change in meaning_changes(before, after)] == words


def test_changes_are_few_and_weighed_by_their_kind() -> None:
    many = meaning_changes(" ".join(map(str, range(10, 2000))), "")
    assert len(many) == MAX_CHANGES
    assert {change.kind for change in many} == {MeaningKind.NUMBER}
    assert (
        weight_of(meaning_changes("Завод закроют", "Завод не закроют"))
        > weight_of(meaning_changes("Он якобы ушёл", "Он ушёл"))
        > weight_of(())
    )
