"""alerts: raises the alerts of watches. posts.grouped -> alerts and their deliveries in PostgreSQL;
emits nothing.
"""

from telegram_assistant.events import PostGrouped
from telegram_assistant.stores.postgres.posts.posts import Posts, derived_without_names
from telegram_assistant.stores.postgres.watches.matching import WatchMatching
from telegram_assistant.streams.stage import stage


@stage(consumes=PostGrouped, batch=100, concurrency=4, timeout_seconds=60)
async def alerts(events: list[PostGrouped], *, posts: Posts, watch_matching: WatchMatching) -> None:
    """Looks at the current state of each post and of its story.

    New posts, edits and deletions all arrive as revisions of a post.
    """
    stored_posts = await posts.load(list({event.post for event in events}))
    await watch_matching.raise_alerts([derived_without_names(post) for post in stored_posts])
