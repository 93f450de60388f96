"""How channels are read: by accounts, and by public previews."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator

from telegram_assistant.settings.declaring import SettingsGroup, check_zone, variable, web_address


class ModeOverride(StrEnum):
    """The parsing mode that an operator forces on all channels; `auto` forces none."""

    AUTO = "auto"
    HISTORICAL = "historical"
    INCREMENTAL = "incremental"


class SchedulerPolicy(StrEnum):
    """How the scheduler chooses the channel to read next."""

    FRESH = "fresh"
    CLASSIC = "classic"


class ParserSettings(SettingsGroup):
    """How channels are followed."""

    incremental: bool = variable(
        "FEATURE_INCREMENTAL_PARSING_ENABLED",
        default=True,
        help="true: a run reads only new posts. false: every run reads its whole window again "
        "(PARSER_HISTORICAL_HOURS).",
    )
    adaptive: bool = variable(
        "FEATURE_ADAPTIVE_THRESHOLDS_ENABLED",
        default=True,
        help="true: thresholds follow each channel's usual rhythm. false: fixed thresholds, "
        "1 hour of silence and a 5-minute overlap between runs.",
    )
    mode: ModeOverride = variable(
        "PARSER_MODE_OVERRIDE",
        ModeOverride.AUTO,
        help="Parsing mode of all channels: auto, historical or incremental.",
    )
    interval_seconds: int = variable(
        "PARSER_SCHEDULER_INTERVAL_SEC",
        300,
        help="Seconds between two scheduler ticks; with the classic policy also between two polls of a "
        "channel.",
        ge=1,
    )
    policy: SchedulerPolicy = variable(
        "PARSER_SCHEDULER_POLICY",
        SchedulerPolicy.FRESH,
        help="fresh: active channels are read more often. classic: every channel is read at every tick.",
    )
    concurrency: int = variable(
        "PARSER_MAX_CONCURRENCY",
        4,
        help="Maximum number of channels that one process reads at once. An account reads one at a time.",
        ge=1,
        le=1000,
    )
    attempts: int = variable(
        "PARSER_RETRY_MAX",
        3,
        help="Maximum number of attempts per channel and run, the first included. "
        "A wait that Telegram asks for does not count.",
        ge=1,
    )
    historical_hours: int = variable(
        "PARSER_HISTORICAL_HOURS", 24, help="Minimum window that a historical run reads, in hours.", ge=1
    )
    window_days: int = variable(
        "PARSER_STATS_WINDOW_DAYS",
        14,
        help="Days of posts from which a channel's usual intervals between posts are computed.",
        ge=1,
    )
    max_age_hours: int = variable(
        "LPA_MAX_AGE_HOURS",
        48,
        also="PARSER_LPA_MAX_AGE_HOURS",
        help="A channel that has not been read for this many hours is read in historical mode.",
        ge=1,
    )
    joins_per_day: int = variable(
        "PUSH_JOINS_PER_DAY",
        0,
        help="Number of active public channels that each account may join per day, "
        "so that Telegram pushes their posts within a second. "
        "The account's owner sees them in the list of chats. 0: none.",
        ge=0,
        le=20,
    )
    quiet_zone: Annotated[str, AfterValidator(check_zone)] = variable(
        "QUIET_HOURS_TZ",
        "Europe/Moscow",
        help="Time zone of nights and weekends, when channels are usually silent.",
    )


class PreviewSettings(SettingsGroup):
    """Public previews: the pages of a channel that t.me shows without an account."""

    enabled: bool = variable(
        "PREVIEWS_ENABLED",
        default=False,
        help="true: public channels that no account can open are read from their preview pages, "
        "which show the newest posts only.",
    )
    url: Annotated[str, AfterValidator(web_address)] = variable(
        "PREVIEWS_URL", "https://t.me", help="Address of the preview pages; for tests, that of a simulator."
    )
