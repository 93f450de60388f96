"""A channel and its reader in memory: pages of five, so that gaps are common.

The reader decides with the code of the product.
"""

import random
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.channels.coverage import (
    IdRange,
    Known,
    closes,
    is_unread,
    proven_by,
    subtract_range,
)
from telegram_assistant.domain.channels.parsing import FIXED_OVERLAP, MAX_OVERLAP, Mode, choose_mode, start_of
from telegram_assistant.domain.ids import MessageId
from telegram_assistant.settings import ParserSettings

PAGE = 5
NOTHING = MessageId(0)
FOREVER = 1_000_000
LATEST = 60
"""Only posts among so many of the newest are deleted: there a deletion may be mistaken for a loss."""
ROUNDS_AMONG_LATEST = 9
SPREES = 0.2
"""The share of rounds in which posts are deleted: people tidy up many posts at once."""
BEGAN = datetime(2026, 11, 1, tzinfo=UTC)
WINDOW = timedelta(hours=24)
SETTINGS = ParserSettings(max_age_hours=24)


class Died(Exception):
    """The process is gone: only landed posts stay."""


@dataclass
class Channel:
    """The posts that exist. Ids only rise, and so do dates."""

    alive: list[MessageId] = field(default_factory=list)
    service: set[MessageId] = field(default_factory=set)
    dates: list[datetime] = field(default_factory=list)

    def publish(self, moment: datetime, *, service: bool) -> None:
        self.dates.append(moment)
        self.alive.append(MessageId(len(self.dates)))
        if service:
            self.service.add(self.alive[-1])

    def date(self, message_id: MessageId) -> datetime:
        return self.dates[message_id - 1]

    def newest(self) -> tuple[Sequence[MessageId], IdRange | None]:
        ids = self.alive[-PAGE:]
        if len(ids) == len(self.alive) and ids:
            return ids, IdRange(MessageId(1), ids[-1])
        return ids, proven_by(ids)

    def above(self, edge: MessageId) -> tuple[Sequence[MessageId], IdRange]:
        first = bisect_right(self.alive, edge)
        ids = self.alive[first : first + PAGE]
        return ids, IdRange(MessageId(edge + 1), ids[-1])

    def below(self, message_id: MessageId) -> tuple[Sequence[MessageId], IdRange | None]:
        end = bisect_left(self.alive, message_id)
        ids = self.alive[max(end - PAGE, 0) : end]
        return ids, proven_by(ids, below_id=message_id)

    def last_before(self, moment: datetime, among: Sequence[MessageId] | None = None) -> MessageId | None:
        ids = self.alive if among is None else among
        older = bisect_left(ids, bisect_left(self.dates, moment) + 1)
        return ids[older - 1] if older else None


@dataclass
class Reader:
    """The poller and the backfiller, their ledger and their marks, as `ingest` and `stores` have them."""

    channel: Channel
    floor: MessageId = NOTHING
    top: MessageId = NOTHING
    unproven: tuple[IdRange, ...] = ()
    stored: set[MessageId] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    """The ids that pages prove, computed without the ledger."""
    mark: datetime | None = None
    last_parsed_at: datetime | None = None
    last_polled_at: datetime | None = None
    pages_to_live: int = FOREVER
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def known(self) -> Known | None:
        if not self.top:
            return None
        return Known(
            self.floor, IdRange(MessageId(self.unproven[0].high + 1 if self.unproven else 1), self.top)
        )

    @property
    def gaps(self) -> tuple[IdRange, ...]:
        """The gaps that the product reports: unproven ranges above the floor, newest first."""
        return tuple(
            IdRange(max(gap.low, self.floor), gap.high) for gap in self.unproven if gap.high >= self.floor
        )

    def poll(self, now: datetime) -> None:
        self.counts["polls"] += 1
        known, (ids, proven) = self.known, self.channel.newest()
        if proven is None:
            return
        mode, _ = choose_mode(
            SETTINGS, last_parsed_at=self.last_parsed_at, last_polled_at=self.last_polled_at, now=now
        )
        edge, floor = self._edge(known, ids, proven, mode, now)
        news = [
            message_id
            for message_id in ids
            if is_unread(message_id, known)
            or mode is Mode.HISTORICAL
            or (self.mark is not None and message_id > edge)
        ]
        self.counts["polls with a hole"] += not closes(proven, edge)
        if not closes(proven, edge) or news or known is None:
            self._land(news, proven, floor)
            self._fill(edge, proven)
            self.last_parsed_at = now
        self.last_polled_at, self.mark = now, None

    def _edge(
        self, known: Known | None, ids: Sequence[MessageId], proven: IdRange, mode: Mode, now: datetime
    ) -> tuple[MessageId, MessageId]:
        """The edge, and the floor."""
        oldest_at = self.channel.date(ids[0])
        long, since = (
            start_of(
                mode,
                mark=self.mark,
                last_parsed_at=self.last_parsed_at,
                overlap=overlap,
                now=now,
                window=WINDOW,
            )
            for overlap in (MAX_OVERLAP, FIXED_OVERLAP)
        )
        if known is None:
            whole = proven.low == 1 or oldest_at <= long
            edge = MessageId(proven.low - 1) if whole else self.channel.last_before(long) or NOTHING
            return edge, MessageId(edge + 1)
        if known.meets(proven) and (proven.low == 1 or oldest_at <= since):
            return MessageId(proven.low - 1), self.floor
        return known.edge(self.channel.last_before(since, among=sorted(self.stored))), self.floor

    def _fill(self, edge: MessageId, newest: IdRange) -> None:
        while not closes(newest, edge):
            ids, proven = self.channel.above(edge)
            self._land(ids, proven, self.floor)
            edge = proven.high
            self.mark = max(self.mark or BEGAN, self.channel.date(edge))

    def repair(self, max_pages: int) -> None:
        """A job of the past, which may end early and goes on another time."""
        self.counts["repairs"] += len(self.gaps)
        self.counts["needless repairs"] += sum(not self._is_missed(gap) for gap in self.gaps)
        for _ in range(max_pages):
            gaps = self.gaps
            if not gaps:
                return
            ids, proven = self.channel.below(MessageId(gaps[0].high + 1))
            self._land(ids, proven, self.floor)

    def _land(self, posts: Sequence[MessageId], proven: IdRange | None, floor: MessageId) -> None:
        if self.pages_to_live == 0:
            raise Died
        self.pages_to_live -= 1
        if proven is None:
            return
        if not self.top:
            self.floor = floor
        if proven.high > self.top:
            self.unproven = (IdRange(MessageId(self.top + 1), proven.high), *self.unproven)
            self.top = proven.high
        self.unproven = subtract_range(self.unproven, proven)
        self.stored |= set(posts)
        self.seen |= set(range(proven.low, proven.high + 1))

    def _is_missed(self, gap: IdRange) -> bool:
        return any(
            message_id in gap and message_id not in self.channel.service for message_id in self.missing()
        )

    def missing(self) -> set[MessageId]:
        """Posts that exist between the floor and the newest id that was seen, but are not stored."""
        first, end = bisect_left(self.channel.alive, self.floor), bisect_right(self.channel.alive, self.top)
        return set(self.channel.alive[first:end]) - self.stored


@dataclass(frozen=True, slots=True)
class Nature:
    """How a channel lives, and what befalls its reader."""

    deleted: float
    service: float
    lost_polls: float
    deaths: float
    deeper: float = 0.05
    """Somebody wants more of the past."""
    repairs: float = 0.5


def live(channel: Channel, reader: Reader, nature: Nature, rng: random.Random, now: datetime) -> None:
    """One round: posts come and go, and a poll is lost, dies on its way, or succeeds."""
    for number in range(rng.choice((0, 0, 0, 1, 2, 4, 8, 15, 30))):
        channel.publish(now + timedelta(seconds=number), service=rng.random() < nature.service)
    if rng.random() < SPREES:
        latest = bisect_right(channel.alive, len(channel.dates) - LATEST)
        channel.alive[latest:] = [
            message_id
            for message_id in channel.alive[latest:]
            if rng.random() >= nature.deleted / SPREES / ROUNDS_AMONG_LATEST
        ]
    if rng.random() < nature.lost_polls:
        return
    reader.pages_to_live = rng.choice((0, 1, 1, 2, 4)) if rng.random() < nature.deaths else FOREVER
    with suppress(Died):
        reader.poll(now + timedelta(minutes=1))
    if rng.random() < 0.3:
        reader.mark = None  # Redis was emptied
    if reader.top and rng.random() < nature.deeper:
        reader.floor = MessageId(max(1, reader.floor - rng.randrange(40)))
