"""Which sentences of a post are its own, and which can be quoted."""

import pytest

from telegram_assistant.summaries.cleaning import clean_post
from tests.summaries.test_summary import post as make_story_post


@pytest.mark.parametrize(
    "line",
    [
        "Read us without a tunnel here: sho.rt/riverdaily",
        "Читайте нас без блокировок здесь: https://example.org/olkhov",
        "Подробности по ссылке https://example.org/olkhov",
        "О ремонте читайте в нашем материале.",
        "Рассказываем, как объехать мост.",
        "Следите за движением в нашем чате.",
        "Read more in our story.",
    ],
)
def test_a_line_that_leads_elsewhere_is_no_sentence_of_a_post(line: str) -> None:
    post = clean_post(make_story_post(1, "Мост в Ольхове закрыли до апреля.\n" + line))
    assert post.sentences == ("Мост в Ольхове закрыли до апреля.",)


@pytest.mark.parametrize(
    "byline",
    [
        "Корреспондент Анна Белова специально для Ольховских вестей",
        "Об этом рассказывает корреспондент Вестей Анна Белова.",
        "Фото: Анна Белова",
    ],
)
def test_a_byline_is_no_sentence_of_a_post(byline: str) -> None:
    post = clean_post(make_story_post(1, f"Мост в Ольхове закрыли до апреля.\n{byline}"))
    assert post.sentences == ("Мост в Ольхове закрыли до апреля.",)


@pytest.mark.parametrize("remark", [" (на видео)", " (фото мэрии)", ", передаёт корреспондент Вестей"])
def test_remarks_about_pictures_and_reporters_are_cut_out_of_a_sentence(remark: str) -> None:
    post = clean_post(make_story_post(1, f"Мост в Ольхове закрыли до апреля{remark}."))
    assert post.sentences == ("Мост в Ольхове закрыли до апреля.",)


def test_an_address_within_a_sentence_does_not_hide_what_it_says() -> None:
    post = clean_post(make_story_post(1, "Мост в Ольхове https://example.org/olkhov закрыли до апреля."))
    assert post.sentences == ("Мост в Ольхове закрыли до апреля.",)


@pytest.mark.parametrize("marks", [("• ", "• "), ("▪️", "▪️"), ("1. ", "2) "), ("— ", "— ")])
def test_items_of_a_list_are_not_quoted_but_support_what_others_say(marks: tuple[str, str]) -> None:
    items = ["Сварщик получает до 500 тысяч рублей.", "Слесарь получает до 350 тысяч рублей."]
    listed = "\n".join(mark + item for mark, item in zip(marks, items, strict=True))
    post = clean_post(make_story_post(1, f"Завод в Ольхове назвал зарплаты рабочих.\n{listed}"))
    assert post.sentences == ("Завод в Ольхове назвал зарплаты рабочих.",)
    assert items[0] in post.text


def test_a_number_at_the_beginning_of_a_line_is_no_item() -> None:
    text = "12.5 млн рублей получит Ольхов.\n24.11 деньги пришли в город."
    assert len(clean_post(make_story_post(1, text)).sentences) == 2


@pytest.mark.parametrize(
    ("remark", "statement"),
    [
        ("Также отмечается, что мост закроют до апреля.", "Мост закроют до апреля."),
        ("Уточняется, что мост закроют до апреля.", "Мост закроют до апреля."),
        ("Также сообщается, что мост закроют.", "Сообщается, что мост закроют."),
        ("Как передаёт корреспондент Вестей, мост закроют до апреля.", "Мост закроют до апреля."),
        ("It is also noted that the bridge was closed in May.", "The bridge was closed in May."),
    ],
)
def test_words_that_only_announce_a_statement_are_cut_off(remark: str, statement: str) -> None:
    first = "Опору моста в Ольхове осмотрели 4 инженера."
    last = "Объезд займёт 9 минут."
    post = clean_post(make_story_post(1, f"{first}\n{remark}\n{last}"))
    assert post.sentences == (first, statement, last)


def test_what_somebody_asks_of_people_in_quotation_marks_stays() -> None:
    quoted = "«Следите за сообщениями мэрии», — попросил Олег Белов."
    post = clean_post(make_story_post(1, f"Мост в Ольхове закрыли до апреля.\n{quoted}"))
    assert quoted in post.sentences
