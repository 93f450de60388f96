"""Whether two sentences have the same words in the same order."""

import pytest

from telegram_assistant.summaries.copied_order import has_few_own_forms, has_same_order


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (
            "Старый паром застрял во льдах у Кривой косы",
            "Старый грузовой паром вечером застрял во льдах у самой Кривой косы. ",
        ),
        ("В Ольхове ограбили музей часов — Баян", "В Ольхове ночью ограбили музей часов: кадры погони."),
        ("Закон о тишине приняли депутаты.", "Новый закон о тишине приняли депутаты Ольхова."),
        (
            "An old ferry is stuck in ice near the northern lighthouse",
            "An old cargo ferry is stuck in thick ice near the northern lighthouse since noon.",
        ),
    ],
)
def test_words_put_between_the_same_words_make_no_other_wording(text: str, other: str) -> None:
    assert has_same_order(text, other)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Мост закрыли из-за трещины в опоре.", "Из-за трещины в опоре мост закрыт."),
        ("Пожар потушили за 2 минуты.", "Возгорание ликвидировали через 2 минуты."),
        ("Концерт отменили", "Концерт отменён из-за протечки в зале."),
        ("The bridge was closed after a crack was found.", "A crack was found, so the bridge was closed."),
    ],
)
def test_another_order_and_other_forms_are_words_of_ones_own(text: str, other: str) -> None:
    assert not has_same_order(text, other)


def test_a_short_line_in_the_same_forms_is_copied_and_in_other_forms_it_is_not() -> None:
    line = "Хозяину грозит до двух лет тюрьмы."
    assert has_few_own_forms(line, "Белову же грозит до двух лет тюрьмы.")
    assert not has_few_own_forms(line, "За это сажают на два года.")
