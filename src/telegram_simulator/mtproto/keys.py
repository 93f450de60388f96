"""Auth keys and what the server remembers with each: who is logged in, the layer, the sessions,
the connections.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from telegram_simulator.mtproto.crypto import key_id_of

MAX_STRANGERS = 10_000
MAX_SESSIONS = 64
REMEMBERED_IDS = 4096


class Line(Protocol):
    """The part of a connection that its key uses."""

    @property
    def peer(self) -> str: ...
    @property
    def calls(self) -> int: ...


class Session:
    """One client session: message ids in both directions. It outlives its connection."""

    def __init__(self, session_id: bytes) -> None:
        self.session_id = session_id
        self.greeted = False
        self._last_msg_id = 0
        self._content_sent = 0
        self._seen: set[int] = set()
        self._seen_order: deque[int] = deque()

    def next_msg_id(self, now: float, *, is_reply: bool) -> int:
        """Time-based, strictly increasing, 01 in its low bits for a reply and 11 otherwise."""
        msg_id = (int(now * 2**32) & ~3) | (1 if is_reply else 3)
        if msg_id <= self._last_msg_id:
            msg_id = ((self._last_msg_id >> 2) + 1) << 2 | (1 if is_reply else 3)
        self._last_msg_id = msg_id
        return msg_id

    def next_seq_no(self, *, is_content: bool) -> int:
        number = self._content_sent * 2 + (1 if is_content else 0)
        self._content_sent += is_content
        return number

    def forget_time(self) -> None:
        """After the clock was set back, ids start again from the new time."""
        self._last_msg_id = 0

    def is_new(self, msg_id: int) -> bool:
        """False when this message was seen before: it is processed once."""
        if msg_id in self._seen:
            return False
        self._seen.add(msg_id)
        self._seen_order.append(msg_id)
        if len(self._seen_order) > REMEMBERED_IDS:
            self._seen.discard(self._seen_order.popleft())
        return True


@dataclass(slots=True, eq=False)
class KeyRecord:
    """One auth key with its state. Layer and login belong to the key, not to a connection."""

    key: bytes
    dc_id: int
    key_id: bytes = b""
    phone: str | None = None
    awaits_password: str | None = None
    """The phone that gave its code but not its password yet."""
    layer: int | None = None
    dead: tuple[int, str] | None = None
    """The error that every call gets, once the key is revoked or was used twice at a time."""
    sessions: "OrderedDict[bytes, Session]" = field(default_factory=OrderedDict)
    connections: list[Line] = field(default_factory=list)
    double_use: int = 0

    def session(self, session_id: bytes) -> Session:
        session = self.sessions.pop(session_id, None) or Session(session_id)
        self.sessions[session_id] = session
        if len(self.sessions) > MAX_SESSIONS:
            self.sessions.popitem(last=False)
        return session


class Keys:
    """All auth keys of all data centres."""

    def __init__(self) -> None:
        self._known: dict[bytes, KeyRecord] = {}
        self._strangers: OrderedDict[bytes, None] = OrderedDict()

    def add(self, key: bytes, dc_id: int, *, phone: str | None = None) -> KeyRecord:
        record = KeyRecord(key, dc_id, key_id_of(key), phone)
        self._known[record.key_id] = record
        if phone is None:
            self._strangers[record.key_id] = None
            while len(self._strangers) > MAX_STRANGERS:
                oldest, _ = self._strangers.popitem(last=False)
                self._known.pop(oldest, None)
        return record

    def get(self, key_id: bytes) -> KeyRecord | None:
        return self._known.get(key_id)

    def log_in(self, record: KeyRecord, phone: str) -> None:
        record.phone = phone
        self._strangers.pop(record.key_id, None)

    def forget(self, record: KeyRecord) -> None:
        self._known.pop(record.key_id, None)
        self._strangers.pop(record.key_id, None)

    def records_of(self, phone: str) -> Iterator[KeyRecord]:
        return (record for record in list(self._known.values()) if record.phone == phone)

    def __iter__(self) -> Iterator[KeyRecord]:
        return iter(list(self._known.values()))

    def __len__(self) -> int:
        return len(self._known)
