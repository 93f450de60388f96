"""A stream entry while a stage holds it, and the outcomes it can have."""

from typing import NamedTuple

from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import Event

PAYLOAD = b"event"
ONLY = b"only"
"""Field of a replayed entry: the stage it is for. All other stages skip it."""


class StreamSource(NamedTuple):
    """One stream that a stage reads: its key, lane, partition and event class."""

    key: str
    lane: Lane
    partition: int
    event: type[Event]


class Entry(NamedTuple):
    """One delivery. `deliveries` is Redis's own count and includes this delivery."""

    source: StreamSource
    entry_id: bytes
    payload: bytes
    only: bytes | None
    deliveries: int


class Done(NamedTuple):
    """Publish `events` and acknowledge the entry, both or neither."""

    entry: Entry
    events: tuple[Event, ...] = ()


class Failed(NamedTuple):
    """The entry waits for its backoff, then is delivered again."""

    entry: Entry


class HandedBack(NamedTuple):
    """This process cannot finish the entry. Another one may take it at once, and no attempt is used up."""

    entry: Entry


class Late(NamedTuple):
    """The entry took too long. It waits for its backoff.

    No attempt is used up, because the machine may be slow.
    """

    entry: Entry


class DeadLettered(NamedTuple):
    """The entry goes to the dead letters."""

    entry: Entry
    reason: str
    traceback: str = ""


type Outcome = Done | Failed | HandedBack | Late | DeadLettered
