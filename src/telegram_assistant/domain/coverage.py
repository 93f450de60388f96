"""What is proven to be read of a channel, as ranges of message ids.

A page of history, asked for below some id, proves every id between its lowest message and that id: what the
page does not contain does not exist. Ids between two messages of a page are deletions, not gaps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from telegram_assistant.domain.ids import MessageId


@dataclass(frozen=True, slots=True, order=True)
class IdRange:
    """Message ids from `low` to `high`, both included."""

    low: MessageId
    high: MessageId

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise ValueError(f"a range of message ids runs upward from 1, not from {self.low} to {self.high}")

    def __len__(self) -> int:
        return self.high - self.low + 1

    def __contains__(self, message_id: int) -> bool:
        return self.low <= message_id <= self.high

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


def proven_by(ids: Sequence[MessageId], *, below: MessageId | None = None) -> IdRange | None:
    """The ids that one page proves.

    `ids` are the page's messages; `below` is the offset it was asked with (None: from the newest). An empty
    page below an id proves that nothing is left beneath; an empty page of the newest proves nothing, because
    it cannot be told from a channel that hides its history.
    """
    if below is not None and below <= 1:
        return None
    if not ids:
        return None if below is None else IdRange(MessageId(1), MessageId(below - 1))
    high = max(ids) if below is None else MessageId(below - 1)
    return IdRange(min(ids), high)
