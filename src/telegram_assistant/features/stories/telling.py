"""Says what a story is about in sentences of its posts: without any model,
and only from posts that the tenant sees.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.keeping import kept_with_story
from telegram_assistant.domain.stories.visible import VisiblePost, VisibleStory
from telegram_assistant.domain.stories.wordings import Voices
from telegram_assistant.language.parsed_text import parse_text
from telegram_assistant.summaries.change_words import change_words_in
from telegram_assistant.summaries.cleaning import clean_post
from telegram_assistant.summaries.state_words import StateWord, find_state_word
from telegram_assistant.summaries.states import FIRST_SENTENCES, MIN_AFTER_FIRST
from telegram_assistant.summaries.summary import summarise
from telegram_assistant.summaries.values import CitedSentence, StoryPost, StorySummary

MAX_HEADLINE = 120
MAX_SENTENCES = 2
MAX_TRIED = 8
MAX_LETTERS = 800
"""Of a post, where only its first sentences are wanted."""
MAX_CACHED = 500
MAX_CACHED_TEXTS = 5000
NO_POST = PostId(ChannelId(0), MessageId(0))


@dataclass(frozen=True, slots=True)
class StoryTelling:
    """The name of a story, and its first sentences. Cheap enough for a list of stories."""

    headline: str
    sentences: tuple[CitedSentence, ...]
    before: str = ""
    """The headline until the state of the story changed."""
    state_at: datetime | None = None
    """When it changed to what the headline says; None if it did not."""
    word: StateWord | None = None
    """The state of the story, if its posts say it beyond doubt."""


def tell(story: VisibleStory, *, language: str | None = None) -> StoryTelling:
    """In the words of the first post in this language, or else of the first; posts that repeat it are cited
    beside it. A changed state is the headline.
    """
    return _tell(story, language)


@kept_with_story
def _tell(story: VisibleStory, language: str | None) -> StoryTelling:
    telling = _tell_state(story, language) or _tell_beginning(story, language)
    return replace(telling, word=find_state_word(story, telling.headline, telling.before))


def _tell_state(story: VisibleStory, language: str | None) -> StoryTelling | None:
    """None if the state has not changed."""
    summary = summary_of(story, language=language) if _may_have_changed(story) else None
    if summary is None or summary.state_at is None or summary.before is None:
        return None
    return StoryTelling(
        _shorten_sentence(summary.headline.text),
        () if summary.lead is None else (summary.lead,),
        _shorten_sentence(summary.before.text),
        summary.state_at,
    )


def _may_have_changed(story: VisibleStory) -> bool:
    """Whether a later post begins with a word of change: others need no summary to know their state."""
    since = story.first.posted_at + MIN_AFTER_FIRST
    return any(
        change_words_in(parse_text(sentence))
        for post in story.posts
        if post.posted_at >= since
        for sentence in _sentences(post.text[:MAX_LETTERS])[:FIRST_SENTENCES]
    )


def _tell_beginning(story: VisibleStory, language: str | None) -> StoryTelling:
    posts = [post for post in story.posts if not post.deleted_at and not post.is_ad] or list(story.posts)
    posts.sort(
        key=lambda post: (post.language != language if language else False, story.repeats(post), post.place)
    )
    for lead_post in posts[:MAX_TRIED]:
        sentences = _sentences(lead_post.own_text[:MAX_LETTERS])
        if sentences:
            cited_post_ids = (
                lead_post.post_id,
                *(
                    post.post_id
                    for post in story.posts
                    if story.repeats(post) and story.follows[post.post_id].other == lead_post.post_id
                ),
            )
            headline = _shorten_sentence(sentences[0])
            later_sentences = sentences[1:] if headline == _bare(sentences[0]) else sentences
            return StoryTelling(
                headline,
                tuple(
                    CitedSentence(sentence, cited_post_ids) for sentence in later_sentences[:MAX_SENTENCES]
                ),
            )
    return StoryTelling("", ())


def summary_of(story: VisibleStory, *, language: str | None = None) -> StorySummary | None:
    """A summary of the facts that channels state in their own words, dispute, add and correct.

    Takes some 20 ms: call it in a thread. None if no post says anything.
    """
    posts = tuple(
        _story_post_of(post, story.voices, story.groups.get(post.post_id, 0)) for post in story.posts
    )
    return _summarise_posts(posts, language)


@lru_cache(MAX_CACHED)
def _summarise_posts(posts: tuple[StoryPost, ...], language: str | None) -> StorySummary | None:
    """Equal visible posts have an equal summary, whoever sees them."""
    return summarise(posts, language=language)


def _story_post_of(post: VisiblePost, voices: Voices, group: int) -> StoryPost:
    return StoryPost(
        post_id=post.post_id,
        channel=post.channel,
        text=post.own_text,
        posted_at=post.posted_at,
        language=post.language,
        is_edited=post.revision > 1,
        is_deleted=post.deleted_at is not None,
        is_ad=post.is_ad,
        wording=voices.wordings.get(post.post_id),
        owner=voices.owners.get(post.channel_id),
        group=group,
    )


def _bare(sentence: str) -> str:
    return sentence.removesuffix(".")


def _shorten_sentence(sentence: str) -> str:
    if len(sentence) <= MAX_HEADLINE:
        return _bare(sentence)
    return sentence[:MAX_HEADLINE].rsplit(" ", 1)[0].rstrip(" ,;:–—-(«") + "…"


@dataclass(frozen=True, slots=True)
class NewestState:
    """The newest thing that a story says."""

    sentence: CitedSentence
    posts: tuple[VisiblePost, ...]
    """Those that say it, the one whose words it has first."""

    @property
    def posted_at(self) -> datetime:
        return self.posts[0].posted_at


def newest_state_of(story: VisibleStory, summary: StorySummary) -> NewestState | None:
    """The newest of what changed the state and what was said last. A changed state is told by the lead, if
    that is as new. None if nothing new was said after the first reports.
    """
    posts = {post.post_id: post for post in story.posts}
    latest, state_at = summary.latest, summary.state_at
    if latest is not None and (state_at is None or latest.posted_at >= state_at):
        sentence = CitedSentence(latest.text, latest.posts)
    elif state_at is not None:
        lead_sentence = summary.lead
        is_new = lead_sentence is not None and posts[lead_sentence.posts[0]].posted_at >= state_at
        sentence = lead_sentence if lead_sentence is not None and is_new else summary.headline
    else:
        return None
    return NewestState(sentence, tuple(posts[post_id] for post_id in sentence.posts))


def words_of(post: VisiblePost) -> str:
    """The first sentence of a post, for a line of a list."""
    return first_sentence(post.own_text)


def first_sentence(text: str) -> str:
    """Without openings and signatures; the whole text if nothing else is left."""
    sentences = _sentences(text[:MAX_LETTERS])
    return sentences[0] if sentences else " ".join(text.split())


@lru_cache(MAX_CACHED_TEXTS)
def _sentences(text: str) -> tuple[str, ...]:
    """Without openings, signatures and links, whoever has posted them."""
    cleaned_post = clean_post(
        StoryPost(post_id=NO_POST, channel="", text=text, posted_at=datetime.min.replace(tzinfo=UTC))
    )
    return (
        (cleaned_post.headline, *cleaned_post.sentences) if cleaned_post.headline else cleaned_post.sentences
    )
