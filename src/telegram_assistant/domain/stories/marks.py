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
    posts = {post.post_id for post in story.posts}
    marked: dict[Mark, datetime] = {}
    for mark in marks:
        if mark.post_id in posts:
            marked[mark.mark] = max(mark.marked_at, marked.get(mark.mark, mark.marked_at))
    if Mark.DONE in marked and story.news_since(marked[Mark.DONE]):
        del marked[Mark.DONE]
    return frozenset(marked)
