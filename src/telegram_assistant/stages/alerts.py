"""alerts: raises the alerts of watches. posts.indexed -> alerts and their deliveries in PostgreSQL; emits nothing."""

from telegram_assistant.domain.posts.post import PostKind
from telegram_assistant.errors import Busy
from telegram_assistant.events import PostIndexed
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.posts.posts import Posts, derived_without_names
from telegram_assistant.stores.postgres.watches.matching import WatchMatching
from telegram_assistant.streams.stage import stage

NOT_GROUPED = Reason("posts_not_grouped", "the stage stories has not grouped these posts yet")
LOOK_AGAIN_SECONDS = 0.5
WITHOUT_STORY = frozenset({PostKind.SERVICE, PostKind.UNREADABLE})


@stage(consumes=PostIndexed, batch=100, concurrency=2, timeout_seconds=60)
async def alerts(events: list[PostIndexed], *, posts: Posts, watch_matching: WatchMatching) -> None:
    """Looks at the current state of each post. New posts, edits and deletions all arrive as revisions of a post.

    A watch tells once of a story, so new posts wait until they are grouped, as long as any post is.
    """
    stored = await posts.load(list({event.post for event in events}))
    grouped = [one.post.id for one in stored if one.post.text.strip() and one.post.kind not in WITHOUT_STORY and one.deleted_at is None]
    if await watch_matching.await_grouping(grouped):
        raise Busy(NOT_GROUPED, retry_after_seconds=LOOK_AGAIN_SECONDS)
    await watch_matching.raise_alerts([derived_without_names(one) for one in stored])
