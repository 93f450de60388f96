"""Inputs and outputs of a summary. Plain frozen values; nothing here loads or stores anything."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.understanding.sentence_checks import NO_CHECKS, SentenceChecks


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryPost:
    """A post of the story as its reader may see it. Leave out posts that the reader may not see."""

    post_id: PostId
    channel: str
    """The channel's title."""
    text: str
    posted_at: datetime
    language: str | None = None
    is_edited: bool = False
    is_deleted: bool = False
    """Deleted at Telegram. It supports nothing any more, and the summary says that it is gone."""
    is_ad: bool = False
    views: int | None = None
    wording: PostId | None = None
    """The first post of the story in the same words; None if it is this one."""
    owner: ChannelId | None = None
    """The channel that names the network of its channel; None if the channel is in none."""
    group: int = 0
    """Equal for posts that hold together by strong links: only such posts can contradict each other."""


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence, and the posts that say it: the one whose words it has first, then one per further channel,
    oldest first.
    """

    text: str
    posts: tuple[PostId, ...]
    wordings: int = 1
    """How many of the posts say it in words of their own, by different owners; the others repeat it."""
    source: str = ""
    """The source that every wording of several names."""


@dataclass(frozen=True, slots=True)
class LatestSentence:
    """The newest sentence that no earlier post has, with its post, its channel and its time."""

    text: str
    posts: tuple[PostId, ...]
    channel: str
    posted_at: datetime


@dataclass(frozen=True, slots=True)
class NumberClaim:
    """A number as some channels give it."""

    number: str
    """As it is written, with its noun: «7 человек»."""
    posts: tuple[PostId, ...]
    """One per channel, oldest first."""

    def is_in(self, text: str) -> bool:
        """Whether a text has this number, and not only some of its figures."""
        return re.search(rf"(?<![\d.,]){re.escape(self.number)}(?!\d|[.,]\d)", text) is not None


@dataclass(frozen=True, slots=True)
class Dispute:
    """Channels give different numbers of the same thing.

    `stands` is what most of them say now; `others` are the rest, most channels first.
    """

    sentence: CitedSentence
    """The sentence with the number that stands."""
    stands: NumberClaim
    others: tuple[NumberClaim, ...]


@dataclass(frozen=True, slots=True)
class Addition:
    """A sentence that one channel alone adds."""

    channel: str
    sentence: CitedSentence


class ChangeSort(StrEnum):
    """How a channel changed what it had said, or contradicts the others."""

    CORRECTION = "correction"
    UPDATE = "update"
    DENIAL = "denial"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class StoryCorrection:
    """A correction, an update, a denial, or a post that was deleted; `text` is the sentence,
    empty for a deleted post without one.
    """

    kind: ChangeSort
    channel: str
    text: str
    post_id: PostId
    posted_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StorySummary:
    """The summary of a story, in one language. Every sentence stands in the post that it cites first."""

    language: str
    headline: CitedSentence
    lead: CitedSentence | None
    """The sentence that tells most of what happened beside the headline; one channel may be alone with it.

    None if nobody says more.
    """
    in_own_words: tuple[CitedSentence, ...]
    """Other statements of at least two owners of channels, each in words of their own."""
    disputed: tuple[Dispute, ...]
    added: tuple[Addition, ...]
    changes: tuple[StoryCorrection, ...]
    """Oldest first."""
    channels: int
    """How many channels tell it, in any language."""
    before: CitedSentence | None = None
    """The headline until the state changed."""
    state_at: datetime | None = None
    """When the post that the headline is from changed the state; None if the headline tells no change."""
    latest: LatestSentence | None = None
    """The newest news, where the headline does not tell it."""

    @property
    def known(self) -> tuple[CitedSentence, ...]:
        """The headline, the lead, and what others say in their own words."""
        return (self.headline, *((self.lead,) if self.lead else ()), *self.in_own_words)

    @property
    def disputed_sentences(self) -> tuple[CitedSentence, ...]:
        """The sentences of the disputes, without the headlines, which stand above them."""
        return tuple(dispute.sentence for dispute in self.disputed if self.introduces(dispute))

    def introduces(self, dispute: Dispute) -> bool:
        """Whether its sentence is to be shown above its numbers: not if it stands there as a headline,
        or for an earlier dispute about another number of it.
        """
        headlines = {line.text for line in (self.headline, self.before) if line is not None}
        text = dispute.sentence.text
        return text not in headlines and dispute is next(
            other for other in self.disputed if other.sentence.text == text
        )

    @property
    def sentences(self) -> tuple[CitedSentence, ...]:
        """All sentences beside the headline in a digest's order: what happened, disputed numbers,
        what several say in their own words, what one channel adds.
        """
        lead = (self.lead,) if self.lead else ()
        disputed = [
            dispute.sentence
            for dispute in self.disputed
            if not any(dispute.stands.is_in(other.text) for other in (self.headline, *lead))
        ]
        sentences = {
            sentence.text: sentence
            for sentence in (
                *lead,
                *disputed,
                *self.in_own_words,
                *(addition.sentence for addition in self.added),
            )
        }
        sentences.pop(self.headline.text, None)
        return tuple(sentences.values())

    def others_say(self, text: str) -> tuple[str, ...]:
        """The numbers of other channels, if the text has one on which they differ."""
        claims = [(dispute.stands, *dispute.others) for dispute in self.disputed]
        return tuple(
            claim.number
            for sides in claims
            if any(side.is_in(text) for side in sides)
            for claim in sides
            if not claim.is_in(text)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSummary:
    """A provider's summary of a story, as far as the posts support it.

    Without sentences nothing of it was supported.
    """

    sentences: tuple[CitedSentence, ...]
    provider: str
    model: str
    unit: str
    cost_micro: int
    checks: SentenceChecks = NO_CHECKS
