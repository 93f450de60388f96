"""retagging: tags a post again after its pictures are analysed. posts.vision.analyzed -> posts.tagged."""

from telegram_assistant.domain.understanding.policy import Urgency
from telegram_assistant.events import PostTagged, PostVisionAnalyzed, Trigger, VisionStatus
from telegram_assistant.stores.postgres.posts.posts import Posts
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichments, Kind
from telegram_assistant.streams.stage import stage
from telegram_assistant.understanding.post_tags import Tagger, picture_text_of


@stage(consumes=PostVisionAnalyzed, emits=PostTagged, batch=50, concurrency=4, timeout_seconds=90)
async def retagging(
    events: list[PostVisionAnalyzed], *, posts: Posts, enrichments: Enrichments, tagger: Tagger
) -> list[PostTagged]:
    """Tags only posts whose pictures add something. The others keep their tags, and no event is emitted."""
    looked_post_ids = {event.post for event in events if event.status is VisionStatus.ANALYZED}
    added_post_ids = (
        {
            row.post_id
            for row in await enrichments.load(list(looked_post_ids), Kind.VISION)
            if picture_text_of(row)
        }
        if looked_post_ids
        else set()
    )
    if not added_post_ids:
        return []
    tagged_posts = await tagger.tag(await posts.load(list(added_post_ids)), urgency=Urgency.RETAGGING)
    return [
        PostTagged.about(
            event.post,
            event.revision,
            occurred_at=event.occurred_at,
            trigger=Trigger.VISION_RETAG,
            tags=result.local.tags,
        )
        for event in events
        if (result := tagged_posts.get(event.post)) is not None and result.local is not None
    ]
