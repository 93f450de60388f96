"""Logs, metrics and traces."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator

from telegram_assistant.settings.declaring import SettingsGroup, check_zone, variable


class LogLevel(StrEnum):
    """The least severe level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class TelemetrySettings(SettingsGroup):
    """Logs, metrics, traces."""

    log_level: LogLevel = variable(
        "LOG_LEVEL", LogLevel.INFO, help="Least severe level that is logged: debug, info, warning or error."
    )
    time_zone: Annotated[str, AfterValidator(check_zone)] = variable(
        "TZ", "UTC", help="Time zone of the times that commands print. Stored times are UTC."
    )
    traces_endpoint: str = variable(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "",
        help="URL of the OpenTelemetry collector (OTLP over HTTP). Empty: no traces are sent.",
    )
    max_channel_series: int = variable(
        "METRICS_MAX_CHANNELS",
        1000,
        help="Maximum number of channels with their own metric series; above it, "
        "gauges show those with the worst values.",
        ge=1,
    )
