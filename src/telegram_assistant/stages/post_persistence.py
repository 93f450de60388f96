"""post_persistence: complete what follows from a landed post. posts.parsed -> saved, nothing told."""

from telegram_assistant.domain.language import language_of
from telegram_assistant.domain.links import urls_of
from telegram_assistant.events import PostParsed
from telegram_assistant.stores.postgres.posts import Derived, Posts
from telegram_assistant.streams.stage import stage


@stage(consumes=PostParsed, batch=200, concurrency=2, timeout_seconds=60)
async def post_persistence(events: list[PostParsed], *, posts: Posts) -> None:
    """All from the stored rows: what was deleted meanwhile is passed over, what was edited is taken as it is now."""
    stored = await posts.load(list({event.post for event in events}))
    await posts.save_derived(
        [Derived(one.post, one.revision, language_of(one.post.text), urls_of(one.post.text, one.post.entities)) for one in stored]
    )
