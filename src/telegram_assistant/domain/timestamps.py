"""Times as whole microseconds since 1970."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def moment(since_1970: int) -> datetime:
    return EPOCH + timedelta(microseconds=since_1970)
