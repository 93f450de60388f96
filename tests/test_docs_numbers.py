"""Numbers that the documentation states are those of the code."""

import re
from datetime import timedelta

import pytest

from telegram_assistant.domain.accounts.account import LEASE_SECONDS, MARGIN_SECONDS, RENEW_SECONDS
from telegram_assistant.domain.branch import MAX_BRANCHES
from telegram_assistant.domain.channels.health import PROMISED
from telegram_assistant.domain.digests.interests import HALF_LIFE
from telegram_assistant.domain.operations.due_work import MAX_ROWS, MOST_AHEAD
from telegram_assistant.domain.receivers.delivery import FIRST_RETRY, PAUSED_AFTER
from telegram_assistant.features.operations.due_work import LEASE
from telegram_assistant.features.receivers.sending import (
    ATTEMPT_SECONDS,
    MAX_DELIVERIES_PER_TURN,
    TURN_SECONDS,
)
from telegram_assistant.features.watches.held_posts import HELD_SECONDS, LOOK_SECONDS
from telegram_assistant.jobs import PERIODIC
from telegram_assistant.streams.local_queue import MAX_FILL_SECONDS
from telegram_assistant.streams.monitoring import MAX_UNREAD_ENTRIES
from tests.test_docs import section

JOB_PERIODS = {job.name: job.every for job in PERIODIC}


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


QUOTED: list[tuple[str, timedelta | tuple[int, str]]] = [
    ("docs/accounts.md#leases", seconds(LEASE_SECONDS)),
    ("docs/accounts.md#leases", seconds(RENEW_SECONDS)),
    ("docs/accounts.md#leases", seconds(MARGIN_SECONDS)),
    ("docs/code-tour.md#a-lease-takeover-after-a-kill", seconds(LEASE_SECONDS)),
    ("docs/code-tour.md#a-lease-takeover-after-a-kill", seconds(MARGIN_SECONDS)),
    ("docs/digests.md#digests", JOB_PERIODS["digests"]),
    ("docs/digests.md#digests", MOST_AHEAD),
    ("docs/architecture.md#periodic-work", LEASE),
    ("docs/architecture.md#periodic-work", (MAX_ROWS, "rows")),
    ("docs/digests.md#interests", HALF_LIFE),
    ("docs/glossary.md#reading-telegram", seconds(LEASE_SECONDS)),
    ("docs/glossary.md#reading-telegram", seconds(RENEW_SECONDS)),
    ("docs/glossary.md#reading-telegram", seconds(MARGIN_SECONDS)),
    ("docs/stages.md#what-the-handler-does-and-what-the-runtime-does-then", seconds(MAX_FILL_SECONDS)),
    (
        "docs/stages.md#what-the-handler-does-and-what-the-runtime-does-then",
        (MAX_UNREAD_ENTRIES, "of them"),
    ),
    ("docs/stages.md#where-the-flow-ends", (MAX_BRANCHES, "")),
    ("docs/watches.md#when-stories-are-not-grouped", seconds(HELD_SECONDS)),
    ("docs/watches.md#when-stories-are-not-grouped", seconds(LOOK_SECONDS)),
    ("docs/watches.md#matching", JOB_PERIODS["watch_silences"]),
    ("docs/watches.md#delivery", FIRST_RETRY),
    ("docs/watches.md#delivery", PAUSED_AFTER),
    ("docs/watches.md#delivery", seconds(ATTEMPT_SECONDS)),
    ("docs/watches.md#delivery", seconds(TURN_SECONDS)),
    ("docs/watches.md#delivery", (MAX_DELIVERIES_PER_TURN, "deliveries")),
    *(("docs/web.md#channels", (int(promise / timedelta(minutes=1)), "")) for promise in PROMISED.values()),
]
"""Numbers of the code that a section states: durations, or a count and the word behind it."""
WORDS = {1: "one|an?", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
WORDS |= {9: "nine", 10: "ten", 11: "eleven", 12: "twelve", 15: "fifteen", 20: "twenty", 30: "thirty"}
UNITS = {"ms|milliseconds?": 0.001, "s|seconds?": 1, "minutes?": 60, "hours?": 3600, "days?": 86_400}
HALVES = {"half a minute": 30, "half an hour": 1800, "an hour": 3600, "a quarter of an hour": 900}


def spellings(number: float) -> str:
    """How a page may write a number: in digits, or in words."""
    if number != int(number):
        return rf"\b{number}"
    words = f"|{WORDS[int(number)]}" if number in WORDS else ""
    return rf"\b(?:{int(number):,}|{int(number)}{words})"


def statements(value: timedelta | tuple[int, str]) -> str:
    """A pattern for every way to state a value."""
    if not isinstance(value, timedelta):
        number, noun = value
        return spellings(number) + (rf"\s+{noun}" if noun else r"\b")
    whole = value.total_seconds()
    ways = [
        rf"{spellings(round(whole / size, 3))}\s(?:{unit})\b"
        for unit, size in UNITS.items()
        if whole / size >= 1
    ]
    return "|".join([*ways, *(words for words, size in HALVES.items() if size == whole)])


@pytest.mark.parametrize(("place", "value"), QUOTED, ids=str)
def test_numbers_that_pages_state_are_those_of_the_code(
    place: str, value: timedelta | tuple[int, str]
) -> None:
    assert re.search(statements(value), section(place)), f"{place} does not state {value}"
