"""A person's marks on a story: saved, done, followed."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.domain.digests.interests import StoryFeedback
from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.stories.marks import Mark, StoryMark
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.errors import Missing
from telegram_assistant.features.stories.stories import visible_stories, visible_story
from telegram_assistant.features.stories.telling import StoryTelling, tell
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.stories.marks import FollowedStory, PersonStoryMarks, StoryFollowers

UNDO_OFFERED = timedelta(minutes=2)
"""How long pages offer to take back the last mark; its own button does so always."""
NOT_MARKED = Reason("story_not_marked", "you have not put this mark on the story")


async def mark_story(post_id: PostId, mark: Mark, *, stores: TenantStores, marks: PersonStoryMarks) -> None:
    """Marks the story of this post. Raises Missing if the post is not visible, or is in no story."""
    story = await visible_story(post_id, stores=stores)
    headline = (await asyncio.to_thread(tell, story)).headline
    await marks.put([post.post_id for post in story.posts], mark, headline=headline)


async def unmark_story(post_id: PostId, mark: Mark, *, stores: TenantStores, marks: PersonStoryMarks) -> None:
    """Takes a mark off the story of this post. Raises Missing if it has none."""
    try:
        post_ids = [post.post_id for post in (await visible_story(post_id, stores=stores)).posts]
    except Missing:
        post_ids = [post_id]
    if not await marks.remove(post_ids, mark):
        raise Missing(NOT_MARKED)


async def list_marks(*, marks: PersonStoryMarks) -> tuple[StoryMark, ...]:
    """The newest first."""
    return await marks.newest()


async def marks_and_feedback(
    *, marks: PersonStoryMarks
) -> tuple[tuple[StoryMark, ...], tuple[StoryFeedback, ...]]:
    """The person's marks and feedback on stories; each the newest first."""
    return await marks.with_feedback()


def latest_mark(marks: Sequence[StoryMark], *, now: datetime) -> StoryMark | None:
    """The last mark, as long as pages offer to take it back."""
    return marks[0] if marks and now - marks[0].marked_at < UNDO_OFFERED else None


@dataclass(frozen=True, slots=True)
class MarkedStory:
    """A story with the mark that brought it to a list."""

    mark: StoryMark
    story: VisibleStory
    telling: StoryTelling


@dataclass(frozen=True, slots=True)
class MarkedPage:
    """Stories with a mark, the last marked first; `next` is None on the last page."""

    stories: tuple[MarkedStory, ...]
    next: datetime | None


async def marked_stories(
    mark: Mark,
    *,
    stores: TenantStores,
    marks: PersonStoryMarks,
    limit: int,
    before: datetime | None = None,
    language: str | None = None,
) -> MarkedPage:
    """Stories that the person marked so and still sees, as they are told now."""
    newest = await marks.newest(mark=mark, limit=limit + 1, before=before)
    page = newest[:limit]
    stories = await visible_stories([story_mark.post_id for story_mark in page], stores=stores)

    def tell_each() -> tuple[MarkedStory, ...]:
        return tuple(
            MarkedStory(story_mark, story, tell(story, language=language))
            for story_mark in page
            if (story := stories.get(story_mark.post_id))
        )

    return MarkedPage(await asyncio.to_thread(tell_each), page[-1].marked_at if len(newest) > limit else None)


async def raise_followed(
    *,
    followers: StoryFollowers,
    tenant: Callable[[TenantId], TenantStores],
    tenant_id: TenantId | None = None,
) -> int:
    """Raises an alert for each new post, no copy, of a story that somebody of the tenant, or of any, follows:
    as their tenant sees it. Returns how many are new.
    """
    by_tenant: dict[TenantId, list[FollowedStory]] = {}
    for followed_story in await followers.list_changed(tenant_id):
        by_tenant.setdefault(followed_story.tenant_id, []).append(followed_story)
    raised_count = 0
    for following_id, followed_stories in by_tenant.items():
        stories = await visible_stories(
            [followed_story.post_id for followed_story in followed_stories], stores=tenant(following_id)
        )
        for followed_story in followed_stories:
            story = stories.get(followed_story.post_id)
            news = story.news_since(followed_story.followed_at) if story else ()
            raised_count += await followers.raise_alerts(followed_story, news)
    return raised_count
