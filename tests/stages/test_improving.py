"""improving: what a provider could not say at first it says later, news before history,
and nothing is paid twice.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from telegram_assistant import worker_role
from telegram_assistant.ai.questions import TAGGING
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.posts.post import PostKind
from telegram_assistant.domain.understanding.policy import AiPolicy, PendingImprovement
from telegram_assistant.events import Event, PostEnriched, PostTagged, PostVisionAnalyzed, VisionStatus
from telegram_assistant.settings import read_settings
from telegram_assistant.stages.indexing import indexing
from telegram_assistant.stages.retagging import retagging
from telegram_assistant.telemetry.health import Health
from telegram_assistant.understanding.improvements import (
    Improvement,
    better_tags,
    better_vectors,
    better_vision_results,
)
from telegram_assistant.understanding.improving import improve
from telegram_assistant.vectors.protocol import Reach, Space, VectorQuery
from testkit.provider_server import ChatRequest, FakeServer, saying
from tests.ai.conftest import Opened, fresh_text
from tests.conftest import Admin
from tests.stages.looking import Looking, draw_picture, looking_at
from tests.stages.tagged import about, follow, land, load_visible, tag
from tests.vectors.indexed import index_of, open_with_vectors

PROVIDER = AiPolicy.PROVIDER
AGES_AGO = timedelta(days=3)
needs_tesseract = pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")


@pytest.fixture(autouse=True)
async def nothing_else_is_wanted(admin: Admin) -> None:
    await admin.execute("DELETE FROM provider_wanted")


@pytest.fixture
async def looking(database: dict[str, str], tmp_path: Path) -> AsyncIterator[Looking]:
    async with looking_at(database, tmp_path) as running:
        yield running


async def run_improvement(
    app: App, better: Callable[[App], Improvement] = lambda app: better_tags(app.tagger)
) -> int:
    return await improve(better(app), wanted_results=app.system.provider_wanted, posts=app.system.posts)


async def look_again(looking: Looking) -> int:
    return await run_improvement(looking.app, lambda app: better_vision_results(app.picture_analyzer))


async def make_again(app: App) -> int:
    return await run_improvement(app, lambda app: better_vectors(app.gate, app.system.post_states))


async def its_time_comes(admin: Admin) -> None:
    await admin.execute("UPDATE provider_wanted SET taken_until = '-infinity'")


async def load_events[E: Event](admin: Admin, event: type[E], channel_id: ChannelId) -> list[E]:
    rows = await admin.fetch(
        "SELECT payload FROM notices WHERE event = $1 AND channel_id = $2", event.NAME, channel_id
    )
    return [event.model_validate_json(row["payload"]) for row in rows]


async def test_after_an_outage_every_post_gets_its_provider_tags_once(
    open_program: Opened, server: FakeServer, admin: Admin
) -> None:
    server.status, server.says = 500, saying(tags=["инфляция"])
    async with open_program(**server.gigachat(GIGACHAT_STREAMS="10")) as during:
        channel_id, (paid,) = await follow(during, PROVIDER)
        posts = await land(during, channel_id, *[f"Цены выросли на {uuid4()}" for _ in range(30)])
        await tag(during, posts)
        assert await load_visible(during, paid, posts) == dict.fromkeys(posts, "local")
        assert await run_improvement(during) == 0
    server.status = 200
    before = server.calls
    await its_time_comes(admin)
    async with open_program(**server.gigachat(GIGACHAT_STREAMS="10")) as after:
        while await run_improvement(after):
            pass
        assert await load_visible(after, paid, posts) == dict.fromkeys(posts, "provider")
        assert await after.system.provider_wanted.waiting() == 0
    assert server.calls - before == 30
    events = await load_events(admin, PostTagged, channel_id)
    assert len(events) == 30
    assert {event.trigger for event in events} == {"provider_retag"}


async def test_after_an_outage_all_news_are_improved_before_the_first_of_history(
    open_program: Opened, server: FakeServer, admin: Admin
) -> None:
    """Both lanes wait, history for longer; two workers work it off while the outage is still going on,
    and go on when it is over.
    """
    server.status, server.says = 500, saying(tags=["инфляция"])
    async with open_program(**server.gigachat(GIGACHAT_STREAMS="10")) as during:
        channel_id, (paid,) = await follow(during, PROVIDER)
        history = await land(
            during,
            channel_id,
            *[f"Давно: {uuid4()}" for _ in range(45)],
            posted_at=datetime.now(UTC) - AGES_AGO,
        )
        await during.system.provider_wanted.add(*(PendingImprovement(post, TAGGING) for post in history))
        news = await land(during, channel_id, *[f"Сегодня: {uuid4()}" for _ in range(45)], first=100)
        await tag(during, news)
        assert [await run_improvement(during) for _ in range(3)] == [0, 0, 0]
        assert (
            await admin.fetchval(
                "SELECT count(*) FROM provider_wanted WHERE message_id < 100 AND attempts > 0"
            )
            == 0
        )
    server.status, server.requests = 200, []
    await its_time_comes(admin)

    async def work_off(app: App) -> None:
        while await app.system.provider_wanted.waiting():
            await run_improvement(app)
            await asyncio.sleep(0.01)

    async with (
        open_program(**server.gigachat(GIGACHAT_STREAMS="10")) as first,
        open_program(**server.gigachat()) as other,
        asyncio.timeout(60),
    ):
        await asyncio.gather(work_off(first), work_off(other))
        assert await load_visible(first, paid, [*news, *history]) == dict.fromkeys(
            [*news, *history], "provider"
        )
    assert ["Сегодня" in request.user for request in server.requests] == [True] * 45 + [False] * 45


async def test_news_that_nobody_pays_for_do_not_hold_up_history(
    open_program: Opened, server: FakeServer
) -> None:
    server.says = saying(tags=["инфляция"])
    async with open_program(**server.gigachat()) as app:
        poor, _ = await follow(app, PROVIDER, money=0)
        await tag(app, await land(app, poor, fresh_text()))
        rich, (paid,) = await follow(app, PROVIDER)
        (old,) = await land(app, rich, fresh_text(), posted_at=datetime.now(UTC) - AGES_AGO)
        await app.system.provider_wanted.add(PendingImprovement(old, TAGGING))
        assert [await run_improvement(app), await run_improvement(app)] == [0, 1]
        assert await load_visible(app, paid, [old]) == {old: "provider"}
        assert await app.system.provider_wanted.waiting() == 1


async def test_what_could_not_be_tried_uses_no_attempt(
    open_program: Opened, server: FakeServer, admin: Admin
) -> None:
    async with open_program(**server.gigachat()) as app:
        channel_id, _ = await follow(app, PROVIDER, money=0)
        await tag(app, await land(app, channel_id, f"Цены выросли на {uuid4()}"))
        for _ in range(10):
            await its_time_comes(admin)
            assert await run_improvement(app) == 0
    assert [row["attempts"] for row in await admin.fetch("SELECT attempts FROM provider_wanted")] == [0]
    assert server.calls == 0


@needs_tesseract
async def test_a_picture_only_read_here_is_shown_to_the_provider_when_it_is_back_and_the_post_tagged_again(
    looking: Looking, admin: Admin
) -> None:
    server, app = looking.server, looking.app
    server.status = 500
    post = await looking.post(
        await looking.channel(), draw_picture("Bridge closed"), text=fresh_text(), kind=PostKind.PHOTO
    )
    await looking.look(post)
    assert set(await looking.rows(post)) == {"local"}
    assert await look_again(looking) == 0
    server.status, server.request_counts = 200, type(server.request_counts)()
    server.says = lambda request: (
        describe_picture(request) if "picture" in request.user.lower() else saying(tags=["инфляция"])(request)
    )
    await its_time_comes(admin)
    assert [await look_again(looking), await look_again(looking)] == [1, 0]
    assert (await looking.rows(post))["provider"]["description"] == "Мост зимой"
    assert (server.calls, server.request_counts["upload"], server.files) == (1, 1, {})
    (event,) = await load_events(admin, PostVisionAnalyzed, post.channel_id)
    assert (event.post, event.status, event.trace_id is None) == (post, VisionStatus.ANALYZED, False)
    (tagged,) = await list_events(
        retagging([event], posts=app.system.posts, enrichments=app.system.enrichments, tagger=app.tagger)
    )
    assert tagged.trigger == "vision_retag"
    assert "Мост зимой" in server.requests[-1].user
    await looking.look(post)
    assert server.calls == 2  # one look, one question about tags


@needs_tesseract
async def test_a_picture_is_not_shown_to_a_provider_where_that_is_no_longer_wanted(
    looking: Looking, admin: Admin
) -> None:
    looking.server.status = 500
    post = await looking.post(await looking.channel(), draw_picture("Bridge closed"))
    await looking.look(post)
    looking.server.status, before = 200, looking.server.request_counts.total()
    await admin.execute("UPDATE subscriptions SET ai_policy = 'local' WHERE channel_id = $1", post.channel_id)
    assert await look_again(looking) == 0
    assert looking.server.request_counts.total() == before
    assert await looking.app.system.provider_wanted.waiting() == 0


@needs_tesseract
async def test_a_picture_waits_until_somebody_can_pay(looking: Looking, admin: Admin) -> None:
    post = await looking.post(await looking.channel(micro=0), draw_picture("Bridge closed"))
    await looking.look(post)
    assert await look_again(looking) == 0
    assert looking.server.calls == 0
    await admin.execute("UPDATE budgets SET money_micro = 1000000000")
    looking.server.says = describe_picture
    await its_time_comes(admin)
    assert await look_again(looking) == 1
    assert looking.server.calls == 1


async def test_a_post_without_vectors_gets_them_when_the_provider_is_back(
    database: dict[str, str], server: FakeServer, admin: Admin, tmp_path: Path
) -> None:
    variables = server.gigachat(AI_EMBEDDINGS="gigachat", GIGACHAT_STREAMS="10")
    async with open_with_vectors(database, models=tmp_path, folder=tmp_path, **variables) as app:
        channel_id, _ = await follow(app, PROVIDER)
        posts = await land(app, channel_id, *[fresh_text() for _ in range(5)])
        server.status = 500
        await index(app, posts)
        assert await make_again(app) == 0
        server.status, server.request_counts = 200, type(server.request_counts)()
        await its_time_comes(admin)
        assert [await make_again(app), await make_again(app)] == [5, 0]
        events = await load_events(admin, PostEnriched, channel_id)
        assert {event.post for event in events} == set(posts)
        assert {event.trigger for event in events} == {"provider_retag"}
        await indexing(list(events), post_states=app.system.post_states, index=app.index)
        assert server.request_counts["embeddings"] == 1
        space = Space(app.settings.ai.embeddings_model_in_force, 3)
        sought = VectorQuery(vector=(1.0, 1.0, 0.5), reach=Reach(local=frozenset({channel_id})), limit=50)
        assert {hit.post_id for hit in await index_of(app).vectors.search(space, sought)} == set(posts)
        assert await app.system.provider_wanted.waiting() == 0


async def test_the_worker_runs_it(database: dict[str, str]) -> None:
    async with assemble(read_settings(database)) as app:
        assert "improving" in {loop.name for loop in worker_role.loops(app, Health(probes={}))}


def describe_picture(request: ChatRequest) -> str:
    return saying(description="Мост зимой", text="", is_meme=False, is_document=False)(request)


async def index(app: App, posts: list[PostId]) -> None:
    await indexing(list(about(PostEnriched, posts)), post_states=app.system.post_states, index=app.index)


async def list_events(telling: Any) -> list[PostTagged]:
    return list(await telling)
