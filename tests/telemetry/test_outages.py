from dataclasses import dataclass

from structlog.testing import capture_logs

from telegram_assistant.telemetry.outages import MAX_BEGINNINGS, SUMMARY_SECONDS, OutageLog


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def test_an_outage_is_one_line_when_it_begins_and_one_when_it_ends() -> None:
    clock = Clock()
    outage = OutageLog("outbox relay", clock=clock)
    with capture_logs() as lines:
        for _ in range(28):
            outage.log_failure("ConnectionError")
            clock.now += 0.5
        outage.log_recovery()
        outage.log_recovery()
    assert [(line["event"], line["part"], line["log_level"]) for line in lines] == [
        ("part_waits", "outbox relay", "warning"),
        ("part_goes_on", "outbox relay", "info"),
    ]
    assert (lines[0]["why"], lines[1]["after_seconds"], lines[1]["attempts"]) == ("ConnectionError", 14.0, 28)


def test_a_long_outage_is_summed_up_once_a_minute() -> None:
    clock = Clock()
    outage = OutageLog("relay", clock=clock)
    with capture_logs() as lines:
        for _ in range(1 + 3 * 60):
            outage.log_failure("away")
            clock.now += 1
    assert [line["event"] for line in lines] == ["part_waits", *["part_still_waits"] * 3]
    assert [line["attempts"] for line in lines[1:]] == [61, 121, 181]
    assert lines[1]["since"] == lines[3]["since"]


def test_a_part_that_comes_and_goes_does_not_fill_the_log_and_its_last_state_stands_there() -> None:
    clock = Clock()
    outage = OutageLog("relay", clock=clock)
    with capture_logs() as lines:
        for _ in range(100):
            outage.log_failure("away")
            clock.now += 0.2
            outage.log_recovery()
            clock.now += 0.2
    assert [line["event"] for line in lines] == ["part_waits", "part_goes_on"] * MAX_BEGINNINGS
    clock.now += SUMMARY_SECONDS
    with capture_logs() as lines:
        outage.log_failure("away")
    assert lines[0]["shorter_outages"] == 100 - MAX_BEGINNINGS


def test_an_outage_that_was_too_many_is_logged_when_it_lasts() -> None:
    clock = Clock()
    outage = OutageLog("relay", clock=clock)
    for _ in range(MAX_BEGINNINGS):
        outage.log_failure("away")
        outage.log_recovery()
    with capture_logs() as lines:
        for _ in range(70):
            outage.log_failure("away")
            clock.now += 1
        outage.log_recovery()
    assert [(line["event"], line.get("after_seconds")) for line in lines] == [
        ("part_waits", None),
        ("part_goes_on", 70.0),
    ]


def test_the_traceback_of_an_error_stands_in_the_log_once_and_that_of_another_error_too() -> None:
    outage = OutageLog("loop", began="loop_crashed", clock=Clock())
    with capture_logs() as lines:
        for error in (KeyError("a"), KeyError("b"), ValueError("c"), ValueError("d")):
            outage.log_failure(error, error=error)
    assert [(line["event"], type(line["exc_info"])) for line in lines] == [
        ("loop_crashed", KeyError),
        ("loop_crashed", ValueError),
    ]


def test_a_short_wait_is_not_logged_where_waits_are_usual() -> None:
    clock = Clock()
    outage = OutageLog("stage", patience_seconds=10, clock=clock)
    with capture_logs() as lines:
        for seconds in (3, 9, 11):
            for _ in range(seconds):
                outage.log_failure("busy")
                clock.now += 1
            outage.log_recovery()
    assert [(line["event"], line.get("shorter_outages"), line.get("after_seconds")) for line in lines] == [
        ("part_waits", None, None),
        ("part_goes_on", None, 11.0),
    ]


def test_a_routine_wait_is_no_warning() -> None:
    with capture_logs() as lines:
        OutageLog("account 7", account_id=7).log_failure("a flood wait", is_routine=True)
    assert [(line["log_level"], line["account_id"]) for line in lines] == [("info", 7)]
