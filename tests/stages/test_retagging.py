"""retagging: what pictures show and say becomes part of what a post is about."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.posts.post import PostKind
from telegram_assistant.domain.understanding.policy import AiPolicy, Tier
from telegram_assistant.events import PostTagged, PostVisionAnalyzed, Trigger, VisionStatus
from telegram_assistant.stages.retagging import retagging
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from testkit.provider_server import FakeServer, saying
from tests.stages.tagged import about, follow, land, rows, tag

LOCAL, PROVIDER = AiPolicy.LOCAL, AiPolicy.PROVIDER


async def retag(
    app: App, posts: Sequence[PostId], status: VisionStatus = VisionStatus.ANALYZED
) -> list[PostTagged]:
    needs: dict[str, Any] = {
        "posts": app.system.posts,
        "enrichments": app.system.enrichments,
        "tagger": app.collaborators["tagger"],
    }
    events: Any = await retagging(list(about(PostVisionAnalyzed, posts, status=status)), **needs)
    return list(events)


async def see(app: App, post: PostId, description: str, text: str = "", *, tier: Tier = Tier.LOCAL) -> None:
    await app.system.enrichments.save(
        [Enrichment(post, 1, Kind.VISION, tier, {"description": description, "text": text})]
    )


async def test_a_post_is_tagged_again_when_its_picture_says_something(app: App) -> None:
    channel_id, _ = await follow(app, LOCAL)
    posts = await land(app, channel_id, "Смотрите сами", "И это", kind=PostKind.PHOTO)
    assert [event.tags for event in await tag(app, posts)] == [(), ()]
    await see(app, posts[0], "", "Матч Зенит – Спартак, футбол, финал кубка")
    await see(app, posts[1], "", "")
    (retagged,) = await retag(app, posts)
    assert (retagged.post, retagged.trigger) == (posts[0], Trigger.VISION_RETAG)
    assert "футбол" in retagged.tags
    assert [row.data["tags"] for row in await rows(app, posts)] == [list(retagged.tags), []]


async def test_where_nothing_was_seen_nothing_is_told(app: App) -> None:
    channel_id, _ = await follow(app, LOCAL)
    posts = await land(app, channel_id, "Смотрите сами", kind=PostKind.PHOTO)
    assert await retag(app, posts) == []
    await see(app, posts[0], "Футбольный матч")
    assert await retag(app, posts, VisionStatus.SKIPPED) == []


async def test_a_post_that_comes_by_again_keeps_what_its_picture_said(app: App) -> None:
    channel_id, _ = await follow(app, LOCAL)
    posts = await land(app, channel_id, "Смотрите сами", kind=PostKind.PHOTO)
    await see(app, posts[0], "Футбольный матч, футбол")
    (event,) = await retag(app, posts)
    (again,) = await tag(app, posts)
    assert again.tags == event.tags


async def test_local_tags_know_nothing_of_what_a_provider_saw(app: App, server: FakeServer) -> None:
    server.says = saying(tags=["хоккей"])
    channel_id, _ = await follow(app, LOCAL, PROVIDER)
    posts = await land(app, channel_id, f"Смотрите сами {uuid4()}", kind=PostKind.PHOTO)
    await see(app, posts[0], "Хоккейный матч, шайба, хоккеист", tier=Tier.PROVIDER)
    (event,) = await retag(app, posts)
    assert event.tags == ()
    assert "шайба" in server.requests[-1].user
    assert {row.tier: row.data["tags"] for row in await rows(app, posts)} == {
        "local": [],
        "provider": ["хоккей"],
    }


async def test_pictures_of_history_are_not_paid_for(app: App, server: FakeServer) -> None:
    channel_id, _ = await follow(app, PROVIDER)
    old = datetime.now(UTC) - timedelta(days=2)
    posts = await land(app, channel_id, f"Смотрите сами {uuid4()}", kind=PostKind.PHOTO, posted_at=old)
    await see(app, posts[0], "Хоккейный матч, хоккей")
    (event,) = await retag(app, posts)
    assert "хоккей" in event.tags
    assert server.calls == 0


async def test_three_deliveries_cost_one_call(app: App, server: FakeServer) -> None:
    channel_id, _ = await follow(app, PROVIDER)
    posts = await land(app, channel_id, f"Смотрите сами {uuid4()}", kind=PostKind.PHOTO)
    await see(app, posts[0], "Хоккейный матч")
    for _ in range(3):
        await retag(app, posts)
    assert server.calls == 1
