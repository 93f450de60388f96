"""Events about stories."""

from datetime import datetime
from typing import ClassVar, Self

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.story import StoryChange
from telegram_assistant.events.envelope import Event, event_id_of


class PostGrouped(Event):
    """The stage `stories` is done with a post, or nobody waits for it any longer."""

    NAME: ClassVar[str] = "posts.grouped"
    story_id: str | None = None
    """None if the post belongs to no story, or could not be grouped in time."""

    @classmethod
    def about(
        cls,
        post_id: PostId,
        revision: int,
        *,
        occurred_at: datetime,
        trace_id: str | None = None,
        trigger: str = "",
        **facts: object,
    ) -> Self:
        """One event for each story that a revision of a post is found to be in, and one without any."""
        event = super().about(
            post_id, revision, occurred_at=occurred_at, trace_id=trace_id, trigger=trigger, **facts
        )
        return event.model_copy(
            update={"event_id": event_id_of(cls.NAME, post_id, revision, event.story_id or "")}
        )


class StoryChanged(Event):
    """A story began, grew, took in others or lost posts, because of this post."""

    NAME: ClassVar[str] = "stories.changed"
    story_id: str = ""
    change: StoryChange = StoryChange.CREATED

    @classmethod
    def about(
        cls,
        post_id: PostId,
        revision: int,
        *,
        occurred_at: datetime,
        trace_id: str | None = None,
        trigger: str = "",
        **facts: object,
    ) -> Self:
        """One event for each story and kind of change that a revision of a post causes."""
        event = super().about(
            post_id, revision, occurred_at=occurred_at, trace_id=trace_id, trigger=trigger, **facts
        )
        return event.model_copy(
            update={
                "event_id": event_id_of(cls.NAME, post_id, revision, f"{event.story_id} {event.change.value}")
            }
        )
