"""Reasons in the reader's language."""

from datetime import UTC, datetime
from gettext import NullTranslations
from zoneinfo import ZoneInfo

import pytest
from babel.messages.pofile import read_po

from telegram_assistant.reasons import Reason, quote
from telegram_assistant.translation import (
    LANGUAGES,
    language_of_header,
    terminal_language,
    translate,
    translator,
)
from testkit.checkouts import CHECKOUT
from testkit.message_catalogue import MESSAGES
from testkit.reason_catalogue import CATALOGUE, placeholders, update_catalogue


def test_every_reason_is_translated_with_the_same_parameters() -> None:
    with (CHECKOUT / CATALOGUE).open("rb") as file:
        messages = [message for message in read_po(file) if message.id]
    assert len(messages) > 300
    for message in messages:
        written, translated = (
            (text,) if isinstance(text, str) else tuple(text or ()) for text in (message.id, message.string)
        )
        assert len(translated) >= len(written), message.id
        assert all(translated), message.id
        assert not message.fuzzy, message.id
        assert {frozenset(placeholders(text)) for text in (*written, *translated)} == {
            frozenset(placeholders(written[0]))
        }, message.id


def test_the_catalogue_holds_the_reasons_of_the_source() -> None:
    """`make generate` brings it up to date."""
    assert (CHECKOUT / CATALOGUE).read_text(encoding="utf-8") == update_catalogue()


@pytest.mark.parametrize("catalogue", [CATALOGUE, MESSAGES])
def test_a_tenant_has_one_name_in_russian(catalogue: str) -> None:
    """People read «пространство» on every page and in every reason."""
    assert "арендатор" not in (CHECKOUT / catalogue).read_text(encoding="utf-8").lower()


def test_english_needs_no_catalogue() -> None:
    assert type(translator("en")) is NullTranslations
    reason = Reason(
        "channel_not_followed_by_id", "you do not follow channel {channel_id}", channel_id=1006503122
    )
    assert translate(reason, "en") == str(reason) == "you do not follow channel 1006503122"


def test_russian_has_its_own_words_and_ids_stay_as_they_are() -> None:
    reason = Reason(
        "channel_not_followed_by_id", "you do not follow channel {channel_id}", channel_id=1006503122
    )
    assert translate(reason, "ru") == "вы не подписаны на канал 1006503122"


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "1 канал"), (2, "2 канала"), (5, "5 каналов"), (11, "11 каналов"), (21, "21 канал")],
)
def test_russian_counts_in_three_forms(count: int, words: str) -> None:
    assert (
        translate(Reason("channels_found", "{count} channel", "{count} channels", count=count), "ru") == words
    )


def test_a_reason_inside_a_reason_is_translated_too() -> None:
    count_reason = Reason("channels_found", "{count} channel", "{count} channels", count=2)
    left_out = Reason("groups_left_out", "{count} group", "{count} groups", count=1)
    reason = Reason(
        "found_and_left_out", "{found}; left out: {left_out}", found=count_reason, left_out=left_out
    )
    assert translate(reason, "ru") == "2 канала; пропущено: 1 группа"


def test_numbers_and_times_are_written_as_the_language_does() -> None:
    first = Reason(
        "requests_first",
        "{count:,} of your requests comes first",
        "{count:,} of your requests come first",
        count=10_000,
    )
    assert (translate(first, "en"), translate(first, "ru")) == (
        "10,000 of your requests come first",
        "впереди 10\xa0000 ваших запросов",
    )
    pace = Reason(
        "risk_limited",
        "Telegram limited {method} recently: it runs at {pace:.0%} of its speed",
        method="m",
        pace=0.7,
    )
    assert translate(pace, "ru") == "Telegram недавно ограничивал m: скорость сейчас 70\xa0%"
    noon = datetime(2026, 11, 15, 12, tzinfo=UTC)
    until = Reason("coverage_until", "{what} (until {until:%Y-%m-%d %H:%M})", what=quote("x"), until=noon)
    assert translate(until, "en") == "x (until 2026-11-15 12:00)"
    assert translate(until, "ru", zone=ZoneInfo("Europe/Moscow")) == "x (до 15 ноября 2026, 15:00)"
    since = Reason(
        "coverage_complete_since", "Complete: everything posted since {since:%Y-%m-%d} is stored", since=noon
    )
    assert translate(since, "ru") == "Полностью: сохранено всё, что опубликовано с 15 ноября 2026"


def test_a_reason_that_an_earlier_release_stored_is_said_in_english() -> None:
    assert (
        translate(Reason("gone", "nobody says {this} any more", this="so"), "ru") == "nobody says so any more"
    )


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("ru", "ru"),
        ("ru-RU,ru;q=0.9,en-US;q=0.8,en;q=0.7", "ru"),
        ("en-GB, ru;q=0.5", "en"),
        ("de, ru;q=0.3, en;q=0.2", "ru"),
        ("de", "en"),
        ("ru;q=0, en", "en"),
        ("ru;q=high", "en"),
        ("*", "en"),
        ("../../ru", "en"),
    ],
)
def test_the_header_of_a_request_chooses_the_language(header: str, language: str) -> None:
    assert language_of_header(header) == language
    assert language in LANGUAGES


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "ru_RU.UTF-8"}, "ru"),
        ({"LANG": "ru_RU.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ({"LANG": "C", "LC_MESSAGES": "ru"}, "ru"),
        ({"LANG": "ru_RU.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_the_terminal_chooses_the_language(environ: dict[str, str], language: str) -> None:
    assert terminal_language(environ) == language
