"""A person's interests: a list that they can read and edit, and what is learnt from their feedback."""

from collections.abc import Sequence
from functools import cache

from telegram_assistant.ai.local.morphology import dictionary
from telegram_assistant.ai.local.names import NO_DICTIONARY, NameDictionary, names_in
from telegram_assistant.domain.people.interests import (
    MAX_INTERESTS,
    MAX_TOPIC_LETTERS,
    OWN_WEIGHT,
    Feedback,
    Interest,
    Touched,
    clamped,
    touched_by,
)
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.language.lemmas import lemmas_in
from telegram_assistant.language.russian import analyser
from telegram_assistant.language.topics import touches
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.people.interests import PersonInterests

MAX_LEARNT = 3
"""Names that are learnt from one headline."""


def touched(texts: Sequence[str], interests: Sequence[Interest]) -> Touched:
    """Returns which interests a story touches that is told in these texts: two of them, or its only one, are about the topic."""
    enough = min(2, len(texts))
    return touched_by([one for one in interests if sum(touches(text, one.topic) for text in texts) >= enough])


async def write_down(topic: str, *, interests: PersonInterests, weight: float = OWN_WEIGHT) -> None:
    """Adds a topic in the person's own words, or changes its weight."""
    words = " ".join(topic.split())[:MAX_TOPIC_LETTERS]
    if not lemmas_in(words):
        raise Rejected(Reason("topic_empty", "write a topic in a few words, like “bridges” or “city budget”"))
    if not await interests.put(words, clamped(weight)):
        raise Conflicting(Reason("topics_full", "a list of interests holds {most} topics; remove one first", most=MAX_INTERESTS))


async def remove(topic: str, *, interests: PersonInterests) -> None:
    """Raises Missing if the list does not have it."""
    if not await interests.remove(topic):
        raise Missing(Reason("topic_unknown", "your list has no such topic"))


async def learn(text: str, feedback: Feedback, *, interests: PersonInterests) -> tuple[str, ...]:
    """Learns from what a person said about a story with this headline. Returns the topics that changed."""
    topics = tuple(one.text for one in names_in(text, _names())[:MAX_LEARNT])
    await interests.learn(topics, feedback.step, why=" ".join(text.split())[:200])
    return topics


@cache
def _names() -> NameDictionary:
    words = analyser()
    return NO_DICTIONARY if words is None else dictionary(words)[1]
