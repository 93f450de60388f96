"""The posts of a story in order of publication, each with its forwards and copies folded under it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.visible import VisiblePost, VisibleStory


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A post that is no forward or copy, and those that repeat it or each other, oldest first."""

    post: VisiblePost
    link: Link | None
    """How the post follows an earlier one."""
    repeats: tuple[VisiblePost, ...]
    forwards: int
    """Of the repeats; the others are copies."""

    @property
    def copies(self) -> int:
        return len(self.repeats) - self.forwards

    @property
    def span(self) -> timedelta:
        """From the post to the last one that repeats it."""
        return self.repeats[-1].posted_at - self.post.posted_at if self.repeats else timedelta()


def timeline_of(story: VisibleStory) -> tuple[TimelineRow, ...]:
    """An album is one post. A forward or copy of a post that is not there has a row of its own."""
    entries = {post.entry: post for post in story.entries}
    by_id = {post.post_id: entries[post.entry] for post in story.posts}
    repeats: dict[PostId, list[VisiblePost]] = {}
    for post in entries.values():
        repeats.setdefault(_original_of(post, story, by_id).post_id, []).append(post)
    return tuple(
        _row(post, story, tuple(other for other in repeats[post.post_id] if other is not post))
        for post in entries.values()
        if post.post_id in repeats
    )


def place_of_visit(rows: Sequence[TimelineRow], seen_at: datetime) -> int | None:
    """The number of the first row on the other side of a visit, in the order of the rows; None if all rows
    are on one side.
    """
    is_later = [row.post.posted_at > seen_at for row in rows]
    return is_later.index(not is_later[0]) if len(set(is_later)) > 1 else None


def _original_of(post: VisiblePost, story: VisibleStory, by_id: dict[PostId, VisiblePost]) -> VisiblePost:
    """The first post of a chain of forwards and copies; links lead to earlier posts, so it ends."""
    while story.repeats(post):
        earlier_post = by_id[story.follows[post.post_id].other]
        if earlier_post.place >= post.place:
            break
        post = earlier_post
    return post


def _row(post: VisiblePost, story: VisibleStory, repeats: tuple[VisiblePost, ...]) -> TimelineRow:
    forward_count = sum(story.follows[other.post_id].kind is LinkKind.FORWARD for other in repeats)
    return TimelineRow(post, story.follows.get(post.post_id), repeats, forward_count)
