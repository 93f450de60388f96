"""Sentences that say the headline again in other words."""

import pytest

from telegram_assistant.language.parsed_text import parse_text
from telegram_assistant.summaries.leads import adds_nothing_to, opens_alike, retells, tells_headline
from telegram_assistant.summaries.summary import summarise
from tests.summaries.test_summary import post


def test_the_headline_in_other_words_is_no_lead() -> None:
    again = "Жители Нортвика увидят сразу три звездопада в декабре."
    summary = summarise(
        [
            post(1, f"В декабре в Нортвике будет шанс понаблюдать три звездопада\n\n{again}"),
            post(2, "Три звездопада за месяц. Ярче всего будет 14 декабря, если не помешают облака."),
        ]
    )
    assert summary is not None
    assert summary.headline.text.startswith("В декабре")
    assert summary.lead is None or summary.lead.text != again


@pytest.mark.parametrize(
    ("headline", "again"),
    [
        (
            "Мэрия приостановила торговое партнёрство с Вингорой из-за решения отложить переговоры",
            "Управление мэрии официально заявило о приостановке торгового партнёрства с Вингорой.",
        ),
        (
            "У северян будет шанс понаблюдать сразу три звездопада: зимний, весенний и летний",
            "Жители севера могут наблюдать сразу три звездопада.",
        ),
    ],
)
def test_the_headline_in_words_of_the_same_roots_is_told_nowhere_else(headline: str, again: str) -> None:
    more = "Решение вступит в силу через 9 дней."
    summary = summarise([post(1, f"{headline}\n\n{again} {more}"), post(2, f"{headline}\n\n{more} {again}")])
    assert summary is not None
    assert again not in [sentence.text for sentence in summary.sentences]
    assert more in [sentence.text for sentence in summary.sentences]


def test_a_sentence_that_becomes_the_headline_is_not_told_again_in_other_words() -> None:
    first = "Госсовет сократил финансирование театральных кружков, музыкальных школ и спортивных секций."
    again = "Сокращение финансирования коснётся театров, музыки и спорта."
    summary = summarise([post(1, first), post(2, f"{first} {again}"), post(3, f"{again} {first}")])
    assert summary is not None
    assert summary.headline.text == first
    assert again not in [sentence.text for sentence in summary.sentences]


def test_a_sentence_that_says_the_headline_again_is_no_lead() -> None:
    headline = "Мэр Ольхова пообещал открыть мост через Серую к началу апреля"
    again = "Мост через Серую откроют к началу апреля, пообещал мэр Ольхова на встрече с жителями района."
    fact = "Ремонт обошёлся городу в 40 млн рублей."
    summary = summarise([post(1, f"{headline}\n\n{again} {fact}"), post(2, f"{headline}\n\n{fact}")])
    assert summary is not None
    assert summary.lead is not None
    assert summary.lead.text == fact


@pytest.mark.parametrize(
    ("headline", "again"),
    [
        (
            "Голодный студент сломал зуб о пряник",
            "В Нортвике первокурсник сломал себе зуб о пряник — студент был голоден и торопился.",
        ),
        (
            "Заповедник стал местом года по версии журнала, посвящённого природе",
            "Лесной заповедник стал местом года в Нортвике по версии журнала «Тропа».",
        ),
    ],
)
def test_most_words_of_the_headline_with_a_new_name_retell_it(headline: str, again: str) -> None:
    assert retells(parse_text(again), parse_text(headline))


def test_a_new_number_is_told_even_in_words_of_the_headline() -> None:
    headline = parse_text("Мост через Охту закрыли на ремонт")
    assert not retells(parse_text("Мост через Охту закрыли на ремонт до 9 декабря."), headline)


@pytest.mark.parametrize(
    ("headline", "sentence"),
    [
        (
            "Мэр Ольхова подписал закон о бесплатных парковках",
            "Мэр Ольхова утром подписал закон о парковках: бесплатных мест станет 40 по всему городу.",
        ),
        (
            "Порт Нортвика просит вернуть ночной паром — начальник порта",
            "Порт Нортвика через суд просит вернуть ночной паром, который отменили 9 дней назад.",
        ),
    ],
)
def test_a_sentence_with_most_words_of_a_long_headline_tells_it(headline: str, sentence: str) -> None:
    assert tells_headline(parse_text(sentence), parse_text(headline))


def test_words_of_a_short_headline_are_only_the_subject() -> None:
    headline = parse_text("Завод «Янтарь» меняет владельца")
    assert not tells_headline(parse_text("Владелец завода «Янтарь» меняется за 53 млн рублей."), headline)


def test_the_first_sentence_of_another_post_is_another_headline_unless_it_has_a_number() -> None:
    headline = parse_text("Мэр Ольхова Белов заявил, что не уйдёт до выборов")
    assert opens_alike(parse_text("Мэр Ольхова Белов заявил, что полномочий не сложит."), headline)
    assert not opens_alike(parse_text("Мэр Ольхова Белов заявил, что останется ещё на 40 дней."), headline)


def test_most_words_of_a_short_headline_add_nothing_to_it_without_a_number() -> None:
    headline = parse_text("Белов извинился перед Северовой после выхода книги")
    assert adds_nothing_to(parse_text("Белов ещё раз извинился перед Северовой через газеты."), headline)
    assert not adds_nothing_to(parse_text("Белов извинился перед Северовой через 9 газет."), headline)
