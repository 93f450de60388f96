"""tagging: tags every post. posts.parsed -> posts.tagged, for every post."""

from telegram_assistant.domain.understanding.policy import Urgency
from telegram_assistant.errors import Busy
from telegram_assistant.events import PostParsed, PostTagged, Trigger
from telegram_assistant.stores.postgres.posts.posts import Posts
from telegram_assistant.streams.stage import stage
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.understanding.post_tags import Tagger

log = get_logger()


@stage(consumes=PostParsed, emits=PostTagged, batch=100, concurrency=8, timeout_seconds=60)
async def tagging(events: list[PostParsed], *, posts: Posts, tagger: Tagger) -> list[PostTagged]:
    """Emits one event for each post, with the local tags.

    Tags by a provider are only in the store, for tenants that may see them.
    """
    tags: dict[str, tuple[str, ...]] = {}
    try:
        understood_tags = await tagger.tag(
            await posts.load(list({event.post for event in events})), urgency=Urgency.LIVE
        )
        tags = {
            str(post_id): result.local.tags
            for post_id, result in understood_tags.items()
            if result.local is not None
        }
    except Busy:
        raise
    except Exception:
        if len(events) > 1:
            raise  # the runtime retries them one by one
        log.exception(
            "post_not_tagged",
            post_id=events[0].post_id,
            what_to_do="the post continues without tags; report this bug",
        )
    return [
        PostTagged.about(
            event.post,
            event.revision,
            occurred_at=event.occurred_at,
            trigger=Trigger.INITIAL,
            tags=tags.get(event.post_id, ()),
        )
        for event in events
    ]
