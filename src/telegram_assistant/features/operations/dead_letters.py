"""Dead letters: list, inspect, replay and discard them."""

from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError

from telegram_assistant.errors import Missing
from telegram_assistant.events import Event
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.pipeline.dead_letters import DeadLetter, DeadLetters
from telegram_assistant.stores.redis.client import Redis, await_reply
from telegram_assistant.streams.dead_letters import delete_letter, replay_entry


@dataclass(frozen=True, slots=True)
class LetterPage:
    """A page of dead letters, newest first; `next` is None on the last page."""

    letters: tuple[DeadLetter, ...]
    next: int | None


async def list_letters(
    *, letters: DeadLetters, stage: str | None = None, limit: int = 100, before: int | None = None
) -> LetterPage:
    """Returns the dead letters of one stage or of all; `before` is the last one of the previous page."""
    newest = await letters.newest(stage, limit=limit + 1, before=before)
    return LetterPage(newest[:limit], newest[limit - 1].dead_letter_id if len(newest) > limit else None)


async def replay(
    dead_letter_id: int, *, letters: DeadLetters, redis: Redis, partition_count: int
) -> DeadLetter:
    """Sends it back to the stage that failed, and to no other stage that reads the same stream."""
    letter = await inspect(dead_letter_id, letters=letters)
    channel_id = letter.channel_id or 0
    await await_reply(
        replay_entry(
            redis,
            stage=letter.stage,
            stream=letter.stream,
            payload=letter.payload,
            channel_id=channel_id,
            partitions=partition_count,
        )
    )
    await _remove(letter, letters, redis)
    return letter


async def discard(dead_letter_id: int, *, letters: DeadLetters, redis: Redis) -> DeadLetter:
    """Deletes it. The post stays as it is and is not announced again."""
    letter = await inspect(dead_letter_id, letters=letters)
    revision = None
    with suppress(ValidationError):  # a payload that is not an event belongs to no post
        revision = Event.model_validate_json(letter.payload).revision
    await _remove(letter, letters, redis, given_up_revision=revision)
    return letter


async def inspect(dead_letter_id: int, *, letters: DeadLetters) -> DeadLetter:
    """Returns a dead letter with all its details. Raises Missing if there is none with this number."""
    letter = await letters.get(dead_letter_id)
    if letter is None:
        raise Missing(
            Reason(
                "dead_letter_unknown",
                "there is no dead letter {dead_letter_id}",
                dead_letter_id=dead_letter_id,
            )
        )
    return letter


async def _remove(
    letter: DeadLetter, letters: DeadLetters, redis: Redis, *, given_up_revision: int | None = None
) -> None:
    await await_reply(delete_letter(redis, stage=letter.stage, entry_id=letter.entry_id))
    await letters.remove(letter.dead_letter_id, given_up_revision=given_up_revision)
