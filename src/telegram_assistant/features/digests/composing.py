"""Composes a digest from the stories of a tenant: what is new, what has new facts, what was corrected;
nothing twice.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from telegram_assistant.domain.digests.digest import (
    Digest,
    DigestSentence,
    DigestStory,
    Novelty,
    find_covered_stories,
)
from telegram_assistant.domain.digests.interests import Interest, InterestMatch
from telegram_assistant.domain.digests.plan import DigestLength
from telegram_assistant.domain.digests.sections import folder_of_story
from telegram_assistant.domain.stories.ranking import weight_of
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.features.digests.interests import match_interests
from telegram_assistant.features.digests.tenant_part import MAX_CHANNELS, TenantPart
from telegram_assistant.features.stories.stories import ListedStory
from telegram_assistant.features.stories.telling import summary_of
from telegram_assistant.features.stories.writing import (
    SummaryWriter,
    load_known_summaries,
    load_materials,
    write_summaries,
)
from telegram_assistant.language.evidence import shared_words
from telegram_assistant.language.names import names_in
from telegram_assistant.language.numbers import numbers_in
from telegram_assistant.language.parsed_text import parse_text
from telegram_assistant.stores.postgres.feed.choices import Mutes
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.summaries.leads import adds_nothing_to
from telegram_assistant.summaries.values import CitedSentence, StorySummary, WrittenSummary

MIN_WORDINGS = 2
KNOWN_SHARE = 0.5
"""Of the words of a sentence that tells something new without a new number or name,
so many were told at most.
"""
WRITING_SECONDS = 120.0
"""How long a digest waits for a provider; stories that it has not
written by then are told in the posts' own words.
"""


async def compose(  # noqa: PLR0913 -- the time, the reader's choices and who writes
    since: datetime,
    *,
    stores: TenantStores,
    now: datetime,
    length: DigestLength = DigestLength.NORMAL,
    language: str | None = None,
    earlier_digests: Sequence[Digest] = (),
    mutes: Mutes | None = None,
    interests: Sequence[Interest] = (),
    writer: SummaryWriter | None = None,
    part: TenantPart | None = None,
) -> Digest:
    """Returns what happened since then, what interests most first. `earlier` are the digests of the last
    week: what they told is not told again. `part` is what others of the tenant have read already.

    `writer` lets a provider sum up the stories; without it only texts that were written before are used.
    """
    own_mutes = mutes or Mutes()
    tenant_part = part or TenantPart(stores, now=now)
    recent = await tenant_part.since(since, mutes=own_mutes, language=language)
    changed_stories = [story for story in recent if story.new or _was_corrected(story.story, since)]
    unmuted_stories = [
        story
        for story in changed_stories
        if not any(word.casefold() in _text_of(story).casefold() for word in own_mutes.words)
    ]
    ranked_stories = await asyncio.to_thread(_by_interest, unmuted_stories, interests, now, tenant_part)
    chosen_stories: list[_ChosenStory] = []
    unchanged_count = beyond_count = 0
    for listed_story, touch in ranked_stories:
        if len(chosen_stories) == length.stories:
            beyond_count += 1
        elif (
            chosen_story := await asyncio.to_thread(
                _choose_story,
                listed_story,
                since=since,
                length=length,
                language=language,
                earlier_digests=earlier_digests,
            )
        ) is None:
            unchanged_count += 1
        else:
            chosen_stories.append(
                replace(chosen_story, entry=replace(chosen_story.entry, interests=touch.topics))
            )
    stories = await _with_texts(chosen_stories, length=length, stores=stores, writer=writer)
    return Digest(
        since,
        now,
        stories,
        unchanged=unchanged_count,
        beyond=beyond_count,
        muted=len(changed_stories) - len(unmuted_stories),
    )


def _by_interest(
    stories: Sequence[ListedStory], interests: Sequence[Interest], now: datetime, part: TenantPart
) -> list[tuple[ListedStory, InterestMatch]]:
    pairs = [
        (
            listed_story,
            match_interests(part.texts_of(listed_story.story), interests, memory=part.texts),
        )
        for listed_story in stories
    ]
    return sorted(
        pairs,
        key=lambda pair: (
            -pair[1].factor * weight_of(pair[0].story, now=now, is_new=True),
            pair[0].story.story_id,
        ),
    )


@dataclass(frozen=True, slots=True)
class _ChosenStory:
    """A story that is told, in the posts' own words so far."""

    entry: DigestStory
    story: VisibleStory
    summary: StorySummary
    earlier_text: str = ""
    """The sentences of earlier digests about the story."""


def _choose_story(
    listed_story: ListedStory,
    *,
    since: datetime,
    length: DigestLength,
    language: str | None,
    earlier_digests: Sequence[Digest],
) -> _ChosenStory | None:
    """None if nobody can be quoted, or if an earlier digest told it and nothing has changed."""
    summary = summary_of(listed_story.story, language=language)
    if summary is None:
        return None
    before = find_covered_stories([post.post_id for post in listed_story.story.posts], earlier_digests)
    earlier_text = "\n".join(story.text for story in before)
    if not before:
        novelty, sentences = Novelty.NEW, summary.sentences
    elif new_sentences := (
        _new_facts(listed_story, earlier_text=earlier_text, language=summary.language)
        or _new_state(listed_story, summary)
    ):
        novelty, sentences = Novelty.UPDATED, new_sentences
    elif _was_corrected(listed_story.story, since):
        novelty, sentences = Novelty.CORRECTED, summary.sentences
    else:
        return None
    news = _news(listed_story, summary, sentences) if novelty is Novelty.UPDATED else ""
    return _ChosenStory(
        _entry(listed_story.story, novelty, summary, sentences, news, length.sentences),
        listed_story.story,
        summary,
        earlier_text,
    )


async def _with_texts(
    choices: Sequence[_ChosenStory],
    *,
    length: DigestLength,
    stores: TenantStores,
    writer: SummaryWriter | None,
) -> tuple[DigestStory, ...]:
    """The stories in a provider's words where there are any, otherwise as they are."""
    materials = await load_materials([(choice.story, choice.summary) for choice in choices], stores=stores)
    if writer is None:
        texts = await load_known_summaries(materials, stores=stores)
    else:
        texts = await write_summaries(
            materials, writer=writer, stores=stores, patience_seconds=WRITING_SECONDS
        )
    return tuple(
        _apply_written_text(choice, texts.get(material.key), length)
        for choice, material in zip(choices, materials, strict=True)
    )


def _apply_written_text(
    choice: _ChosenStory, written_summary: WrittenSummary | None, length: DigestLength
) -> DigestStory:
    """A story with new facts needs sentences that have them; a text without such sentences is not used."""
    if written_summary is None:
        return choice.entry
    sentences = [
        sentence
        for sentence in written_summary.sentences
        if sentence.text.removesuffix(".") != choice.entry.headline
    ]
    if choice.entry.novelty is Novelty.UPDATED:
        sentences = _with_new_facts(sentences, earlier_text=choice.earlier_text)
    if not sentences:
        return replace(choice.entry, checks=written_summary.checks)
    return replace(
        choice.entry,
        sentences=_with_others(sentences[: length.sentences], choice.summary),
        model=written_summary.model,
        checks=written_summary.checks,
    )


def _with_others(sentences: Sequence[CitedSentence], summary: StorySummary) -> tuple[DigestSentence, ...]:
    """Each with the numbers that others give, where they are not told yet."""
    numbers: list[str] = []
    sentences_with_others: list[DigestSentence] = []
    for sentence in sentences:
        other_numbers = tuple(number for number in summary.others_say(sentence.text) if number not in numbers)
        numbers += other_numbers
        sentences_with_others.append(DigestSentence(sentence.text, sentence.posts, other_numbers))
    return tuple(sentences_with_others)


def _new_facts(listed_story: ListedStory, *, earlier_text: str, language: str) -> tuple[CitedSentence, ...]:
    """Sentences of the new posts with a number or a name that the earlier digests did not have;
    otherwise what several owners of channels tell in new words of their own.
    """
    news_story = VisibleStory(listed_story.new, voices=listed_story.story.voices)
    news_summary = summary_of(news_story, language=language) if listed_story.new else None
    if news_summary is None:
        return ()
    sentences = (news_summary.headline, *news_summary.sentences)
    return tuple(
        _with_new_facts(sentences, earlier_text=earlier_text)
        or _in_new_words(sentences, listed_story, earlier_text=earlier_text)
    )


def _new_state(listed_story: ListedStory, summary: StorySummary) -> tuple[CitedSentence, ...]:
    """The headline, if a new post says that the state of the story changed."""
    is_changed = summary.state_at is not None and summary.headline.posts[0] in {
        post.post_id for post in listed_story.new
    }
    return (summary.headline,) if is_changed else ()


def _in_new_words(
    sentences: Sequence[CitedSentence], listed_story: ListedStory, *, earlier_text: str
) -> list[CitedSentence]:
    """The sentences of several wordings that are mostly in new words.

    «Мост открыли раньше срока» is news without a new number or a new name.
    """
    new_post_ids = {post.post_id for post in listed_story.new}
    earlier_words = parse_text(
        "\n".join(
            (
                earlier_text,
                *(post.text for post in listed_story.story.posts if post.post_id not in new_post_ids),
            )
        )
    )
    several = [sentence for sentence in sentences if sentence.wordings >= MIN_WORDINGS]
    return [
        sentence
        for sentence in several
        if shared_words(parse_text(sentence.text).content, earlier_words) <= KNOWN_SHARE
    ]


def _with_new_facts(sentences: Sequence[CitedSentence], *, earlier_text: str) -> list[CitedSentence]:
    known_facts, new_sentences = _facts(earlier_text), list[CitedSentence]()
    for sentence in sentences:
        if new_facts := _facts(sentence.text) - known_facts:
            new_sentences.append(sentence)
            known_facts |= new_facts
    return new_sentences


def _facts(text: str) -> set[str]:
    return {*names_in(text), *(number.value for number in numbers_in(text))}


def _was_corrected(story: VisibleStory, since: datetime) -> bool:
    return any(post.deleted_at and post.deleted_at > since for post in story.posts)


def _text_of(listed_story: ListedStory) -> str:
    return "\n".join(
        (listed_story.telling.headline, *(sentence.text for sentence in listed_story.telling.sentences))
    )


def _news(listed_story: ListedStory, summary: StorySummary, new_sentences: Sequence[CitedSentence]) -> str:
    """The news of a known story: its changed state, the latest of its new posts, or the first new fact."""
    if state := _new_state(listed_story, summary):
        return state[0].text
    new_post_ids = {post.post_id for post in listed_story.new}
    if summary.latest is not None and summary.latest.posts[0] in new_post_ids:
        return summary.latest.text
    return new_sentences[0].text


def _entry(
    story: VisibleStory,
    novelty: Novelty,
    summary: StorySummary,
    sentences: Sequence[CitedSentence],
    news: str,
    max_sentences: int,
) -> DigestStory:
    """An entry about a known story begins with its news, and the old headline stands behind them."""
    old_headline = (summary.before or summary.headline).text
    headline = news or summary.headline.text
    title = parse_text(headline)
    adding_sentences = [
        sentence for sentence in sentences if not adds_nothing_to(parse_text(sentence.text), title)
    ]
    return DigestStory(
        novelty,
        headline.removesuffix("."),
        _with_others(adding_sentences[:max_sentences], summary),
        tuple(post.channel for post in story.first_of_channels[:MAX_CHANNELS]),
        story.first.posted_at,
        tuple(post.post_id for post in story.posts),
        before=old_headline.removesuffix(".") if news and old_headline != headline else "",
        folder=folder_of_story(story),
    )
