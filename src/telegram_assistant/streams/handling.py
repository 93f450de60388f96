"""Calls the handler and derives the outcome of each entry from what the handler does.

returns an event, or several   publish, then acknowledge
returns None                   acknowledge
raises Busy                    pause, then try again; no attempt is used
raises Rejected, or the event  dead letter at once
does not parse
takes too long                 in halves, down to one by one; then after a backoff, no attempt is used
anything else                  delivered again after a backoff; after N attempts, dead letter
the process dies               the same; Redis counts the attempts
"""

import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from pydantic import ValidationError

from telegram_assistant.domain.ids import PostId
from telegram_assistant.errors import Busy, Rejected
from telegram_assistant.events import Event
from telegram_assistant.streams.batch_limit import BatchLimit
from telegram_assistant.streams.deadlines import Deadlines, TookTooLong
from telegram_assistant.streams.entries import DeadLettered, Done, Entry, Failed, HandedBack, Late, Outcome
from telegram_assistant.streams.stage import AnyStage
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import StageMetrics
from telegram_assistant.telemetry.trace_ids import log_with_traces
from telegram_assistant.telemetry.tracing import span, traceparent

log = get_logger()

type Finished = Callable[[Sequence[tuple[PostId, int]]], Awaitable[None]]
"""Called with the revisions that a stage has finished, before they are acknowledged.

Only the first event class of the stage counts.
"""
type ParsedEntry = tuple[Entry, Event]


class Hold(Protocol):
    """Waits because the other side is busy.

    Returns False if the stage is ending and must give up its entries instead.
    """

    async def __call__(self, busy: Busy) -> bool: ...


class Handling:
    """Calls one stage's handler, with time limit, traces, metrics and retries."""

    def __init__(
        self,
        stage: AnyStage,
        collaborators: Mapping[str, object],
        *,
        deadlines: Deadlines,
        batch_limit: BatchLimit,
        hold: Hold,
        metrics: StageMetrics,
        finished: Finished | None = None,
    ) -> None:
        self._stage = stage
        self._collaborators = collaborators
        self._deadlines = deadlines
        self._batch_limit = batch_limit
        self._hold = hold
        self._metrics = metrics
        self._finished = finished
        self._own_name = stage.name.encode()

    async def decide(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Return an outcome for every entry: some need no handler, the handler decides the rest."""
        outcomes: list[Outcome] = []
        parsed_entries: list[ParsedEntry] = []
        for entry in entries:
            if entry.only is not None and entry.only != self._own_name:
                outcomes.append(Done(entry))
            else:
                try:
                    event = entry.source.event.model_validate_json(entry.payload)
                except ValidationError as error:
                    outcomes.append(
                        DeadLettered(
                            entry,
                            f"it is not a valid {entry.source.event.NAME}: {error.error_count()} errors",
                            str(error)[:2000],
                        )
                    )
                    continue
                if entry.deliveries > self._stage.attempts:
                    outcomes.append(self._dead_letter_killer(entry, event))
                else:
                    parsed_entries.append((entry, event))
        outcomes += await self._handle_in_pieces(parsed_entries)
        return outcomes

    def _dead_letter_killer(self, entry: Entry, event: Event) -> DeadLettered:
        """Bury an entry whose process died at each attempt."""
        with log_with_traces({event.post_id: event.trace_id}):
            log.error(
                "buried",
                stage=self._stage.name,
                post_id=event.post_id,
                entry_id=entry.entry_id.decode(),
                why="its process died each time",
            )
        return DeadLettered(
            entry,
            f"it did not survive {self._stage.attempts} attempts: the process died or was killed each time",
        )

    async def _handle_in_pieces(self, parsed_entries: list[ParsedEntry]) -> list[Outcome]:
        """Handle the entries, as many at a time as the batch limit allows by then."""
        outcomes: list[Outcome] = []
        while parsed_entries:
            size = self._batch_limit.size
            piece, parsed_entries = parsed_entries[:size], parsed_entries[size:]
            outcomes += await (self._handle_batch(piece) if len(piece) > 1 else self._handle_one(piece[0]))
        return outcomes

    async def _handle_batch(self, parsed_entries: list[ParsedEntry]) -> list[Outcome]:
        """Handle a batch.

        If it takes too long, handle it in halves: one by one it would cost a slow machine several times as
        much. If it fails, handle its entries one by one, so that a bad entry does not fail its neighbours.
        """
        began = time.monotonic()
        with log_with_traces({event.post_id: event.trace_id for _, event in parsed_entries}):
            try:
                outcomes = await self._attempt(parsed_entries)
            except TookTooLong as error:
                self._batch_limit.halve(len(parsed_entries))
                log.warning(
                    "batch_halved",
                    stage=self._stage.name,
                    size=len(parsed_entries),
                    next_size=self._batch_limit.size,
                    why=str(error),
                )
                handle = self._handle_in_pieces
            except Exception:
                log.warning("batch_split", stage=self._stage.name, size=len(parsed_entries), exc_info=True)
                handle = self._handle_each
            else:
                self._batch_limit.note_success(len(parsed_entries), time.monotonic() - began)
                return outcomes
        return await handle(parsed_entries)

    async def _handle_each(self, parsed_entries: list[ParsedEntry]) -> list[Outcome]:
        return [
            outcome for parsed_entry in parsed_entries for outcome in await self._handle_one(parsed_entry)
        ]

    async def _handle_one(self, parsed_entry: ParsedEntry) -> list[Outcome]:
        entry, event = parsed_entry
        with log_with_traces({event.post_id: event.trace_id}):
            return await self._handle_traced(entry, event)

    async def _handle_traced(self, entry: Entry, event: Event) -> list[Outcome]:
        try:
            return await self._attempt([(entry, event)])
        except Rejected as error:
            return [DeadLettered(entry, str(error), traceback.format_exc())]
        except TookTooLong as error:
            self._metrics.failed.inc()
            log.warning("took_too_long", stage=self._stage.name, post_id=event.post_id, why=str(error))
            return [Late(entry)]
        except Exception as error:
            self._metrics.failed.inc()
            if entry.deliveries >= self._stage.attempts:
                log.exception(
                    "buried", stage=self._stage.name, post_id=event.post_id, attempts=entry.deliveries
                )
                return [DeadLettered(entry, f"{type(error).__name__}: {error}", traceback.format_exc())]
            log.warning(
                "will_retry",
                stage=self._stage.name,
                post_id=event.post_id,
                attempt=entry.deliveries,
                exc_info=True,
            )
            return [Failed(entry)]

    async def _attempt(self, parsed_entries: list[ParsedEntry]) -> list[Outcome]:
        """Call the handler, again after each Busy.

        Hands the entries back if the stage ends during the pause.
        """
        events = [event for _, event in parsed_entries]
        while True:
            try:
                events_out = await self._call(events)
                if self._finished is not None:
                    await self._finished(
                        [
                            (event.post, event.revision)
                            for event in events
                            if isinstance(event, self._stage.consumes[0])
                        ]
                    )
            except Busy as busy:
                if await self._hold(busy):
                    continue
                return [HandedBack(entry) for entry, _ in parsed_entries]
            return self._assign_events(parsed_entries, events_out)

    @staticmethod
    def _assign_events(parsed_entries: list[ParsedEntry], events_out: tuple[Event, ...]) -> list[Outcome]:
        """Assign each published event to the entry it is about, so that it stays in that entry's lane."""
        if not events_out:
            return [Done(entry) for entry, _ in parsed_entries]
        positions = {event.post_id: position for position, (_, event) in enumerate(parsed_entries)}
        shares: list[list[Event]] = [[] for _ in parsed_entries]
        for event in events_out:
            shares[positions.get(event.post_id, 0)].append(event)
        return [Done(entry, tuple(share)) for (entry, _), share in zip(parsed_entries, shares, strict=True)]

    async def _call(self, events: list[Event]) -> tuple[Event, ...]:
        argument: Any = events if self._stage.batch else events[0]
        with span(
            self._stage.name, parent=events[0].trace_id, links=(event.trace_id for event in events[1:])
        ):
            events_out: Any = await self._deadlines.run(self._stage.handler(argument, **self._collaborators))
            if events_out is None:
                return ()
            current_trace = traceparent() or events[0].trace_id
        published = (events_out,) if isinstance(events_out, Event) else tuple(events_out)
        for event in published:
            if type(event) not in self._stage.emits:
                raise TypeError(
                    f"{self._stage.name} returned {type(event).__name__}, which it does not declare in emits"
                )
        own = {event.post_id: event.trace_id for event in events[1:]}  # the span is the first one's
        return tuple(_continue_trace(event, own.get(event.post_id) or current_trace) for event in published)


def _continue_trace(event: Event, current_trace: str | None) -> Event:
    """Continue the trace of the consumed event in the published one, so that one trace spans all stages."""
    return (
        event
        if event.trace_id is not None or current_trace is None
        else event.model_copy(update={"trace_id": current_trace})
    )
