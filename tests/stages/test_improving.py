"""improving: what a provider could not say at first it says later, and nothing is paid twice."""

from uuid import uuid4

from telegram_assistant import work
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.understanding import AiPolicy
from telegram_assistant.events import PostTagged
from telegram_assistant.settings import read_settings
from telegram_assistant.stages.improving import improve
from telegram_assistant.telemetry.health import Health
from tests.ai.conftest import Opened
from tests.ai.wire import FakeServer, saying
from tests.conftest import Admin
from tests.stages.tagged import follow, land, seen_by, tag

PROVIDER = AiPolicy.PROVIDER


async def improved(app: App) -> int:
    return await improve(wanted=app.system.provider_wanted, posts=app.system.posts, tagger=app.tagger)


async def test_after_an_outage_every_post_gets_its_provider_tags_once(opened: Opened, server: FakeServer, admin: Admin) -> None:
    await admin.execute("DELETE FROM provider_wanted")
    server.status, server.says = 500, saying(tags=["инфляция"])
    async with opened(**server.gigachat(GIGACHAT_STREAMS="10")) as during:
        channel_id, (paid,) = await follow(during, PROVIDER)
        posts = await land(during, channel_id, *[f"Цены выросли на {uuid4()}" for _ in range(30)])
        await tag(during, posts)
        assert await seen_by(during, paid, posts) == dict.fromkeys(posts, "local")
        assert await improved(during) == 0
    server.status = 200
    before = server.calls
    await admin.execute("UPDATE provider_wanted SET taken_until = '-infinity'")
    async with opened(**server.gigachat(GIGACHAT_STREAMS="10")) as after:
        while await improved(after):
            pass
        assert await seen_by(after, paid, posts) == dict.fromkeys(posts, "provider")
        assert await after.system.provider_wanted.waiting() == 0
    assert server.calls - before == 30
    told = await admin.fetch("SELECT payload FROM notices WHERE event = $1 AND channel_id = $2", PostTagged.NAME, channel_id)
    assert len(told) == 30
    assert {PostTagged.model_validate_json(one["payload"]).trigger for one in told} == {"provider_retag"}


async def test_what_could_not_be_tried_uses_no_attempt(opened: Opened, server: FakeServer, admin: Admin) -> None:
    await admin.execute("DELETE FROM provider_wanted")
    async with opened(**server.gigachat()) as app:
        channel_id, _ = await follow(app, PROVIDER, money=0)
        await tag(app, await land(app, channel_id, f"Цены выросли на {uuid4()}"))
        for _ in range(10):
            await admin.execute("UPDATE provider_wanted SET taken_until = '-infinity'")
            assert await improved(app) == 0
    assert [one["attempts"] for one in await admin.fetch("SELECT attempts FROM provider_wanted")] == [0]
    assert server.calls == 0


async def test_the_worker_runs_it(database: dict[str, str]) -> None:
    async with assemble(read_settings(database)) as app:
        assert "improving" in {loop.name for loop in work.loops(app, Health(probes={}))}
