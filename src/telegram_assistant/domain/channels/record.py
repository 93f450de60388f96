"""The record of a channel: what it was first with, took from others, corrected, changed and deleted.

Every number counts posts that the tenant sees, so each can be looked up. There is no total: a score would
hide what it is made of.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.stories.visible import VisiblePost, VisibleStory

MIN_OWNERS = 2
"""A story of one owner has nobody who could be first."""


class RecordFact(StrEnum):
    """A fact that a record counts."""

    FIRST = "first"
    """Stories that it told before the channels of all other owners."""
    TAKEN = "taken"
    """Posts that forward or copy a post of another channel."""
    CORRECTED = "corrected"
    """Posts with a correction that says so."""
    EDITED = "edited"
    """Edits that changed what a post says, without a word about it."""
    DELETED = "deleted"
    """Posts that were deleted."""
    DENIED = "denied"
    """Posts about which another channel later wrote that they are denied."""


STORED_FACTS = frozenset({RecordFact.FIRST, RecordFact.CORRECTED, RecordFact.DENIED})
"""Facts whose posts are stored with the record; those of the others are read when somebody asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRecord:
    """The record of a channel between two moments. An album is one post."""

    channel_id: ChannelId
    since: datetime
    counted_at: datetime
    posts: int = 0
    stories: int = 0
    """Stories of at least two owners that it told."""
    first: int = 0
    forwarded: int = 0
    copied: int = 0
    """Without forwards."""
    corrected: int = 0
    edited: int = 0
    deleted: int = 0
    denied: int = 0

    @property
    def taken(self) -> int:
        return self.forwarded + self.copied

    @property
    def taken_share(self) -> float | None:
        return self.taken / self.posts if self.posts else None


@dataclass(frozen=True, slots=True)
class RecordedPost:
    """A post behind a number; `other` is the next channel's post, or the one with the denial."""

    fact: RecordFact
    post: PostId
    other: PostId | None = None


def tellers_of(story: VisibleStory, since: datetime) -> tuple[ChannelId, ...]:
    """The channels for whose records the story counts: it began since then, and several owners tell it."""
    post_ids = [post.post_id for post in story.posts]
    if story.first.posted_at < since or story.voices.count_owners(post_ids) < MIN_OWNERS:
        return ()
    return story.channel_ids


def first_report(story: VisibleStory) -> RecordedPost | None:
    """The first post of the story and the first one of another owner; None if both came at once."""
    owner_id = story.voices.owner_of(story.first.channel_id)
    following = next(
        (post for post in story.posts if story.voices.owner_of(post.channel_id) != owner_id), None
    )
    if following is None or following.posted_at <= story.first.posted_at:
        return None
    return RecordedPost(RecordFact.FIRST, story.first.post_id, following.post_id)


def pairs_of_owners(
    story: VisibleStory, later_posts: Iterable[VisiblePost]
) -> Iterator[tuple[VisiblePost, VisiblePost]]:
    """Each of the later posts with the earlier ones of other owners, in other words, to which strong links
    lead.
    """
    voices, groups = story.voices, story.groups
    for post in later_posts:
        for earlier_post in story.posts:
            if earlier_post.place >= post.place:
                break
            is_other = voices.owner_of(earlier_post.channel_id) != voices.owner_of(post.channel_id)
            is_close = groups.get(earlier_post.post_id) == groups.get(post.post_id)
            if (
                is_other
                and is_close
                and voices.wordings.get(earlier_post.post_id) != voices.wordings.get(post.post_id)
            ):
                yield earlier_post, post
