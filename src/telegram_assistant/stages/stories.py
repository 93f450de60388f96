"""stories: groups posts that tell the same. posts.indexed -> stories.changed. Every post passes, also one that belongs to no story."""

from datetime import UTC, datetime

from telegram_assistant.events import PostIndexed, StoryChanged
from telegram_assistant.streams.stage import stage
from telegram_assistant.understanding.stories import StoryBuilder


@stage(consumes=PostIndexed, emits=StoryChanged, batch=200, concurrency=1, timeout_seconds=120)
async def stories(events: list[PostIndexed], *, story_builder: StoryBuilder) -> list[StoryChanged]:
    """Groups the current state of each post, not the state at the time of the event."""
    about = {event.post: event for event in events}
    changes = await story_builder.group(list(about), now=datetime.now(UTC))
    return [
        StoryChanged.about(one.post, about[one.post].revision, occurred_at=about[one.post].occurred_at, story_id=str(one.story_id), change=one.change)
        for one in changes
    ]
