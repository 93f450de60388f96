"""Budgets: whatever happens, an account never asks more than its limits allow."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.accounts.budget import (
    BUDGETS,
    DAY,
    HOUR,
    MINUTE,
    RECOVERY_PER_HOUR,
    Cost,
    Limit,
    Meter,
    MethodBudget,
    SavedMeter,
    at_most,
    budget_of,
    meter_of,
)
from telegram_simulator.floods import TELEGRAM, Floods

HISTORY = budget_of("messages.getHistory")


@st.composite
def histories(draw: st.DrawFn) -> tuple[MethodBudget, list[tuple[str, float]]]:
    limits = draw(st.lists(st.builds(Limit, st.integers(1, 5), st.floats(0.01, 5)), min_size=1, max_size=3))
    budget = MethodBudget("any", tuple(limits), is_kept=draw(st.booleans()), slows_down=draw(st.booleans()))
    later = st.one_of(st.just(0.0), st.floats(0, 10))
    happenings = st.tuples(st.sampled_from(["ask", "ask", "ask", "flood", "restart"]), later)
    return budget, draw(st.lists(happenings, max_size=60))


def send_requests(budget: MethodBudget, happenings: list[tuple[str, float]]) -> list[float]:
    """When requests were sent by one who asks as soon as it may, is told to wait,
    and starts again from what was written down.
    """
    now, sent, meter = 1000.0, [], meter_of(budget, None, 1000.0)
    written, written_at = None, now
    for what, later in happenings:
        now += later
        if what == "ask":
            now += meter.seconds_until(now, Cost())
            meter = meter.take(now, Cost())
            sent.append(now)
        elif what == "flood":
            meter = meter.block(now, 5.0)
        else:
            ago = now - written_at
            meter = meter_of(
                budget, written and replace(written, tokens_age_seconds=ago, pace_age_seconds=ago), now
            )
        if what == "flood" or (what == "ask" and budget.is_kept):
            written, written_at = meter.take_snapshot(now), now
    return sent


@given(histories())
def test_no_stretch_of_time_sees_more_than_the_burst_and_what_refills_in_it(
    history: tuple[MethodBudget, list[tuple[str, float]]],
) -> None:
    budget, happenings = history
    sent = send_requests(budget, happenings)
    for first, begun in enumerate(sent):
        for last in range(first, len(sent)):
            for limit in budget.limits:
                assert last - first + 1 <= limit.burst + limit.per_second * (sent[last] - begun) + 1e-3


@given(st.integers(2, 300), st.floats(1, DAY), st.data())
def test_at_most_means_in_any_stretch(calls: int, seconds: float, data: st.DataObject) -> None:
    limit = at_most(calls, seconds, at_once=data.draw(st.integers(1, calls - 1)))
    assert limit.burst + limit.per_second * seconds == pytest.approx(calls)


def greedy(method: str, floods: Floods, *, days: float, rng: random.Random) -> int:
    """One who asks whenever the budget allows, is restarted now and then, and may crash; how much it got."""
    now, done, budget = 1_000_000.0, 0, budget_of(method)
    end, meter = now + days * DAY, meter_of(budget, None, now)
    while done < 3000:
        cost = Cost(is_first_page=rng.random() < 0.3)
        now += meter.seconds_until(now, cost) + rng.choice([0, 0, 0, rng.expovariate(1 / 60)])
        if now > end:
            break
        assert floods.check("a", method, now=now, is_premium=False) is None, f"punished after {done} requests"
        meter = meter.take(now, cost)
        done += 1
        if rng.random() < 0.05:
            meter = meter_of(budget, meter.take_snapshot(now), now)
    return done


@pytest.mark.parametrize("method", [method for method in TELEGRAM if method in BUDGETS])
def test_telegram_as_others_have_seen_it_has_nothing_to_punish(method: str) -> None:
    floods = Floods(TELEGRAM)
    assert greedy(method, floods, days=3, rng=random.Random(method)) > 5
    assert floods.punished == 0


def test_every_method_that_telegram_watches_has_a_budget_of_its_own() -> None:
    assert TELEGRAM.keys() <= BUDGETS.keys()


@pytest.mark.parametrize(
    ("method", "calls", "seconds"),
    [
        ("contacts.resolveUsername", 20, MINUTE),
        ("contacts.resolveUsername", 60, HOUR),
        ("contacts.resolveUsername", 200, DAY),
        ("channels.joinChannel", 3, 5 * MINUTE),
        ("channels.joinChannel", 20, DAY),
        ("channels.getFullChannel", 10, MINUTE),
        ("messages.getDialogs", 10, MINUTE),
        ("messages.getDialogs", 60, HOUR),
        ("auth.sendCode", 4, DAY),
    ],
)
def test_what_is_polite_is_kept(method: str, calls: int, seconds: float) -> None:
    assert min(limit.burst + limit.per_second * seconds for limit in budget_of(method).limits) <= calls + 1e-9


def test_joining_and_following_an_invitation_are_counted_together() -> None:
    assert budget_of("messages.importChatInvite") is budget_of("channels.joinChannel")


def test_pages_of_one_list_follow_each_other_and_a_second_list_waits_for_a_minute() -> None:
    def pages() -> Iterator[float]:
        now, meter = 0.0, meter_of(budget_of("messages.getDialogs"), None, 0.0)
        for is_first in (True, False, False, False, True):
            cost = Cost(is_first_page=is_first)
            yield (wait := meter.seconds_until(now, cost))
            now += wait
            meter = meter.take(now, cost)

    assert list(pages()) == pytest.approx([0, 1, 1, 1, 57], abs=0.01)


def test_a_fast_budget_begins_empty_because_nobody_knows_what_was_used_before() -> None:
    meter = meter_of(HISTORY, None, 0.0)
    assert meter.seconds_until(0.0, Cost()) == pytest.approx(1.25, abs=0.001)
    assert meter.seconds_until(60.0, *[Cost()] * 3) == 0
    assert meter.seconds_until(60.0, *[Cost()] * 5) == pytest.approx(2.5, abs=0.001)


def test_history_goes_slower_after_a_flood_and_recovers_by_two_percent_an_hour() -> None:
    once = meter_of(HISTORY, None, 0.0).block(0.0, 3)
    twice = once.block(0.0, 3)
    assert [once.pace_at(0), twice.pace_at(0)] == pytest.approx([0.7, 0.49])
    assert twice.pace_at(10 * HOUR) == pytest.approx(0.49 + 10 * RECOVERY_PER_HOUR)
    assert twice.pace_at(10 * DAY) == 1
    restarted = meter_of(HISTORY, twice.take_snapshot(0.0), 50.0)
    assert restarted.pace_at(50.0) == pytest.approx(0.49)
    slowest = once
    for _ in range(50):
        slowest = slowest.block(0.0, 3)
    assert slowest.pace_at(0.0) > 0


def test_a_shorter_wait_does_not_end_a_longer_one() -> None:
    assert meter_of(HISTORY, None, 0.0).block(0.0, 600).block(1.0, 5).blocked_seconds(1.0) == 599


def test_a_budget_that_has_got_another_limit_begins_empty() -> None:
    full: Meter = meter_of(budget_of("auth.sendCode"), SavedMeter(tokens=(3.0, 3.0)), 0.0)
    assert full.seconds_until(0.0, Cost()) > HOUR
