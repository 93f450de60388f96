"""post_persistence: complete what follows from a landed post. posts.parsed -> saved, nothing told."""

from collections.abc import Sequence

from telegram_assistant.domain.media import NOBODY, MediaRules, decide, files_of
from telegram_assistant.events import PostParsed
from telegram_assistant.stores.postgres.albums import Albums
from telegram_assistant.stores.postgres.media import FoundFile, MediaQueue
from telegram_assistant.stores.postgres.posts import Posts, derived_of
from telegram_assistant.stores.postgres.rows import StoredPost
from telegram_assistant.streams.stage import stage


@stage(consumes=PostParsed, batch=200, concurrency=2, timeout_seconds=60)
async def post_persistence(events: list[PostParsed], *, posts: Posts, media: MediaQueue, media_rules: MediaRules, albums: Albums) -> None:
    """All from the stored rows: what was deleted meanwhile is passed over, what was edited is taken as it is now."""
    stored = await posts.load(list({event.post for event in events}))
    await posts.save_derived([derived_of(one) for one in stored])
    await _keep_files(stored, media, media_rules)
    await albums.gather(stored)


async def _keep_files(stored: Sequence[StoredPost], media: MediaQueue, rules: MediaRules) -> None:
    shown = [(one, files) for one in stored if (files := files_of(one.post)) or one.revision > 1]
    if not shown:
        return
    terms = await media.terms(list({one.post.channel_id for one, files in shown if files}), quota_bytes=rules.quota_bytes)
    found = [
        FoundFile(
            one.post.id,
            one.revision,
            file,
            decide(file, is_protected=bool(one.post.facts.get("noforwards")), terms=terms.get(one.post.channel_id, NOBODY), rules=rules),
        )
        for one, files in shown
        for file in files
    ]
    await media.keep([(one.post.id, len(files)) for one, files in shown], found)
