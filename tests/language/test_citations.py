"""Whether cited posts support a sentence."""

from datetime import date

import pytest

from telegram_assistant.language.citations import CitedPost, Verdict, check_sentence

DAY = date(2026, 11, 3)
CRASH = (
    CitedPost(
        "😱 Трасса перекрыта на 149-м километре. Из-за тумана столкнулись 11 машин, 7 человек ранены. "
        "Погибших, к счастью, нет.",
        DAY,
    ),
    CitedPost(
        "Трасса у Кроссхейвена стоит после аварии\n\n"
        "Скорость снизили с 90 до 60 км/ч. «Впереди всё пропало, я только тормоз успел нажать», — говорит"
        " водитель фуры. Вчера там уже была авария.",
        DAY,
        "Северный вестник",
    ),
)
DEAL = (CitedPost("Nordwood buys Cargo Meridian for 5 billion, Anna Lind said on Monday.", DAY),)


@pytest.mark.parametrize(
    ("sentence", "posts"),
    [
        ("У Кроссхейвена столкнулись одиннадцать машин, ранены семь человек.", CRASH),
        ("Авария под Кроссхейвеном: 11 машин.", CRASH),
        ("«Впереди всё пропало», — рассказал водитель фуры.", CRASH),
        ("2 ноября на трассе была авария.", CRASH),
        ("Nordwood buys Cargo Meridian for five billion.", DEAL),
    ],
)
def test_a_sentence_with_inflected_names_and_numbers_in_words_is_supported(
    sentence: str, posts: tuple[CitedPost, ...]
) -> None:
    checked = check_sentence(sentence, posts)
    assert (checked.verdict, checked.text, checked.reason) == (Verdict.SUPPORTED, sentence, None)
    assert checked.sources


@pytest.mark.parametrize(
    ("sentence", "code", "posts"),
    [
        ("Столкнулись 12 машин.", "citation_number", CRASH),
        ("Столкнулись 7 машин.", "citation_number_noun", CRASH),
        ("Скорость снизили с 60 до 90 км/ч.", "citation_range", CRASH),
        ("Трасса перекрыта у Элмстеда.", "citation_name", CRASH),
        ("Трасса перекрыта с 5 ноября.", "citation_date", CRASH),
        ("«Тормоза отказали у всех», — говорит водитель фуры.", "citation_quote", CRASH),
        ("«Впереди всё пропало», — сказал мэр.", "citation_speaker", CRASH),
        ("On Monday Boris Lind said Nordwood buys Cargo Meridian.", "citation_name", DEAL),
        ("Cars collided near the town.", "citation_language", CRASH),
    ],
)
def test_an_invented_fact_drops_the_sentence_and_says_why(
    sentence: str, code: str, posts: tuple[CitedPost, ...]
) -> None:
    checked = check_sentence(sentence, posts)
    assert (checked.verdict, checked.text) == (Verdict.DROPPED, "")
    assert checked.reason is not None
    assert checked.reason.code == code


@pytest.mark.parametrize(
    ("sentence", "code", "instead", "posts"),
    [
        ("Есть погибшие.", "citation_negation", "Погибших, к счастью, нет.", CRASH),
        (
            "Из-за тумана не столкнулись 11 машин.",
            "citation_negation",
            "Из-за тумана столкнулись 11 машин, 7 человек ранены.",
            CRASH,
        ),
        (
            "Трасса у Кроссхейвена открыта.",
            "citation_opposite",
            "Трасса у Кроссхейвена стоит после аварии",
            CRASH,
        ),
        ("Cargo Meridian buys Nordwood.", "citation_roles", DEAL[0].text, DEAL),
        (
            "Из-за тумана столкнулись десятки машин.",
            "citation_word",
            "Из-за тумана столкнулись 11 машин, 7 человек ранены.",
            CRASH,
        ),
        (
            "Nordwood Nordwood Nordwood buys Cargo Meridian Cargo Meridian",
            "citation_repeated",
            DEAL[0].text,
            DEAL,
        ),
    ],
)
def test_a_turned_claim_is_replaced_by_the_source_word_for_word(
    sentence: str, code: str, instead: str, posts: tuple[CitedPost, ...]
) -> None:
    checked = check_sentence(sentence, posts)
    assert (checked.verdict, checked.text) == (Verdict.REPLACED, instead)
    assert checked.reason is not None
    assert checked.reason.code == code


def test_a_sentence_may_name_the_channel_that_says_it() -> None:
    assert (
        check_sentence("Северный вестник сообщает, что трасса у Кроссхейвена стоит.", CRASH).verdict
        is not Verdict.DROPPED
    )


def test_a_post_with_another_number_is_no_source_of_a_sentence_that_cites_it_too() -> None:
    posts = [CitedPost(f"Каменный мост в Солнцеборе закрыли на {days} дней.", DAY) for days in (16, 13, 13)]
    assert set(check_sentence("Каменный мост закрыли на 13 дней.", posts).sources) == {1, 2}
    apart = [
        CitedPost("Каменный мост закрыли на 16 дней.", DAY),
        CitedPost("Каменный мост в Солнцеборе осмотрели и закрыли.", DAY),
    ]
    assert set(check_sentence("Каменный мост закрыли в Солнцеборе на 16 дней.", apart).sources) == {0, 1}
