"""Says what a story is about in sentences of its posts: without any model, and only from posts that the tenant sees."""

import re
from dataclasses import dataclass
from functools import lru_cache

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.visible import StoryPost, VisibleStory

MAX_HEADLINE = 120
MAX_SENTENCES = 3
MIN_LETTERS = 20
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'»”)]*\s+(?=[\"'«“(]?[A-ZА-ЯЁ0-9])|\n+")
_MARKS = re.compile(r"^[^\w\"'«“(#@]+|[\s#@]+$")
MAX_CACHED = 2000


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence, and the posts that say it."""

    text: str
    posts: tuple[PostId, ...]


@dataclass(frozen=True, slots=True)
class StoryTelling:
    """What the posts of a story say."""

    headline: str
    sentences: tuple[CitedSentence, ...]


def tell(story: VisibleStory) -> StoryTelling:
    """The first post that has words gives the headline and the sentences; its copies are cited beside it."""
    return _tell(_key(story))


type _Key = tuple[tuple[PostId, str, bool, PostId | None], ...]


def _key(story: VisibleStory) -> _Key:
    """All that the telling depends on: the visible posts with their present texts."""
    return tuple(
        (post.post_id, post.text, post.deleted_at is not None, story.follows[post.post_id].other if story.repeats(post) else None)
        for post in story.posts
    )


@lru_cache(MAX_CACHED)
def _tell(key: _Key) -> StoryTelling:
    told = [(post_id, sentences) for post_id, text, is_deleted, _ in key if not is_deleted and (sentences := sentences_of(text))]
    told = told or [(post_id, sentences) for post_id, text, _, _ in key if (sentences := sentences_of(text))]
    if not told:
        return StoryTelling("", ())
    lead, sentences = told[0]
    cited = (lead, *(post_id for post_id, _, is_deleted, repeated in key if repeated == lead and not is_deleted))
    headline = _shortened(sentences[0], MAX_HEADLINE)
    body = sentences[1:] if headline == sentences[0] else sentences
    return StoryTelling(headline, tuple(CitedSentence(one, cited) for one in body[:MAX_SENTENCES]))


def sentences_of(text: str) -> list[str]:
    """The sentences that say something; lines of hashtags, links and signatures say nothing."""
    found = (_MARKS.sub("", part).strip() for part in _SENTENCE_END.split(text))
    return [" ".join(one.split()) for one in found if len(one) >= MIN_LETTERS and not one.startswith(("#", "@", "http"))]


def _shortened(text: str, letters: int) -> str:
    if len(text) <= letters:
        return text.removesuffix(".")
    return text[:letters].rsplit(" ", 1)[0].rstrip(" ,;:–—-(«") + "…"


def words_of(post: StoryPost) -> str:
    """The first sentence of a post, for a line of a list."""
    sentences = sentences_of(post.text)
    return sentences[0] if sentences else " ".join(post.text.split())
