"""One story in both worlds: what A sees of it, and what B adds."""

from collections.abc import Sequence
from uuid import UUID

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.story import LinkKind
from testkit.stories import store_story
from tests.conftest import Admin

STORY = UUID(int=0x5700)


async def tell_story(admin: Admin, channels: Sequence[ChannelId], message_id: MessageId) -> None:
    """Three of A's channels tell the same; the fourth is in the story
    only because of a post that A does not see.
    """
    posts = [PostId(channel_id, message_id) for channel_id in channels]
    links = [(post, posts[0], LinkKind.REWRITE, 3.0, False) for post in posts[1:3]]
    await store_story(admin, posts, links, story_id=STORY)


async def join_story(
    admin: Admin, shared: Sequence[ChannelId], own: Sequence[ChannelId], message_id: MessageId
) -> None:
    """Both of B's own channels tell it, too: one in public, which joins what A sees apart,
    and one privately.
    """
    public, private = (PostId(channel_id, message_id) for channel_id in own)
    await admin.execute("UPDATE channels SET is_private = true WHERE channel_id = $1", private.channel_id)
    links = [(public, PostId(channel_id, message_id), LinkKind.COPY, 9.0, False) for channel_id in shared]
    links += [(private, PostId(channel_id, message_id), LinkKind.COPY, 9.0, True) for channel_id in shared]
    await store_story(admin, [public, private], links, story_id=STORY)
