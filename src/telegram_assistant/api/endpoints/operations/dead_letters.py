"""Dead letters: events that a stage could not process. For the operator."""

from datetime import datetime
from typing import Annotated

from fastapi import Path, Query
from pydantic import TypeAdapter

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    MAX_ID,
    CursorText,
    Id,
    Limit,
    PageResponse,
    ResponseModel,
    Storable,
    read_cursor,
    write_cursor,
)
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.operations.dead_letters import discard, inspect, list_letters, replay
from telegram_assistant.stores.postgres.pipeline.dead_letters import DeadLetter

area = Area("Dead letters", "Events that a stage could not process. For the operator only.")

CURSOR = TypeAdapter(tuple[Id])
Number = Annotated[int, Path(ge=1, le=MAX_ID, description="`number` of the dead letter.", examples=[7])]
LINE_EXAMPLE = {
    "number": 7,
    "stage": "tagging",
    "stream": "stream:posts:parsed",
    "post_id": "1234567890/42",
    "reason": "the event does not parse",
    "attempts": 1,
    "created_at": "2026-11-15T08:00:00Z",
}


class DeadLetterResponse(ResponseModel):
    """A dead letter."""

    number: int
    stage: str
    stream: str
    post_id: str | None
    reason: str
    attempts: int
    created_at: datetime


class DeadLetterDetailsResponse(ResponseModel):
    """A dead letter with its payload and traceback. Bytes of the payload that are not UTF-8 are replaced."""

    letter: DeadLetterResponse
    entry_id: str
    payload: str
    traceback: str | None


class DeadLettersResponse(PageResponse):
    """A page of dead letters, newest first."""

    items: list[DeadLetterResponse]


@area.get("/dead-letters", scope=KeyScope.OPERATE, example={"items": [LINE_EXAMPLE], "next": None})
async def list_dead_letters(
    context: Context,
    stage: Annotated[
        Storable | None, Query(max_length=100, description="Only dead letters of this stage.")
    ] = None,
    limit: Limit = 50,
    cursor: CursorText = None,
) -> DeadLettersResponse:
    """List dead letters, newest first."""
    position = read_cursor(cursor, CURSOR)
    page = await list_letters(
        letters=context.app.api.dead_letters,
        stage=stage,
        limit=limit,
        before=position[0] if position else None,
    )
    return DeadLettersResponse(
        items=[_brief(letter) for letter in page.letters], next=write_cursor(page.next) if page.next else None
    )


@area.get(
    "/dead-letters/{number}",
    scope=KeyScope.OPERATE,
    example={"letter": LINE_EXAMPLE, "entry_id": "1763193600000-0", "payload": "{}", "traceback": None},
)
async def get_dead_letter(context: Context, number: Number) -> DeadLetterDetailsResponse:
    """Get a dead letter with its payload and traceback."""
    return _full(await inspect(number, letters=context.app.api.dead_letters))


@area.post("/dead-letters/{number}/replay", scope=KeyScope.OPERATE, example=LINE_EXAMPLE)
async def replay_dead_letter(context: Context, number: Number) -> DeadLetterResponse:
    """Replay a dead letter: send it back to the stage that failed, and to no other."""
    partition_count = context.app.settings.streams.partitions
    letter = await replay(
        number, letters=context.app.api.dead_letters, redis=context.app.redis, partition_count=partition_count
    )
    context.note(stage=letter.stage, reason=letter.reason)
    return _brief(letter)


@area.post("/dead-letters/{number}/discard", scope=KeyScope.OPERATE, example=LINE_EXAMPLE)
async def discard_dead_letter(context: Context, number: Number) -> DeadLetterResponse:
    """Discard a dead letter.

    Its post stays as it is and is not announced again.
    """
    letter = await discard(number, letters=context.app.api.dead_letters, redis=context.app.redis)
    context.note(stage=letter.stage, reason=letter.reason)
    return _brief(letter)


def _brief(letter: DeadLetter) -> DeadLetterResponse:
    return DeadLetterResponse(
        number=letter.dead_letter_id,
        stage=letter.stage,
        stream=letter.stream,
        post_id=None if letter.channel_id is None else f"{letter.channel_id}/{letter.message_id}",
        reason=letter.reason,
        attempts=letter.attempts,
        created_at=letter.created_at,
    )


def _full(letter: DeadLetter) -> DeadLetterDetailsResponse:
    payload = letter.payload.decode("utf-8", "replace")
    return DeadLetterDetailsResponse(
        letter=_brief(letter), entry_id=letter.entry_id, payload=payload, traceback=letter.traceback
    )
