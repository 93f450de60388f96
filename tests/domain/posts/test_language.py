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
        ("Spain denies a giant blackout", "en"),
        ("Мост закрыт https://paper.example/the-bridge-is-closed-for-all-of-the-winter-season", "ru"),
        ("Мост закрыт, пишет @the_bridge_is_closed_for_all_of_winter", "ru"),
        ("Мост `import bridge; bridge.close(for_the_winter=True)`", "ru"),
        ("Днес в града откриха моста, а това ще помогне на всички", "bg"),
        ("Данас је у граду отворен нови мост", "sr"),
        ("Бүгін қалада жаңа көпір ашылды", "kk"),
        ("Сёння ў горадзе адкрылі новы мост", "be"),
        ("Мэр Київа приехал в Москву, что это значит для него и для города", "ru"),
        ("La gente que vive con una mascota", None),
        ("今日は良い天気です", None),
        ("42 %", None),
        ("", None),
        ("👍👍👍", None),
    ],
)
def test_the_language_of_a_text_is_told_where_it_can_be(text: str, language: str | None) -> None:
    assert language_of(text) == language
