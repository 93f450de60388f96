"""vision_analysis: analyses the pictures of a post. posts.vision.uploaded -> posts.vision.analyzed,
for every post with media.
"""

from telegram_assistant.domain.media.vision_results import status_of
from telegram_assistant.domain.understanding.policy import Urgency
from telegram_assistant.errors import Busy
from telegram_assistant.events import PostVisionAnalyzed, PostVisionUploaded, VisionStatus
from telegram_assistant.stores.postgres.posts.posts import Posts
from telegram_assistant.streams.stage import stage
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.understanding.post_pictures import PictureAnalyzer

log = get_logger()


@stage(consumes=PostVisionUploaded, emits=PostVisionAnalyzed, concurrency=8, timeout_seconds=150)
async def vision_analysis(
    event: PostVisionUploaded, *, posts: Posts, picture_analyzer: PictureAnalyzer
) -> PostVisionAnalyzed:
    """Emits one event for each post.

    A file is analysed once, however many posts show it and however often this event is delivered.
    """
    stored_post = next(iter(await posts.load([event.post])), None)
    status, grouped_id = VisionStatus.SKIPPED, None if stored_post is None else stored_post.post.grouped_id
    if stored_post is not None and stored_post.deleted_at is None:
        try:
            status = VisionStatus(status_of(await picture_analyzer.look(stored_post, urgency=Urgency.LIVE)))
        except Busy:
            raise
        except Exception:
            log.exception(
                "pictures_not_analyzed",
                post_id=event.post_id,
                what_to_do="the post continues without them; report this bug",
            )
            status = VisionStatus.FAILED
            await picture_analyzer.save_failure(stored_post)
    return PostVisionAnalyzed.about(
        event.post, event.revision, occurred_at=event.occurred_at, status=status, grouped_id=grouped_id
    )
