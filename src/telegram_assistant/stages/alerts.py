"""alerts: raises the alerts of watches. posts.indexed -> alerts and their deliveries in PostgreSQL; emits nothing."""

from telegram_assistant.events import PostIndexed
from telegram_assistant.stores.postgres.posts.posts import Posts, derived_of
from telegram_assistant.stores.postgres.watches.matching import WatchMatching
from telegram_assistant.streams.stage import stage


@stage(consumes=PostIndexed, batch=100, concurrency=2, timeout_seconds=60)
async def alerts(events: list[PostIndexed], *, posts: Posts, watch_matching: WatchMatching) -> None:
    """Looks at the current state of each post. New posts, edits and deletions all arrive as revisions of a post."""
    stored = await posts.load(list({event.post for event in events}))
    await watch_matching.raise_alerts([derived_of(one) for one in stored])
