"""The workers of the pipeline."""

from telegram_assistant.settings.declaring import SettingsGroup, variable


class StreamSettings(SettingsGroup):
    """Redis Streams, which carry events between stages."""

    partitions: int = variable(
        "STREAM_PARTITIONS",
        1,
        help="Number of streams per event type, partitioned by channel. "
        "Change it only while the streams are empty, then run `tga streams refill`.",
        ge=1,
        le=1024,
    )
    max_entries: int = variable(
        "STREAM_MAX_ENTRIES",
        200_000,
        help="While a stream holds more entries than this, posts wait in PostgreSQL, "
        "and health names the slow stage.",
        ge=1,
    )
