"""Marks of a person on a story: saved, done with, followed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.visible import VisibleStory


class Mark(StrEnum):
    """A person's mark on a story."""

    SAVED = "saved"
    DONE = "done"
    """The person has read enough of it, until a post says something new."""
    FOLLOWED = "followed"
    """The person gets an alert for each new post that is no copy."""


@dataclass(frozen=True, slots=True)
class StoryMark:
    """A mark on the story of this post."""

    post_id: PostId
    mark: Mark
    headline: str
    """Of the story when the person marked it."""
    marked_at: datetime


def marks_of(story: VisibleStory, marks: Sequence[StoryMark]) -> frozenset[Mark]:
    """The marks that hold for a story. Being done with it ends with the next post that is no copy."""
    post_ids = {post.post_id for post in story.posts}
    marked_at: dict[Mark, datetime] = {}
    for mark in marks:
        if mark.post_id in post_ids:
            marked_at[mark.mark] = max(mark.marked_at, marked_at.get(mark.mark, mark.marked_at))
    if Mark.DONE in marked_at and story.news_since(marked_at[Mark.DONE]):
        del marked_at[Mark.DONE]
    return frozenset(marked_at)
