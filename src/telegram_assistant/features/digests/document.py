"""A digest as a document, for mails, feeds and messages."""

from collections.abc import Callable, Iterator
from datetime import tzinfo

from telegram_assistant.documents.document import Block, BlockKind, Document, Span, block
from telegram_assistant.domain.digests.digest import Digest, DigestSentence, DigestStory, Novelty
from telegram_assistant.domain.digests.sections import Section, has_folders, sections_of
from telegram_assistant.domain.ids import PostId
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.translation import translate

OTHER_CHANNELS = Reason("digest_other_channels", "Other channels")
MAX_CITED = 3
"""Posts that a sentence leads to; the page shows more."""
NOVELTIES = {
    Novelty.UPDATED: Reason("digest_grown", "new facts"),
    Novelty.CORRECTED: Reason("digest_corrected", "corrected"),
}

type PostLink = Callable[[PostId], str]
"""The address of a post, and of the story that begins with it."""


def digest_document(
    digest: Digest, *, language: str, zone: tzinfo, story_link: PostLink, post_link: PostLink
) -> Document:
    """The digest with the posts that say each sentence, in the words of `language`."""

    def in_words(reason: Reason) -> str:
        return translate(reason, language, zone=zone)

    sections = sections_of(digest.stories, lambda story: story.folder)
    return (
        block(BlockKind.TITLE, in_words(digest_title(digest))),
        block(BlockKind.NOTE, in_words(_span_of(digest))),
        *(
            part
            for section in sections
            for part in (
                *_section_heading(section, in_words, is_needed=has_folders(sections)),
                *(
                    line
                    for story in section.entries
                    for line in _story(story, in_words, story_link, post_link)
                ),
            )
        ),
    )


def digest_title(digest: Digest) -> Reason:
    return Reason("digest_title", "Digest of {until:%-d %B}", until=digest.until)


def digest_subject(digest: Digest) -> Reason:
    """The first headline, and how many stories follow it."""
    first_headline = digest.stories[0].headline
    if len(digest.stories) == 1:
        return quote(first_headline)
    return Reason(
        "digest_subject",
        "{first} and {count} more story",
        "{first} and {count} more stories",
        first=first_headline,
        count=len(digest.stories) - 1,
    )


def _span_of(digest: Digest) -> Reason:
    count = len(digest.stories)
    return Reason(
        "digest_span",
        "{count} story new or changed since {since:%-d %B, %H:%M}",
        "{count} stories new or changed since {since:%-d %B, %H:%M}",
        count=count,
        since=digest.since,
    )


def _section_heading(
    section: Section[DigestStory], in_words: Callable[[Reason], str], *, is_needed: bool
) -> tuple[Block, ...]:
    name = quote(section.folder) if section.folder else OTHER_CHANNELS
    return (block(BlockKind.PART, in_words(name)),) if is_needed else ()


def _story(
    story: DigestStory, in_words: Callable[[Reason], str], story_link: PostLink, post_link: PostLink
) -> Iterator[Block]:
    mark = f" ({in_words(NOVELTIES[story.novelty])})" if story.novelty in NOVELTIES else ""
    yield block(
        BlockKind.HEADING, Span(story.headline, story_link(story.story_id)), *([mark] if mark else [])
    )
    if story.before:
        before = Reason("digest_before", "before: {headline}", headline=story.before)
        yield block(BlockKind.NOTE, in_words(before))
    if story.sentences:
        yield Block(BlockKind.TEXT, tuple(_sentences(story.sentences, in_words, post_link)))
    facts = [
        ", ".join(story.channels),
        in_words(Reason("digest_first", "first {at:%-d %B, %H:%M}", at=story.first_posted_at)),
    ]
    if story.model:
        facts.append(in_words(Reason("digest_written_by", "written by {model}", model=story.model)))
    if story.interests:
        facts.append(
            in_words(Reason("digest_because", "matches: {topics}", topics=", ".join(story.interests)))
        )
    yield block(BlockKind.NOTE, " · ".join(facts))


def _sentences(
    sentences: tuple[DigestSentence, ...], in_words: Callable[[Reason], str], post_link: PostLink
) -> Iterator[Span]:
    for sentence_index, sentence in enumerate(sentences):
        yield Span(f"{' ' if sentence_index else ''}{sentence.text}")
        for post_id in sentence.posts[:MAX_CITED]:
            yield Span(" ")
            yield Span("", post_link(post_id))
        if sentence.others_say:
            others_reason = Reason(
                "digest_others_say", "others report {numbers}", numbers=", ".join(sentence.others_say)
            )
            yield Span(f" ({in_words(others_reason)})")
