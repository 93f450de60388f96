"""The work of the relay, for tests without a stream."""

from collections.abc import Sequence

from telegram_assistant.domain.lane import Lane
from telegram_assistant.stores.postgres.pipeline.outbox import Outbox
from telegram_assistant.streams.relay import Announcement


async def announce_all(outbox: Outbox) -> None:
    """Marks everything that waits as announced, in all lanes."""
    for lane in Lane:
        while await outbox.announce(lane, _publish_nowhere, limit=500):
            pass


async def _publish_nowhere(announcements: Sequence[Announcement]) -> None: ...
