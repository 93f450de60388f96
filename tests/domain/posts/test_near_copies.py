from itertools import pairwise, product
from zlib import crc32

import pytest

from telegram_assistant.domain.posts.near_copies import (
    Sketch,
    content_of,
    fold_text,
    is_copy,
    original_of,
    without_surroundings,
)
from telegram_assistant.domain.posts.near_copies import sketch_of as keyed_sketch_of

KEY = b"of this installation"

NEWS = (
    "Мост через Неву закрыли на 15 дней после удара баржи, сообщил Иван Петров. Автобусы пойдут в объезд, "
    "водителей просят заранее выбирать другой путь и не ждать открытия раньше срока."
)


def sketch_of(text: str) -> Sketch:
    return keyed_sketch_of(text, KEY)


@pytest.mark.parametrize(
    "copy",
    [
        f"⚡️ {NEWS}",
        f"Срочно! {NEWS}",
        f"{NEWS}\n\nПодписаться на канал",
        f"{NEWS}\n\nПодпишитесь, чтобы не пропустить",
        f"{NEWS}\n\nПрислать новость | Наш чат | Буст",
        f"{NEWS}\n\nБуст каналу",
        f"{NEWS}\n\nSubscribe and boost us",
        f"{NEWS}\nhttps://t.me/channel/15\n@channel",
        f"{NEWS}\n\n#мост #город",
        NEWS.replace(", ", " , ").upper().replace("ИВАН ПЕТРОВ", "Иван Петров"),
        NEWS.replace("пойдут", "поедут"),
        NEWS.replace("чё", "че"),
    ],
)
def test_what_a_channel_puts_around_a_text_makes_no_other_text(copy: str) -> None:
    if copy.isupper() or "МОСТ" in copy:
        assert fold_text(copy) == fold_text(NEWS)
    else:
        assert is_copy(sketch_of(copy), sketch_of(NEWS))


@pytest.mark.parametrize(
    "last",
    [
        "Мэр подписал договор.",
        "Подписано и соглашение о дорогах.",
        "Подписчики театра получили билеты.",
        "Рабочие обещают прислать бригаду.",
        "Поставили новый бустер.",
        "Trade got a boost.",
    ],
)
def test_a_last_sentence_of_the_news_is_no_call_to_follow(last: str) -> None:
    assert fold_text(f"{NEWS}\n{last}") != fold_text(NEWS)


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


WORDS = ["".join(letters) for letters in product("бвгдж", "аеиоу", "клмнп", "аеиоу")]


def test_words_that_were_chosen_for_their_hashes_make_another_text() -> None:
    """A key decides which words of a text are in the sample, and the number of added words counts as well."""
    news = f"{NEWS} {' '.join(WORDS[:126])}"
    words = fold_text(news).split()
    seen = sorted(crc32(" ".join(pair).encode()) for pair in pairwise(words))[63]
    added = [words[-1]]
    while len(added) <= 41:  # each pair lies outside of what a sample of the smallest known hashes would hold
        added.append(
            next(
                word
                for word in reversed(WORDS)
                if word not in added and crc32(f"{added[-1]} {word}".encode()) > seen
            )
        )
    assert not is_copy(sketch_of(news), sketch_of(f"{news} {' '.join(added[1:])}"))
    assert is_copy(sketch_of(news), sketch_of(f"{news} {' '.join(added[1:5])}"))


def test_sketches_of_two_keys_cannot_be_compared_and_contents_can() -> None:
    here, there = (
        sketch_of(NEWS),
        keyed_sketch_of(NEWS.replace("пойдут", "поедут"), b"of another installation"),
    )
    assert not is_copy(here, there)
    assert here.content == content_of(f"⚡️ {NEWS}\n@channel")


@pytest.mark.parametrize(
    "dateline",
    [
        "SALLIN, May 28 (Norwire) -- ",
        "SALLIN (Norwire, May 28) — ",
        "SALLIN (Norwire) - ",
        "САЛЛИН, 9 ноября — «Северинформ». ",
        "САЛЛИН. 9 ноября. Северинформ — ",
        "Саллин, 9 ноя - Факт Новости. ",
    ],
)
def test_a_dateline_is_no_part_of_a_text(dateline: str) -> None:
    assert without_surroundings(f"{dateline}{NEWS}") == NEWS


@pytest.mark.parametrize(
    "text",
    [
        "Саллин (Олдрен) — Нортвик: счёт 2:1",
        "Мэр Нортвика, 9 ноября ушедший в отставку, вернулся",
        "НОРТВИК — город на севере",
    ],
)
def test_a_beginning_that_names_no_agency_and_no_date_stays(text: str) -> None:
    assert without_surroundings(text) == text


def test_letters_that_imitate_those_of_another_alphabet_are_replaced() -> None:
    assert content_of("Сегодня дeнь oткрытых двepeй") == content_of("Сегодня день открытых дверей")
    assert content_of("Nоrthwick opens") == content_of("Northwick opens")
    assert without_surroundings("купил iPhoneом") == "купил iPhoneом"
