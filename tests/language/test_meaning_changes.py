"""Changes of meaning by an edit, in words that a reader understands."""

import pytest

from telegram_assistant.domain.posts.meaning import MeaningKind, weight_of
from telegram_assistant.language.meaning_changes import MAX_CHANGES, meaning_changes
from testkit.cpu_time import cpu_limit


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
            ["less certain now: “reportedly” was added"],
        ),
        ("Он якобы ушёл", "Он ушёл", ["more certain now: “якобы” was removed"]),
        ("Снег выпал ночью", "Ночью выпал снег", []),
        ("Снег https://paper.example/Snow-12", "Снег https://paper.example/Ice-34?day=today", []),
        ("Снег, пишет @Bert12", "Снег, пишет @Anna34", []),
        (
            "Правитльство открыло мост",
            "Правительство открыло мост",
            ["only the spelling changed: Правитльство → Правительство"],
        ),
        (
            "They definately agreed",
            "They definitely agreed",
            ["only the spelling changed: definately → definitely"],
        ),
        (
            "мост открыт и ещё что то",
            "Мост открыт, и еще что-то.",
            ["only punctuation, spaces or capitals changed"],
        ),
        ("Это не большой завод", "Это небольшой завод", ["only punctuation, spaces or capitals changed"]),
        ("Цена выросла на 15 %", "Цена выросла на 1,5 %", ["a number changed: 15 % → 1,5 %"]),
        ("Мост закрыт.", "Мост закрыт?", []),
        ("У него острая боль", "У него острая соль", []),
        ("They want a police", "They want a policy", []),
        ("Мэр встретил Бортича", "Мэр встретил Бартича", ["a name changed: Бортича → Бартича"]),
        ("They are casual users", "They are causal users", []),
        ("Снег выпал", "Снег выпал ночью", []),
        ("", "Снег", []),
        ("!!!", "...", []),
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
        > weight_of(meaning_changes("Мост открыт", "мост открыт"))
    )


def test_comparing_the_spelling_of_long_texts_costs_little() -> None:
    words = ["правитльство" * 2, "Zz" * 15, "а" * 2_999]
    with cpu_limit(1.0):
        for word in words:
            meaning_changes(f"{word} " * 200, f"{word[:-2]}x{word[-1]} " * 200)
