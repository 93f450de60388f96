"""post_persistence: saves what is derived from a landed post. posts.parsed -> saved; emits nothing."""

import asyncio
from collections.abc import Sequence

from telegram_assistant.domain.media.files import NOBODY, MediaRules, decide, files_of
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
    stored = await posts.load(list({event.post for event in events}))
    derived = []
    for one in stored:
        derived.append(derived_of(one))
        await asyncio.sleep(0)  # finding the names of a text full of capital letters takes milliseconds
    await posts.save_derived(derived)
    await _compare(stored, versions)
    await _keep_files(stored, media, media_rules)
    await albums.gather(stored)


async def _compare(stored: Sequence[StoredPost], versions: Versions) -> None:
    """Computes the differences of edits once, here, and not on every read."""
    edited = [one.post.id for one in stored if one.revision > 1]
    if not edited:
        return
    compared = []
    for one in await versions.uncompared(edited):
        compared.append((one, difference(one.before, one.after), meaning_changes(one.before, one.after)))
        await asyncio.sleep(0)  # each takes milliseconds: two hundred would block the event loop
    if compared:
        await versions.keep(compared)


async def _keep_files(stored: Sequence[StoredPost], media: MediaQueue, rules: MediaRules) -> None:
    shown = [(one, files) for one in stored if (files := files_of(one.post)) or one.revision > 1]
    if not shown:
        return
    terms = await media.terms(
        list({one.post.channel_id for one, files in shown if files}), quota_bytes=rules.quota_bytes
    )
    found = [
        FoundFile(
            one.post.id,
            one.revision,
            file,
            decide(
                file,
                is_protected=bool(one.post.facts.get("noforwards")),
                terms=terms.get(one.post.channel_id, NOBODY),
                rules=rules,
            ),
        )
        for one, files in shown
        for file in files
    ]
    await media.keep([(one.post.id, len(files)) for one, files in shown], found)
