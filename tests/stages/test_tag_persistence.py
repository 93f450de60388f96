"""tag_persistence: what an event says is kept only where it can be true and nothing better is known."""

from collections.abc import Sequence
from typing import Any

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import MessageId, PostId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.events import PostTagged
from telegram_assistant.stages.tag_persistence import tag_persistence
from tests.stages.tagged import about, follow, land, rows, tag

LOCAL, OFF = AiPolicy.LOCAL, AiPolicy.OFF
NAMES = ("posts", "enrichments", "vocabularies", "ai_policies")


async def keep(app: App, posts: Sequence[PostId], *tags: str, revision: int = 1) -> None:
    needs: dict[str, Any] = {name: getattr(app.system, name) for name in NAMES}
    await tag_persistence(list(about(PostTagged, posts, revision, tags=tags)), **needs)


async def test_a_replayed_event_gives_tags_to_a_post_that_has_none(app: App) -> None:
    channel_id, _ = await follow(app, LOCAL)
    posts = await land(app, channel_id, "Снег в городе")
    await keep(app, posts, "погода", "взлом", "погода")
    (row,) = await rows(app, posts)
    assert (row.data["tags"], row.data["topic"]) == (["погода"], "weather")


async def test_what_tagging_has_saved_is_left_alone(app: App) -> None:
    channel_id, _ = await follow(app, LOCAL)
    posts = await land(app, channel_id, "Снег в городе")
    await tag(app, posts)
    before = await rows(app, posts)
    await keep(app, posts, "спорт")
    assert await rows(app, posts) == before


async def test_foreign_old_and_unwanted_events_leave_no_trace(app: App) -> None:
    channel_id, _ = await follow(app, LOCAL)
    silent_id, _ = await follow(app, OFF)
    posts, silent = await land(app, channel_id, "Снег в городе"), await land(app, silent_id, "Снег в городе")
    unknown = [PostId(channel_id, MessageId(1000))]
    await keep(app, unknown, "погода")
    await keep(app, silent, "погода")
    await keep(app, posts, "погода", revision=2)
    await keep(app, posts, "взлом")
    await keep(app, posts)
    assert await rows(app, [*posts, *silent, *unknown]) == []
