"""Says what a story is about in sentences of its posts: without any model,
and only from posts that the tenant sees.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.visible import VisiblePost, VisibleStory
from telegram_assistant.summaries.cleaning import clean_post
from telegram_assistant.summaries.summary import summarise
from telegram_assistant.summaries.values import CitedSentence, StoryPost, StorySummary

MAX_HEADLINE = 120
MAX_SENTENCES = 2
MAX_TRIED = 8
MAX_LETTERS = 800
"""Of a post, where only its first sentences are wanted."""
MAX_CACHED = 500
MAX_CACHED_TEXTS = 5000
NOBODY = PostId(ChannelId(0), MessageId(0))


@dataclass(frozen=True, slots=True)
class StoryTelling:
    """The name of a story, and its first sentences. Cheap enough for a list of stories."""

    headline: str
    sentences: tuple[CitedSentence, ...]


def tell(story: VisibleStory, *, language: str | None = None) -> StoryTelling:
    """In the words of the first post in this language, or else of the first;
    posts that repeat it are cited beside it.
    """
    posts = [post for post in story.posts if not post.deleted_at and not post.is_ad] or list(story.posts)
    posts.sort(
        key=lambda post: (post.language != language if language else False, story.repeats(post), post.place)
    )
    for lead in posts[:MAX_TRIED]:
        sentences = _sentences(lead.text[:MAX_LETTERS])
        if sentences:
            cited = (
                lead.post_id,
                *(
                    post.post_id
                    for post in story.posts
                    if story.repeats(post) and story.follows[post.post_id].other == lead.post_id
                ),
            )
            headline = _shortened(sentences[0])
            rest = sentences[1:] if headline == _bare(sentences[0]) else sentences
            return StoryTelling(
                headline, tuple(CitedSentence(sentence, cited) for sentence in rest[:MAX_SENTENCES])
            )
    return StoryTelling("", ())


def summary_of(story: VisibleStory, *, language: str | None = None) -> StorySummary | None:
    """What is established, disputed, added and corrected.

    Takes some 20 ms: call it in a thread. None if no post says anything.
    """
    return _summarised(tuple(_said(post) for post in story.posts), language)


@lru_cache(MAX_CACHED)
def _summarised(posts: tuple[StoryPost, ...], language: str | None) -> StorySummary | None:
    """Equal visible posts have an equal summary, whoever sees them."""
    return summarise(posts, language=language)


def _said(post: VisiblePost) -> StoryPost:
    return StoryPost(
        post_id=post.post_id,
        channel=post.channel,
        text=post.text,
        posted_at=post.posted_at,
        language=post.language,
        is_edited=post.revision > 1,
        is_deleted=post.deleted_at is not None,
        is_ad=post.is_ad,
    )


def _bare(sentence: str) -> str:
    return sentence.removesuffix(".")


def _shortened(sentence: str) -> str:
    if len(sentence) <= MAX_HEADLINE:
        return _bare(sentence)
    return sentence[:MAX_HEADLINE].rsplit(" ", 1)[0].rstrip(" ,;:–—-(«") + "…"


def words_of(post: VisiblePost) -> str:
    """The first sentence of a post, for a line of a list."""
    return first_sentence(post.text)


def first_sentence(text: str) -> str:
    """Without openings and signatures; the whole text if nothing else is left."""
    sentences = _sentences(text[:MAX_LETTERS])
    return sentences[0] if sentences else " ".join(text.split())


@lru_cache(MAX_CACHED_TEXTS)
def _sentences(text: str) -> tuple[str, ...]:
    """Without openings, signatures and links, whoever has posted them."""
    cleaned = clean_post(
        StoryPost(post_id=NOBODY, channel="", text=text, posted_at=datetime.min.replace(tzinfo=UTC)), {}
    )
    return (cleaned.headline, *cleaned.sentences) if cleaned.headline else cleaned.sentences
