"""The worker rebuilds vectors on request, and unasked if some are missing; health shows the progress."""

import asyncio
from functools import partial
from typing import Any

import pytest

from telegram_assistant.assembly import App
from telegram_assistant.features.operations.vector_upkeep import keep_vectors, report_vectors
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection
from telegram_assistant.telemetry.health import Health
from telegram_assistant.vectors.index import VectorIndex
from testkit.models import MINILM
from tests.ai.conftest import minilm
from tests.features.operations.test_rebuilding import TEXTS, admin, app, own, posts
from tests.vectors.indexed import index_of, land, make_followed_channel, search_ids

__all__ = ["admin", "app", "minilm", "own", "posts"]


async def keep_until_finished(app: App, *, fills_gaps: bool) -> None:
    stopping, rebuilds = asyncio.Event(), app.system.rebuilds
    keep = partial(
        keep_vectors,
        states=app.system.post_states,
        rebuilds=rebuilds,
        model=MINILM,
        owner="here#0001",
        fills_gaps=fills_gaps,
    )
    keeping = asyncio.create_task(keep(stopping, index=app.index))
    while (known := await rebuilds.look(Projection.VECTORS)) is None or known.finished_at is None:
        await asyncio.sleep(0.02)
    stopping.set()
    await keeping


async def report_health(app: App, *, index: VectorIndex | None) -> dict[str, Any]:
    health, stopping = Health(probes={}), asyncio.Event()
    reporting = asyncio.create_task(
        report_vectors(stopping, index=index, rebuilds=app.system.rebuilds, model=MINILM, health=health)
    )
    while "vectors" not in health.parts():
        await asyncio.sleep(0.01)
    stopping.set()
    await reporting
    return dict(health.parts()["vectors"])


@pytest.mark.usefixtures("posts")
async def test_the_worker_does_what_is_asked_for_and_health_tells_how_far_it_is(app: App) -> None:
    await app.system.rebuilds.want(Projection.VECTORS)
    report = await report_health(app, index=app.index)
    assert (report["points"], report["model"], report["is_being_rebuilt"]) == (len(TEXTS), MINILM, True)
    assert "some posts have no vector yet" in report["detail"]
    await keep_until_finished(app, fills_gaps=False)
    report = await report_health(app, index=app.index)
    assert (report["is_being_rebuilt"], report["posts_done"], report.get("detail", "")) == (
        False,
        len(TEXTS),
        "",
    )
    assert index_of(app).vectors.where == report["used"]
    assert (await report_health(app, index=None))["used"] == "off"


async def test_posts_that_were_stored_while_vectors_were_off_get_theirs_without_being_asked_for(
    app: App,
) -> None:
    await keep_until_finished(app, fills_gaps=True)
    channel_id, tenant_id = await make_followed_channel(app.system)
    stopped = asyncio.Event()
    stopped.set()
    states, rebuilds = app.system.post_states, app.system.rebuilds
    await keep_vectors(
        stopped,
        index=None,
        states=states,
        rebuilds=rebuilds,
        model=MINILM,
        owner="here#0001",
        fills_gaps=True,
    )
    await land(app.system, channel_id, *TEXTS)
    assert await search_ids(app, "a kitten", channel_id, tenant_id) == []
    await keep_until_finished(app, fills_gaps=True)
    assert len(await search_ids(app, "a kitten", channel_id, tenant_id)) == len(TEXTS)
