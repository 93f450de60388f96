import io
import json
import logging
from datetime import datetime

import pytest

from telegram_assistant.settings import LogLevel, TelemetrySettings
from telegram_assistant.telemetry.logging import configure_logging, get_logger
from telegram_assistant.telemetry.scrubbing import scrub_text

SESSION = "1" + "ApWapzMBu4qsZ1aB" * 22
SECRETS = {
    "a session string": SESSION,
    "a bot token": "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
    "a phone number": "+7 (912) 345-67-89",
    "another phone number": "+447911123456",
    "a URL's password": "postgresql://tga:p4ssw0rd@db:5432/tga",
    "a bearer token": "Authorization: Bearer abcdef123456",
    "a web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    "a spelled-out password": "password='hunter2hunter2'",
}
GIVEAWAYS = (
    "ApWapzMBu4qsZ1aB",
    "AAHdqTcvCH1vGWJ",
    "345-67-89",
    "7911123456",
    "p4ssw0rd",
    "abcdef123456",
    "dozjgNryP4J3jVm",
    "hunter2",
)


@pytest.fixture
def lines() -> io.StringIO:
    stream = io.StringIO()
    configure_logging(TelemetrySettings(), stream=stream, is_pretty=False)
    return stream


def last(stream: io.StringIO) -> dict[str, object]:
    loaded: dict[str, object] = json.loads(stream.getvalue().splitlines()[-1])
    return loaded


def test_a_line_is_json_with_its_fields(lines: io.StringIO) -> None:
    get_logger("x").info("post_stored", post_id="5/7", text="Привет")
    line = last(lines)
    assert (line["event"], line["post_id"], line["text"], line["level"]) == (
        "post_stored",
        "5/7",
        "Привет",
        "info",
    )
    assert str(line["timestamp"]).endswith("Z")


@pytest.mark.parametrize("what", SECRETS)
def test_a_secret_is_hidden_wherever_it_stands(lines: io.StringIO, what: str) -> None:
    secret = SECRETS[what]
    log = get_logger("x")
    log.info(f"event with {secret}")
    log.info("event", detail=secret, nested={"list": [{"inner": secret}]}, items=[secret])
    logging.getLogger("a.library").warning("it says %s", secret)
    try:
        raise ValueError(secret)
    except ValueError:
        log.exception("failed")
    assert not any(giveaway in lines.getvalue() for giveaway in GIVEAWAYS)


@pytest.mark.parametrize(
    "field",
    [
        "password",
        "api_hash",
        "token",
        "session",
        "phone",
        "phone_code",
        "operator_key",
        "secret_access_key",
        "Authorization",
    ],
)
def test_a_field_with_a_secret_name_is_hidden_whatever_it_holds(lines: io.StringIO, field: str) -> None:
    get_logger("x").info("event", **{field: "harmless-looking"})
    assert "harmless-looking" not in lines.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "1234567890/55",
        "2026-11-15T05:52:05Z",
        "channel 1001234567890",
        "+5 новых постов",
        "status_code=200",
        "10.5 +3",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert scrub_text(text) == text


def test_a_traceback_is_kept_whole(lines: io.StringIO) -> None:
    try:
        raise KeyError("missing")
    except KeyError:
        get_logger("x").exception("failed")
    assert "test_a_traceback_is_kept_whole" in str(last(lines)["exception"])


@pytest.mark.turns("LOG_LEVEL")
@pytest.mark.parametrize(
    ("level", "expected"), [(LogLevel.DEBUG, 3), (LogLevel.INFO, 2), (LogLevel.ERROR, 0)]
)
def test_the_level_decides_what_is_written(level: LogLevel, expected: int) -> None:
    stream = io.StringIO()
    configure_logging(TelemetrySettings(log_level=level), stream=stream, is_pretty=False)
    log = get_logger("x")
    log.debug("one")
    log.info("two")
    log.warning("three")
    assert len(stream.getvalue().splitlines()) == expected


@pytest.mark.turns("TZ")
def test_a_terminal_prints_times_in_its_zone() -> None:
    stream = io.StringIO()
    configure_logging(TelemetrySettings(time_zone="Asia/Vladivostok"), stream=stream, is_pretty=True)
    get_logger("x").info("hello")
    assert "+1000" in stream.getvalue()
    assert str(datetime.now().year) in stream.getvalue()  # noqa: DTZ005 -- only the year is looked at
