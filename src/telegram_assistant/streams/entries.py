"""An entry of a stream while a stage has it in hand, and what becomes of it."""

from typing import NamedTuple

from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import Event

PAYLOAD = b"event"
ONLY = b"only"
"""A replayed entry names the stage it is for; all others pass over it."""


class StreamSource(NamedTuple):
    """One stream that a stage reads: its key, its lane, its partition, and the class of its events."""

    key: str
    lane: Lane
    partition: int
    event: type[Event]


class Entry(NamedTuple):
    """One delivery. `deliveries` is Redis's own count, this one included."""

    source: StreamSource
    entry_id: bytes
    payload: bytes
    only: bytes | None
    deliveries: int


class Done(NamedTuple):
    """Tell what there is to tell, then acknowledge: both or neither."""

    entry: Entry
    told: tuple[Event, ...] = ()


class Failed(NamedTuple):
    """It rests, and comes back."""

    entry: Entry


class HandedBack(NamedTuple):
    """We cannot finish it; somebody else begins at once, and no attempt is used up."""

    entry: Entry


class Buried(NamedTuple):
    """It goes to the dead letters."""

    entry: Entry
    reason: str
    traceback: str = ""


type Outcome = Done | Failed | HandedBack | Buried
