import pytest

from telegram_assistant.domain.posts.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Утром в городе снег, к вечеру гололёд.", "ru"),
        ("Міст через річку закритий до п'ятниці.", "uk"),
        ("The chip plant reports a yield of 71 percent.", "en"),
        ("Новая модель iPhone поступит в продажу", "ru"),
        ("Der Zug kommt später", None),
        ("42 %", None),
        ("", None),
        ("👍👍👍", None),
    ],
)
def test_the_language_of_a_text_is_told_where_it_can_be(text: str, language: str | None) -> None:
    assert language_of(text) == language
