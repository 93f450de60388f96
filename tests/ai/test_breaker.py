from telegram_assistant.ai.breaker import FAILURES, OPEN_SECONDS, Breaker


class Hand:
    """A clock that is moved by hand."""

    seconds = 0.0

    def now(self) -> float:
        return self.seconds


def make_broken_breaker() -> tuple[Breaker, Hand]:
    hand = Hand()
    breaker = Breaker(now=hand.now)
    for _ in range(FAILURES):
        assert breaker.begin()
        breaker.record_failure()
    return breaker, hand


def test_failures_in_a_row_open_it_and_a_success_between_them_does_not() -> None:
    breaker, _ = make_broken_breaker()
    assert breaker.is_open
    assert not breaker.begin()
    other = Breaker()
    for number in range(20):
        assert other.begin()
        other.record_success() if number % FAILURES == 0 else other.record_failure()
    assert not other.is_open


def test_after_a_while_one_call_tries_and_the_others_wait_for_it() -> None:
    breaker, hand = make_broken_breaker()
    hand.seconds = OPEN_SECONDS
    assert [breaker.begin() for _ in range(3)] == [True, False, False]
    breaker.record_success()
    assert [breaker.begin() for _ in range(3)] == [True, True, True]


def test_a_try_that_fails_opens_it_again_for_as_long() -> None:
    breaker, hand = make_broken_breaker()
    hand.seconds = OPEN_SECONDS
    assert breaker.begin()
    breaker.record_failure()
    hand.seconds = 2 * OPEN_SECONDS - 1
    assert not breaker.begin()
    hand.seconds = 2 * OPEN_SECONDS
    assert breaker.begin()


def test_a_try_that_says_nothing_lets_the_next_one_try() -> None:
    breaker, hand = make_broken_breaker()
    hand.seconds = OPEN_SECONDS
    assert breaker.begin()
    breaker.release_trial()
    assert breaker.begin()
