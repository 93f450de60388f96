"""Times as whole microseconds since 1970, and places in lists that are ordered by time."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def moment(since_1970: int) -> datetime:
    return EPOCH + timedelta(microseconds=since_1970)


@dataclass(frozen=True, slots=True)
class MomentCursor:
    """The last item of a page that is ordered by time; the next page begins behind it."""

    at: datetime
    item_id: UUID
