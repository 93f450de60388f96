"""Other channels with the same news as a post: the short line that leads from a post to its story."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.features.stories.stories import visible_stories
from telegram_assistant.stores.postgres.stores import TenantStores

MIN_CHANNELS = 2


@dataclass(frozen=True, slots=True)
class SharedStory:
    """The story of a post that several channels tell."""

    story_id: PostId
    channels: int
    first_channel: str
    earlier_by: timedelta
    """How long before this post the first one was; zero for the first."""


async def shared_stories(post_ids: Sequence[PostId], *, stores: TenantStores) -> dict[PostId, SharedStory]:
    """The stories of those of these posts that at least two channels tell. One query for all of them."""
    stories = await visible_stories(post_ids, stores=stores)
    return {
        post_id: _shared_story_of(post_id, story)
        for post_id, story in stories.items()
        if len(story.channel_ids) >= MIN_CHANNELS
    }


def _shared_story_of(post_id: PostId, story: VisibleStory) -> SharedStory:
    posted_at = next(post.posted_at for post in story.posts if post.post_id == post_id)
    first_post = story.first
    return SharedStory(
        story.story_id, len(story.channel_ids), first_post.channel, posted_at - first_post.posted_at
    )
