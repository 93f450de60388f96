"""Lines that channels repeat at the edges of their posts, and hostile channels."""

import pytest

from telegram_assistant.domain.posts.habits import MAX_HABITS, cut_habits, learn_habits
from testkit.cpu_time import cpu_limit

SIGNED = [f"Новость номер {number} пришла.\n\n👉 Элмстед сегодня. Подписаться" for number in range(20)]


def test_a_signature_is_learnt_and_cut() -> None:
    habits = learn_habits(SIGNED)
    assert cut_habits("Мост закрыли.\n\n👉 Элмстед сегодня. Подписаться", habits) == "Мост закрыли."
    assert cut_habits("Мост закрыли. 👉 Элмстед сегодня. Подписаться", habits) == "Мост закрыли."


def test_an_address_and_case_make_no_other_line() -> None:
    habits = learn_habits(
        f"News {number}\nRead us without VPN: https://elm.example/{number}" for number in range(9)
    )
    assert cut_habits("The bridge is closed.\nREAD US WITHOUT VPN: https://elm.example/8", habits) == (
        "The bridge is closed."
    )


def test_an_opening_needs_a_larger_share_than_a_signature() -> None:
    """A heading that returns now and then says what a post is about."""
    others = [f"Новость {number} пришла" for number in range(95)]
    openings = [f"Погода\nНочью будет {number} градусов" for number in range(5)]
    endings = [f"Ночью будет {number} градусов\nВаш Пётр" for number in range(5)]
    assert learn_habits([*others, *openings]) == ()
    assert cut_habits("Снег идёт\nВаш Пётр", learn_habits([*others, *endings])) == "Снег идёт"


def test_a_text_that_is_posted_again_is_no_habit() -> None:
    assert learn_habits(["Отбой воздушной тревоги"] * 10_000) == ()
    assert learn_habits(["Отбой воздушной тревоги\nМожно выйти"] * 10_000) == ()


def test_a_post_that_has_nothing_else_stays_as_it_is() -> None:
    habits = learn_habits(SIGNED)
    assert cut_habits("👉 Элмстед сегодня. Подписаться", habits) == "👉 Элмстед сегодня. Подписаться"
    assert cut_habits("", habits) == ""


def test_a_line_in_the_middle_of_a_post_stays() -> None:
    text = "Мост закрыли.\nПодписаться\nОткроют в мае.\nДетали позже.\nЕдут в объезд."
    assert cut_habits(text, learn_habits(SIGNED)) == text


def test_a_post_without_a_habit_is_the_same_object() -> None:
    text = "Мост закрыли"
    assert cut_habits(text, learn_habits(SIGNED)) is text
    assert cut_habits(text, ()) is text


def test_a_long_line_is_no_habit() -> None:
    line = "слово " * 40
    assert learn_habits(f"Новость {number}\n{line}" for number in range(20)) == ()


def test_a_channel_has_few_habits_whatever_it_posts() -> None:
    texts = [f"Новость {number}\nподпись {number % 40}" for number in range(1_000)]
    assert len(learn_habits(texts)) <= MAX_HABITS
    texts = [f"Новость {number}\nподпись {number % 30}" for number in range(1_000)]
    assert len(learn_habits(texts)) == MAX_HABITS


@pytest.mark.parametrize("part", ["x", " ", "a.", "|", "a\n", "...", "a. ", "\ud800", "@a "])
def test_long_posts_cost_little(part: str) -> None:
    text = part * (100_000 // len(part))
    with cpu_limit(2.0):
        habits = learn_habits([text] * 50)
        cut_habits(text, (*habits, 1))
