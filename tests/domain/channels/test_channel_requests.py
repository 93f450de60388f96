"""The forecast for a request: why it waits, and for how long."""

from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.accounts.budget import SavedMeter
from telegram_assistant.domain.channels.channel_requests import (
    LOOK_UPS_PER_DAY,
    METHODS,
    NEXT,
    NO_ACCOUNT,
    NO_OWN_ACCOUNT,
    NOT_RUNNING,
    Capacity,
    RequestKind,
    ServingAccount,
    expect,
)
from telegram_assistant.reasons import Reason

NOW = datetime(2026, 11, 16, tzinfo=UTC)
RESOLVE = METHODS[RequestKind.USERNAME]
EMPTY = SavedMeter(tokens=(0.0, 0.0, 0.0))
BLOCKED = SavedMeter(blocked_seconds=60, tokens=(4.0, 20.0, 100.0))


def account(
    *, limits: SavedMeter | None = None, is_own: bool = True, is_running: bool = True
) -> ServingAccount:
    return ServingAccount(is_own, is_running, {RESOLVE: limits} if limits else {})


def days(position: int, *accounts: ServingAccount, sharing: int = 0) -> float:
    end = expect(
        RequestKind.USERNAME, position, Capacity(accounts, sharing, has_previews=False), now=NOW
    ).estimated_end
    assert end is not None
    return (end - NOW) / timedelta(days=1)


def test_two_thousand_names_take_nineteen_days_with_one_account() -> None:
    assert LOOK_UPS_PER_DAY == 100
    assert days(2000, account()) == pytest.approx(19, abs=0.1)
    assert days(2000, account(), account()) == pytest.approx(9, abs=0.1)
    assert days(1, account()) == 0


def test_other_tenants_take_their_turns() -> None:
    assert days(500, account(), sharing=3) == pytest.approx(days(2000, account()), abs=0.1)


def test_an_account_that_telegram_has_blocked_is_left_out_where_others_are_sooner() -> None:
    blocked = account(limits=SavedMeter(blocked_seconds=86_400 * 30, tokens=(4, 20, 100)))
    assert days(50, account(), blocked) == pytest.approx(days(50, account()))
    assert days(50, blocked) == pytest.approx(30)


@pytest.mark.parametrize(
    ("kind", "accounts", "position", "reason"),
    [
        (RequestKind.USERNAME, [], 1, NO_ACCOUNT),
        (RequestKind.INVITE, [account(is_own=False)], 1, NO_OWN_ACCOUNT),
        (RequestKind.USERNAME, [account(is_running=False)], 1, NOT_RUNNING),
        (RequestKind.USERNAME, [account(is_own=False)], 1, NEXT),
        (RequestKind.USERNAME, [account()], 1001, "1,000 of your requests come first"),
        (
            RequestKind.USERNAME,
            [account(limits=EMPTY)],
            1,
            "the account has reached its limit of name look-ups for now",
        ),
        (
            RequestKind.USERNAME,
            [account(limits=BLOCKED)],
            1,
            "Telegram asks the account to pause name look-ups",
        ),
        (RequestKind.LIST, [account(limits=EMPTY)], 1, NEXT),
    ],
)
def test_the_reason_is_said_in_words(
    kind: RequestKind, accounts: list[ServingAccount], position: int, reason: Reason | str
) -> None:
    assert str(expect(kind, position, Capacity(accounts, 0, has_previews=False), now=NOW).reason) == str(
        reason
    )


def test_previews_look_names_up_where_no_account_can() -> None:
    estimate = expect(RequestKind.USERNAME, 100, Capacity((), 1, has_previews=True), now=NOW)
    assert estimate.estimated_end == NOW + timedelta(minutes=10)
