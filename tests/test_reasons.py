"""Reasons in the source, and what becomes of a reason that is stored."""

import re
from collections import defaultdict
from datetime import UTC, datetime

import pytest

from telegram_assistant.errors import Missing
from telegram_assistant.reasons import Reason, describe_bug, dump_reason, load_reason, quote
from testkit.reason_catalogue import declared_reasons, placeholders


def test_every_reason_is_written_out_where_it_is_made() -> None:
    """Otherwise it could not be translated."""
    unclear = [
        str(reason)
        for reason in declared_reasons()
        if None in {reason.code, reason.text, reason.plural, *reason.parameters}
    ]
    assert unclear == []


def test_a_code_has_one_sentence_and_a_sentence_one_code() -> None:
    sentences, codes = defaultdict(set), defaultdict(set)
    for reason in declared_reasons():
        sentences[reason.code].add((reason.text, reason.plural))
        codes[reason.text].add(reason.code)
    assert {code: texts for code, texts in sentences.items() if len(texts) > 1} == {}
    assert {text: same_codes for text, same_codes in codes.items() if len(same_codes) > 1} == {}
    assert [code for code in sentences if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", code or "")] == []


def test_a_sentence_names_every_parameter_and_no_other() -> None:
    wrong = [
        str(reason)
        for reason in declared_reasons()
        if placeholders(f"{reason.text}{reason.plural}") != reason.parameters
    ]
    assert wrong == []
    assert [
        str(reason) for reason in declared_reasons() if reason.plural and "count" not in reason.parameters
    ] == []


def test_an_error_reads_like_its_reason() -> None:
    error = Missing(Reason("tag_unknown", "there is no tag {tag!r}", tag="weather"))
    assert str(error) == str(error.reason) == "there is no tag 'weather'"


def test_a_number_chooses_the_sentence() -> None:
    def say(count: int) -> str:
        return str(Reason("channels_found", "{count} channel", "{count} channels", count=count))

    assert [say(count) for count in (0, 1, 2)] == ["0 channels", "1 channel", "2 channels"]


def test_what_people_write_is_never_read_as_a_template() -> None:
    written = "{parameters.__class__} {0}"
    assert str(quote(written)) == written
    assert (
        str(Reason("tag_unknown", "there is no tag {tag!r}", tag=written)) == f"there is no tag {written!r}"
    )
    with pytest.raises(KeyError):
        str(Reason("tag_unknown", "there is no tag {tag.__class__}", tag="weather"))


def test_a_stored_reason_is_read_as_it_was() -> None:
    inner = Reason("channels_found", "{count} channel", "{count} channels", count=3)
    reason = Reason(
        "found_and_left_out", "{found}; left out: {left_out}", found=inner, left_out="a \0 and a \ud800"
    )
    stored = dump_reason(reason)
    assert stored is not None
    assert "\0" not in stored  # PostgreSQL could not store it
    assert load_reason(stored) == reason
    assert dump_reason(None) is None
    assert load_reason(None) is None


def test_a_stored_time_is_read_as_text() -> None:
    expires_at = datetime(2026, 11, 15, tzinfo=UTC)
    stored = dump_reason(
        Reason("key_outlives_parent", "it must expire by {expires_at}", expires_at=expires_at)
    )
    assert str(load_reason(stored)) == "it must expire by 2026-11-15T00:00:00+00:00"


@pytest.mark.parametrize(
    "stored",
    ["the bill was not paid", "", "{", "{}", "[1]", "7", "null", '{"code": 1, "text": 2, "parameters": 3}'],
)
def test_a_sentence_that_is_no_reason_is_shown_as_it_is(stored: str) -> None:
    assert str(load_reason(stored)) == stored


def test_what_the_database_writes_itself_has_a_code() -> None:
    assert load_reason("the tenant is suspended").code == "tenant_is_suspended"


def test_a_bug_is_named_and_not_quoted_at_length() -> None:
    assert str(describe_bug(ValueError("no"))) == "an unexpected error (ValueError: no)"
    assert len(str(describe_bug(ValueError("no" * 1000)))) < 400
