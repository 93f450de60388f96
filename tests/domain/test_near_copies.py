import pytest

from telegram_assistant.domain.near_copies import folded, is_copy, original_of, sketch_of

NEWS = (
    "Мост через Неву закрыли на 15 дней после удара баржи, сообщил Иван Петров. Автобусы пойдут в объезд, "
    "водителей просят заранее выбирать другой путь и не ждать открытия раньше срока."
)


@pytest.mark.parametrize(
    "copy",
    [
        f"⚡️ {NEWS}",
        f"Срочно! {NEWS}",
        f"{NEWS}\n\nПодписаться на канал",
        f"{NEWS}\nhttps://t.me/channel/15\n@channel",
        f"{NEWS}\n\n#мост #город",
        NEWS.replace(", ", " , ").upper().replace("ИВАН ПЕТРОВ", "Иван Петров"),
        NEWS.replace("пойдут", "поедут"),
        NEWS.replace("чё", "че"),
    ],
)
def test_what_a_channel_puts_around_a_text_makes_no_other_text(copy: str) -> None:
    if copy.isupper() or "МОСТ" in copy:
        assert folded(copy) == folded(NEWS)
    else:
        assert is_copy(sketch_of(copy), sketch_of(NEWS))


@pytest.mark.parametrize(
    "other",
    [
        NEWS.replace("15", "16"),
        NEWS.replace("Неву", "Волгу"),
        NEWS.replace("Петров", "Сидоров"),
        NEWS.split(". ", maxsplit=1)[0] + ".",
        "Снег в городе",
        "",
    ],
)
def test_another_number_name_or_sentence_is_another_text(other: str) -> None:
    assert not is_copy(sketch_of(other), sketch_of(NEWS))


def test_without_names_and_numbers_only_the_same_words_are_the_same_text() -> None:
    long = "в городе выпал снег и жители вышли на улицы чтобы посмотреть на него"
    assert is_copy(sketch_of(long), sketch_of(f"{long} 👍"))
    assert not is_copy(sketch_of(long), sketch_of(long.replace("снег", "дождь")))


def test_texts_of_nothing_but_links_are_copies_of_themselves_only() -> None:
    assert is_copy(sketch_of("https://a.example"), sketch_of("https://a.example"))
    assert not is_copy(sketch_of("https://a.example"), sketch_of("https://b.example"))


def test_the_first_known_text_is_the_original() -> None:
    first, second, stranger = sketch_of(NEWS), sketch_of(NEWS.replace("пойдут", "поедут")), sketch_of("Снег")
    assert original_of(second, [stranger, first]) is first
    assert original_of(stranger, [first]) is stranger
