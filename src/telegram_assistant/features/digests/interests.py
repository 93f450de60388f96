"""A person's interests: a list that they can read and edit, and what is learnt from their feedback."""

import re
from collections.abc import Sequence
from functools import cache

from telegram_assistant.ai.local.morphology import dictionary
from telegram_assistant.ai.local.name_dictionary import NO_DICTIONARY, NameDictionary
from telegram_assistant.ai.local.names import names_in
from telegram_assistant.ai.local.vocabulary import words_in_other_language
from telegram_assistant.domain.digests.interests import (
    MAX_INTERESTS,
    MAX_TOPIC_LETTERS,
    OWN_WEIGHT,
    Feedback,
    Interest,
    InterestMatch,
    StoryFeedback,
    clamp_weight,
    interest_match_of,
)
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.features.stories.stories import visible_story
from telegram_assistant.features.stories.telling import tell
from telegram_assistant.language.lemmas import lemmas_in
from telegram_assistant.language.russian import analyser
from telegram_assistant.language.topics import TextMemory
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.digests.interests import PersonInterests
from telegram_assistant.stores.postgres.stores import TenantStores

MAX_LEARNT = 3
"""Names that are learnt from one story."""
MAX_HEADLINE = 200
MIN_WORDS = 2
"""Of a tag in the other language, where its own name is missing."""


def match_interests(
    texts: Sequence[str], interests: Sequence[Interest], *, memory: TextMemory | None = None
) -> InterestMatch:
    """Returns which interests a story touches that is told in these texts: two of them are about the topic,
    or the only one in its alphabet. `memory` remembers the texts from call to call.
    """
    text_memory = memory or TextMemory()
    return interest_match_of(
        [
            interest
            for interest in interests
            if sum(text_memory.touches(text, interest.topic) for text in texts)
            >= _enough(texts, interest.topic, text_memory)
            or (interest.weight < 0 and _touches_in_other_language(texts, interest.topic, text_memory))
        ]
    )


def text_without_channel(text: str, channel: str) -> str:
    """The text of a post without the name of its channel, which says nothing about the story."""
    name = re.escape(" ".join(channel.split())).replace(r"\ ", r"\s+")
    return re.sub(rf"(?<!\w){name}(?!\w)", " ", text, flags=re.IGNORECASE) if name else text


def _touches_in_other_language(texts: Sequence[str], topic: str, text_memory: TextMemory) -> bool:
    """Whether the texts are about a disliked topic in the language that it is not written in: by the tag's
    own name, or by two of its words.
    """
    words = words_in_other_language(" ".join(topic.split()))
    other_texts = [text for text in texts if text_memory.is_cyrillic(text) != text_memory.is_cyrillic(topic)]
    touching_count = sum(
        text_memory.touches(text, words[0])
        or sum(text_memory.touches(text, word) for word in words[1:]) >= MIN_WORDS
        for text in other_texts
        if words
    )
    return bool(other_texts) and touching_count >= _enough(texts, words[0] if words else topic, text_memory)


def _enough(texts: Sequence[str], topic: str, text_memory: TextMemory) -> int:
    """A word is found in texts of its own alphabet alone, which must be half of all;
    names are found in both.
    """
    same_alphabet_count = sum(
        text_memory.is_cyrillic(text) == text_memory.is_cyrillic(topic) for text in texts
    )
    return min(2, same_alphabet_count if 2 * same_alphabet_count >= len(texts) else len(texts))


async def write_down(topic: str, *, interests: PersonInterests, weight: float = OWN_WEIGHT) -> None:
    """Adds a topic in the person's own words, or changes its weight."""
    words = " ".join(topic.split())[:MAX_TOPIC_LETTERS]
    if not lemmas_in(words):
        raise Rejected(Reason("topic_empty", "write a topic in a few words, like “bridges” or “city budget”"))
    if not await interests.put(words, clamp_weight(weight)):
        raise Conflicting(
            Reason(
                "topics_full",
                "a list of interests can have {most} topics; remove one first",
                most=MAX_INTERESTS,
            )
        )


async def remove(topic: str, *, interests: PersonInterests) -> None:
    """Raises Missing if the list does not have it."""
    if not await interests.remove(topic):
        raise Missing(Reason("topic_unknown", "your list has no such topic"))


async def load_interests(
    interests: PersonInterests,
) -> tuple[tuple[Interest, ...], tuple[StoryFeedback, ...]]:
    """Everything that is known of a person's interests: the list, and what they said about stories."""
    return await interests.all(), await interests.list_feedback()


async def list_feedback(*, interests: PersonInterests) -> tuple[StoryFeedback, ...]:
    """The person's feedback about stories, the newest first."""
    return await interests.list_feedback()


async def reset_interests(*, interests: PersonInterests) -> None:
    """Forgets everything: what was written down, what was learnt, and what was said about stories."""
    await interests.reset()


async def say(
    post_id: PostId, feedback: Feedback, *, stores: TenantStores, interests: PersonInterests
) -> tuple[str, ...]:
    """Saves the person's feedback about the story of this post. Returns the topics that were learnt from it.

    More replaces less, and the other way round. Raises Missing if the post is not visible, or is in no story.
    """
    story = await visible_story(post_id, stores=stores)
    telling = tell(story)
    text = "\n".join((telling.headline, *(sentence.text for sentence in telling.sentences)))
    topics = _topics(text) if feedback.step else ()
    return await interests.say(
        [post.post_id for post in story.posts], feedback, headline=telling.headline, topics=topics
    )


async def take_back(
    post_id: PostId, feedback: Feedback, *, stores: TenantStores, interests: PersonInterests
) -> None:
    """Undoes what the person said about the story of this post. Raises Missing if they have not said it."""
    try:
        post_ids = [post.post_id for post in (await visible_story(post_id, stores=stores)).posts]
    except Missing:
        post_ids = [post_id]
    if not await interests.take_back(post_ids, feedback):
        raise Missing(Reason("feedback_unknown", "you have not given this feedback on the story"))


async def learn_from_saved(post_id: PostId, text: str, *, interests: PersonInterests) -> tuple[str, ...]:
    """Learns from a post that the person saved. Returns the topics that were learnt."""
    return await interests.say(
        [post_id], Feedback.SAVED, headline=" ".join(text.split())[:MAX_HEADLINE], topics=_topics(text)
    )


def feedback_of(story: VisibleStory, opinions: Sequence[StoryFeedback]) -> frozenset[Feedback]:
    """The person's feedback about a story."""
    post_ids = {post.post_id for post in story.posts}
    return frozenset(opinion.feedback for opinion in opinions if opinion.post_id in post_ids)


def _topics(text: str) -> tuple[str, ...]:
    return tuple(name.text for name in names_in(text, _names())[:MAX_LEARNT])


@cache
def _names() -> NameDictionary:
    words = analyser()
    return NO_DICTIONARY if words is None else dictionary(words)[1]
