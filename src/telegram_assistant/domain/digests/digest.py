"""A digest: what changed for a person since the last one, each sentence with the posts that say it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid5

from telegram_assistant.domain.ids import PostId, TenantId, UserId
from telegram_assistant.domain.stories.reading_time import minutes_to_read
from telegram_assistant.domain.understanding.sentence_checks import NO_CHECKS, SentenceChecks

NAMESPACE = UUID("6f1f4d8e-3a52-4d0c-9a39-0d4be2a7a0c1")


class Novelty(StrEnum):
    """Why a story is in a digest."""

    NEW = "new"
    UPDATED = "grown"
    """It was told before, and there are new facts. Digests are stored with the value."""
    CORRECTED = "corrected"
    """It was told before, and a post of it was edited or deleted since."""


@dataclass(frozen=True, slots=True)
class DigestSentence:
    """A sentence and the posts that say it: word for word in the first of them,
    unless a provider wrote the story.
    """

    text: str
    posts: tuple[PostId, ...]
    others_say: tuple[str, ...] = ()
    """Numbers that other channels give instead."""


@dataclass(frozen=True, slots=True)
class DigestStory:
    """A story of a digest. `posts` are all that were visible, so that the next digest knows it again."""

    novelty: Novelty
    headline: str
    sentences: tuple[DigestSentence, ...]
    channels: tuple[str, ...]
    """The channels that tell the story, the first seen first."""
    first_posted_at: datetime
    posts: tuple[PostId, ...]
    interests: tuple[str, ...] = ()
    """The topics of the person that it touches."""
    model: str = ""
    """The provider's model that wrote the sentences; empty if they stand in the posts word for word."""
    checks: SentenceChecks = NO_CHECKS
    """The sentences of the provider's text that code left out or replaced."""
    before: str = ""
    """The headline until now, where the headline is what is new in a known story."""
    folder: str = ""
    """The folder of most of its channels when the digest was made; empty without one."""

    @property
    def story_id(self) -> PostId:
        return self.posts[0]

    @property
    def text(self) -> str:
        return "\n".join((self.headline, self.before, *(sentence.text for sentence in self.sentences)))


@dataclass(frozen=True, slots=True)
class Digest:
    """The stories of a digest from `since` to `until`, and the number of stories that it leaves out."""

    since: datetime
    until: datetime
    stories: tuple[DigestStory, ...]
    unchanged: int = 0
    """Stories that an earlier digest told, without anything new."""
    beyond: int = 0
    """Stories with less weight than those for which there is room."""
    muted: int = 0

    @property
    def minutes(self) -> int:
        """To read all of it."""
        return minutes_to_read(story.text for story in self.stories)

    @property
    def checks(self) -> SentenceChecks:
        """The checks of all texts that a provider wrote for the digest, added up."""
        return sum((story.checks for story in self.stories), NO_CHECKS)


@dataclass(frozen=True, slots=True)
class StoredDigest:
    """A digest that was made for a person."""

    digest_id: UUID
    made_at: datetime
    seen_at: datetime | None
    digest: Digest


def digest_id_of(tenant_id: TenantId, user_id: UserId, moment: datetime) -> UUID:
    """The same for every process that makes the digest of this person and moment."""
    return uuid5(NAMESPACE, f"{tenant_id}/{user_id}/{moment.isoformat()}")


def delivery_id_of(digest_id: UUID, receiver_id: UUID) -> UUID:
    """The same in every attempt to deliver the digest to the receiver, whichever process makes it."""
    return uuid5(digest_id, str(receiver_id))


def find_covered_stories(
    posts: Sequence[PostId], earlier_digests: Sequence[Digest]
) -> tuple[DigestStory, ...]:
    """The stories of earlier digests that have one of these posts."""
    post_ids = set(posts)
    return tuple(
        story for digest in earlier_digests for story in digest.stories if post_ids & set(story.posts)
    )
