"""post_persistence: saves what is derived from a landed post. posts.parsed -> saved; emits nothing."""

import asyncio
from collections.abc import Sequence

from telegram_assistant.domain.media.files import CLOSED_TERMS, MediaRules, decide, files_of
from telegram_assistant.domain.posts.differences import difference
from telegram_assistant.events import PostParsed
from telegram_assistant.language.meaning_changes import meaning_changes
from telegram_assistant.stores.postgres.media.files import FoundFile, MediaQueue
from telegram_assistant.stores.postgres.posts.albums import Albums
from telegram_assistant.stores.postgres.posts.posts import Posts, derived_of
from telegram_assistant.stores.postgres.posts.rows import StoredPost
from telegram_assistant.stores.postgres.posts.versions import Versions
from telegram_assistant.streams.stage import stage


@stage(consumes=PostParsed, batch=200, concurrency=2, timeout_seconds=60)
async def post_persistence(
    events: list[PostParsed],
    *,
    posts: Posts,
    versions: Versions,
    media: MediaQueue,
    media_rules: MediaRules,
    albums: Albums,
) -> None:
    """Works on the stored rows: skips posts that were deleted meanwhile,
    and uses the current text of edited ones.
    """
    stored_posts = await posts.load(list({event.post for event in events}))
    derived_posts = []
    for stored_post in stored_posts:
        derived_posts.append(derived_of(stored_post))
        await asyncio.sleep(0)  # finding the names of a text full of capital letters takes milliseconds
    await posts.save_derived(derived_posts)
    await _compare(stored_posts, versions)
    await _keep_files(stored_posts, media, media_rules)
    await albums.gather(stored_posts)


async def _compare(stored_posts: Sequence[StoredPost], versions: Versions) -> None:
    """Computes the differences of edits once, here, and not on every read."""
    edited_post_ids = [stored_post.post.id for stored_post in stored_posts if stored_post.revision > 1]
    if not edited_post_ids:
        return
    comparisons = []
    for edit in await versions.list_uncompared(edited_post_ids):
        comparisons.append(
            (edit, difference(edit.before, edit.after), meaning_changes(edit.before, edit.after))
        )
        await asyncio.sleep(0)  # each takes milliseconds: two hundred would block the event loop
    if comparisons:
        await versions.keep(comparisons)


async def _keep_files(stored_posts: Sequence[StoredPost], media: MediaQueue, rules: MediaRules) -> None:
    with_files = [
        (stored_post, files)
        for stored_post in stored_posts
        if (files := files_of(stored_post.post)) or stored_post.revision > 1
    ]
    if not with_files:
        return
    terms = await media.terms(
        list({stored_post.post.channel_id for stored_post, files in with_files if files}),
        quota_bytes=rules.quota_bytes,
    )
    new_files = [
        FoundFile(
            stored_post.post.id,
            stored_post.revision,
            file,
            decide(
                file,
                is_protected=bool(stored_post.post.facts.get("noforwards")),
                terms=terms.get(stored_post.post.channel_id, CLOSED_TERMS),
                rules=rules,
            ),
        )
        for stored_post, files in with_files
        for file in files
    ]
    await media.keep([(stored_post.post.id, len(files)) for stored_post, files in with_files], new_files)
