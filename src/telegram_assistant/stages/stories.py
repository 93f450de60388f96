"""stories: groups posts that tell the same. posts.indexed -> posts.grouped, stories.changed.

Every post passes, also one that belongs to no story.
"""

from datetime import UTC, datetime

from telegram_assistant.domain.stories.story import StoryChange
from telegram_assistant.events import PostGrouped, PostIndexed, StoryChanged
from telegram_assistant.streams.stage import stage
from telegram_assistant.understanding.stories import StoryBuilder

OWN_STORY = frozenset({StoryChange.CREATED, StoryChange.JOINED})
"""Changes that name the story of their own post; the others name a story that the post has changed."""


@stage(consumes=PostIndexed, emits=(PostGrouped, StoryChanged), batch=200, concurrency=1, timeout_seconds=120)
async def stories(
    events: list[PostIndexed], *, story_builder: StoryBuilder
) -> list[PostGrouped | StoryChanged]:
    """Groups the current state of each post, not the state at the time of the event."""
    newest = {event.post: event for event in sorted(events, key=lambda event: event.revision)}
    changes = await story_builder.group(list(newest), now=datetime.now(UTC))
    stories_of_posts = {change.post: str(change.story_id) for change in changes if change.change in OWN_STORY}
    grouped_events = [
        PostGrouped.about(
            post_id, event.revision, occurred_at=event.occurred_at, story_id=stories_of_posts.get(post_id)
        )
        for post_id, event in newest.items()
    ]
    changed_posts = [
        StoryChanged.about(
            change.post,
            newest[change.post].revision,
            occurred_at=newest[change.post].occurred_at,
            story_id=str(change.story_id),
            change=change.change,
        )
        for change in changes
    ]
    return [*grouped_events, *changed_posts]
