"""What becomes of entries: the handler is called, and what it does decides the verdict.

returns an event, or several   publish, then acknowledge
returns None                   acknowledge
raises Busy                    hold, pause, try again; no attempt is used
raises Rejected, or the event  dead letter at once
does not parse
anything else, or a timeout    comes back with backoff; after N attempts, dead letter
the process dies               the same, counted by Redis
"""

import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from pydantic import ValidationError

from telegram_assistant.domain.ids import PostId
from telegram_assistant.errors import Busy, Rejected
from telegram_assistant.events import Event
from telegram_assistant.streams.deadlines import Deadlines
from telegram_assistant.streams.entries import Buried, Done, Entry, Failed, HandedBack, Outcome
from telegram_assistant.streams.stage import AnyStage
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import StageMetrics
from telegram_assistant.telemetry.tracing import span, traceparent

log = get_logger()

type Finished = Callable[[Sequence[tuple[PostId, int]]], Awaitable[None]]
"""Told which revisions a stage has passed, before they are acknowledged. What it consumes besides, like albums, counts revisions of its own."""
type Understood = tuple[Entry, Event]


class Hold(Protocol):
    """Wait because the other side is busy; False when it is time to leave instead."""

    async def __call__(self, busy: Busy) -> bool: ...


class Handling:
    """One stage's handler, and everything around a call of it."""

    def __init__(
        self,
        stage: AnyStage,
        collaborators: Mapping[str, object],
        *,
        deadlines: Deadlines,
        hold: Hold,
        metrics: StageMetrics,
        finished: Finished | None = None,
    ) -> None:
        self._stage = stage
        self._collaborators = collaborators
        self._deadlines = deadlines
        self._hold = hold
        self._metrics = metrics
        self._finished = finished
        self._own_name = stage.name.encode()

    async def decide(self, entries: Sequence[Entry]) -> list[Outcome]:
        """An outcome for every entry: some at once, the rest by the handler."""
        outcomes: list[Outcome] = []
        understood: list[Understood] = []
        for entry in entries:
            if entry.only is not None and entry.only != self._own_name:
                outcomes.append(Done(entry))
            elif entry.deliveries > self._stage.attempts:
                log.error("buried", stage=self._stage.name, entry_id=entry.entry_id.decode(), why="its process died each time")
                outcomes.append(Buried(entry, f"it did not survive {self._stage.attempts} attempts: the process died or was killed each time"))
            else:
                try:
                    understood.append((entry, entry.source.event.model_validate_json(entry.payload)))
                except ValidationError as error:
                    outcomes.append(Buried(entry, f"it is no {entry.source.event.NAME}: {error.error_count()} mistakes", str(error)[:2000]))
        if understood:
            outcomes += await (self._together(understood) if len(understood) > 1 else self._alone(understood[0]))
        return outcomes

    async def _together(self, understood: list[Understood]) -> list[Outcome]:
        """A batch; if it fails, its entries one by one, so that a bad one does not fail its neighbours."""
        try:
            return await self._attempt(understood)
        except Exception:
            log.warning("batch_split", stage=self._stage.name, size=len(understood), exc_info=True)
        return [outcome for one in understood for outcome in await self._alone(one)]

    async def _alone(self, one: Understood) -> list[Outcome]:
        entry, event = one
        try:
            return await self._attempt([one])
        except Rejected as error:
            return [Buried(entry, str(error), traceback.format_exc())]
        except Exception as error:
            self._metrics.failed.inc()
            if entry.deliveries >= self._stage.attempts:
                log.exception("buried", stage=self._stage.name, post_id=event.post_id, attempts=entry.deliveries)
                return [Buried(entry, f"{type(error).__name__}: {error}", traceback.format_exc())]
            log.warning("will_retry", stage=self._stage.name, post_id=event.post_id, attempt=entry.deliveries, exc_info=True)
            return [Failed(entry)]

    async def _attempt(self, understood: list[Understood]) -> list[Outcome]:
        """Call the handler, as often as the other side is busy. What is held when we leave is handed back."""
        events = [event for _, event in understood]
        while True:
            try:
                told = await self._call(events)
                if self._finished is not None:
                    await self._finished([(event.post, event.revision) for event in events if isinstance(event, self._stage.consumes[0])])
            except Busy as busy:
                if await self._hold(busy):
                    continue
                return [HandedBack(entry) for entry, _ in understood]
            return self._done(understood, told)

    @staticmethod
    def _done(understood: list[Understood], told: tuple[Event, ...]) -> list[Outcome]:
        """What is told goes out with the entry that it is about, and so stays in that entry's lane."""
        if not told:
            return [Done(entry) for entry, _ in understood]
        places = {event.post_id: place for place, (_, event) in enumerate(understood)}
        shares: list[list[Event]] = [[] for _ in understood]
        for event in told:
            shares[places.get(event.post_id, 0)].append(event)
        return [Done(entry, tuple(share)) for (entry, _), share in zip(understood, shares, strict=True)]

    async def _call(self, events: list[Event]) -> tuple[Event, ...]:
        given: Any = events if self._stage.batch else events[0]
        with span(self._stage.name, parent=events[0].trace_id, links=(event.trace_id for event in events[1:])):
            told: Any = await self._deadlines.keep(self._stage.handler(given, **self._collaborators))
            if told is None:
                return ()
            here = traceparent() or events[0].trace_id
        events_told = (told,) if isinstance(told, Event) else tuple(told)
        for event in events_told:
            if type(event) not in self._stage.emits:
                raise TypeError(f"{self._stage.name} tells {type(event).__name__}, which it does not declare in emits")
        own = {event.post_id: event.trace_id for event in events[1:]}  # the span is the first one's
        return tuple(_traced(event, own.get(event.post_id) or here) for event in events_told)


def _traced(event: Event, here: str | None) -> Event:
    """One line through all stages: what is told continues the trace of what was heard."""
    return event if event.trace_id is not None or here is None else event.model_copy(update={"trace_id": here})
