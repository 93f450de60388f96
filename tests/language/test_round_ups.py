"""Round-ups and lists of statements join no story; lists about one event do."""

import pytest

from telegram_assistant.language.round_ups import is_round_up
from telegram_assistant.language.terms import terms_of

NEWS = (
    "В Нортвике горит склад компании «Стройгрань»",
    "Учёные Олдрена нашли древний город",
    "Рубль подешевел на 3 %",
    "Сборная Вестмарка выиграла финал",
    "В Саллине закрыли аэропорт",
)


def listing(title: str, items: tuple[str, ...], sign: str = "▪️") -> str:
    return "\n\n".join((title, "\n".join(f"{sign} {item}" for item in items)))


@pytest.mark.parametrize("sign", ["▪️", "—", "👉", "🔻"])
def test_a_title_that_reports_nothing_and_a_list_are_a_round_up(sign: str) -> None:
    assert is_round_up(listing("❗️Главное к утру субботы", NEWS, sign))
    assert is_round_up(listing("While you slept:", NEWS, sign))


def test_a_speaker_and_a_list_are_statements() -> None:
    statements = (
        "бюджет сбалансируют;",
        "дороги починят;",
        "налоги не вырастут;",
        "мост достроят;",
        "«мы готовы».",
    )
    assert is_round_up(listing("Мэр Нортвика:", statements))


def test_a_headline_with_a_list_of_details_is_a_story() -> None:
    details = (
        "пострадали пятеро;",
        "дорогу закрыли;",
        "причину выясняют;",
        "дым виден издалека;",
        "едет мэр.",
    )
    assert not is_round_up(listing("В Нортвике загорелся склад", details))
    assert not is_round_up(listing("Warehouse fire in Northwick", details))
    assert not is_round_up(listing("В Нортвике загорелся склад\nЧто известно:", details))


def test_a_list_about_the_subject_of_its_title_is_a_story() -> None:
    items = tuple(f"{number} Склад горит в районе порта" for number in range(10, 15))
    assert not is_round_up(listing("Склад в порту:", items))


def test_three_items_are_a_round_up_only_under_a_title_that_announces_one() -> None:
    assert is_round_up(listing("Главное к утру", NEWS[:3]))
    assert is_round_up(listing("Top stories this morning", NEWS[:3]))
    assert is_round_up(listing("Weekly digest", NEWS[:3]))
    assert not is_round_up(listing("Пока вы спали", NEWS[:4]))
    assert not is_round_up(listing("Главное к утру", NEWS[:2]))


def test_the_main_points_of_one_event_are_a_story() -> None:
    details = ("Площадь перекрыли", "Мэр вышел к людям", "Автобусы идут в объезд")
    assert not is_round_up(listing("Митинг в Нортвике. День второй. Главное", details))
    assert not is_round_up(listing("Main suspect is detained in Northwick", details))


def test_a_round_up_shares_no_term_with_what_it_sums_up_and_all_with_its_copy() -> None:
    round_up = terms_of(listing("Главное к утру", NEWS), addresses=("https://example.org/news",))
    news_terms = terms_of("\n".join(NEWS))
    assert not (round_up.words | round_up.pairs) & (news_terms.words | news_terms.pairs)
    assert not round_up.names | round_up.numbers | round_up.links
    assert terms_of(f"⚡️{listing('Главное к утру', NEWS)}").words == round_up.words
