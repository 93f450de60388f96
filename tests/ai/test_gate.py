"""The gate as stages see it, on real stores, in front of a server
that speaks GigaChat's and OpenAI's protocols.
"""

import asyncio
import io
import os
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from telegram_assistant.ai.gate import Gate
from telegram_assistant.ai.outputs import PictureFacts
from telegram_assistant.ai.prompting import prompt
from telegram_assistant.ai.protocols import Picture
from telegram_assistant.assembly import App, open_gate, open_models
from telegram_assistant.domain.ids import MessageId, PostId
from telegram_assistant.domain.understanding.policy import AiPolicy, FallbackReason, PostSort, Tier, Urgency
from telegram_assistant.settings import read_settings
from testkit.provider_server import FakeServer, saying
from tests.ai.conftest import Opened, ask_tags, fresh_text, make_followed, make_paid_channel, make_payer
from tests.conftest import Admin

HURRIED = dict.fromkeys(Urgency, 1.5)
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
LEASE = timedelta(minutes=1)


def png() -> bytes:
    """A picture that nobody has seen before."""
    written = io.BytesIO()
    Image.frombytes("RGB", (8, 8), os.urandom(192)).save(written, "PNG")
    return written.getvalue()


async def test_a_provider_tags_a_post_within_the_vocabulary(gate: Gate, app: App, server: FakeServer) -> None:
    channel_id, _ = await make_paid_channel(app.system)
    server.says = saying(
        tags=["Экономика", "взлом", "спорт", "экономика"], entities=[{"text": "Сбер", "kind": "organisation"}]
    )
    result = await ask_tags(gate, fresh_text("Сбер отчитался"), channel_id=channel_id)
    assert result.value is not None
    assert result.value.tags == ("экономика", "спорт")
    assert [entity.text for entity in result.value.entities] == ["Сбер"]
    assert (result.tier, result.provider, result.model, result.prompt_version) == (
        Tier.PROVIDER,
        "gigachat",
        "GigaChat-2",
        "tagging/2",
    )
    assert result.cost_micro == 20


async def test_the_same_question_three_times_costs_one_call(gate: Gate, app: App, server: FakeServer) -> None:
    channel_id, tenant_id = await make_paid_channel(app.system)
    server.says = saying(tags=["спорт"])
    text = fresh_text()
    results = [await ask_tags(gate, text, channel_id=channel_id) for _ in range(3)]
    assert server.calls == 1
    assert [result.is_cached for result in results] == [False, True, True]
    assert {result.value.tags for result in results if result.value} == {("спорт",)}
    assert [usage.calls for usage in await app.system.spending.usage(EPOCH, tenant_id=tenant_id)] == [1]


async def test_who_copies_a_text_first_does_not_decide_that_the_original_is_advertising(
    gate: Gate, app: App, server: FakeServer
) -> None:
    copier, original = (await make_paid_channel(app.system))[0], (await make_paid_channel(app.system))[0]
    server.says = saying(tags=["спорт"], kind="advertising", is_ad=True, channel_id=original)
    text = fresh_text()
    first = await ask_tags(gate, f"{text}\n\nРеклама. Подписаться: @copier", channel_id=copier)
    again = await ask_tags(gate, text, channel_id=copier)
    other = await ask_tags(gate, text, channel_id=original)
    assert server.calls == 1
    assert [
        (result.value.tags, result.value.kind, result.value.is_ad)
        for result in (first, again, other)
        if result.value
    ] == [
        (("спорт",), PostSort.ADVERTISING, True),
        (("спорт",), PostSort.ADVERTISING, True),
        (("спорт",), PostSort.NEWS, False),
    ]
    assert (other.is_cached, other.tier) == (True, Tier.PROVIDER)


async def test_the_same_question_at_the_same_moment_costs_one_call(
    gate: Gate, app: App, server: FakeServer
) -> None:
    channel_id, _ = await make_paid_channel(app.system)
    server.seconds = 0.1
    text = fresh_text()
    results = await asyncio.gather(*(ask_tags(gate, text, channel_id=channel_id) for _ in range(20)))
    assert server.calls == 1
    assert {result.tier for result in results} == {Tier.PROVIDER}


async def test_two_processes_with_one_stream_ask_the_same_only_once(
    open_program: Opened, server: FakeServer
) -> None:
    server.seconds = 0.1
    text = fresh_text()
    async with open_program(**server.gigachat()) as first, open_program(**server.gigachat()) as second:
        channel_id, _ = await make_paid_channel(first.system)
        await asyncio.gather(*(ask_tags(app.gate, text, channel_id=channel_id) for app in (first, second)))
    assert server.calls == 1


async def test_off_for_all_subscribers_sends_nothing_anywhere(
    gate: Gate, app: App, server: FakeServer
) -> None:
    payers = [await make_payer(app.system) for _ in range(2)]
    channel_id = await make_followed(app.system, *((payer, AiPolicy.OFF) for payer in payers))
    tags = await ask_tags(gate, fresh_text(), channel_id=channel_id)
    picture = await gate.picture(Picture(b"x", "image/png"), sha256=b"x", channel_id=channel_id)
    text = await gate.text_in(Picture(png(), "image/png"), channel_id=channel_id)
    vectors = await gate.vectors([fresh_text()], channel_id=channel_id)
    assert [(result.value, result.reason) for result in (tags, picture, text, vectors)] == [
        (None, FallbackReason.POLICY)
    ] * 4
    assert server.request_counts.total() == 0


async def test_provider_without_the_owners_consent_is_local(gate: Gate, app: App, server: FakeServer) -> None:
    tenant_id = await make_payer(app.system, consents=False)
    channel_id = await make_followed(app.system, (tenant_id, AiPolicy.PROVIDER))
    result = await ask_tags(gate, fresh_text(), channel_id=channel_id)
    assert (result.tier, result.reason) == (Tier.LOCAL, FallbackReason.POLICY)
    assert result.value is not None
    assert result.value.tags == ("экономика",)
    assert server.request_counts.total() == 0


async def test_a_shared_call_is_paid_in_shares_that_add_up_to_the_last_micro_unit(
    gate: Gate, app: App, server: FakeServer, admin: Admin
) -> None:
    payers = [await make_payer(app.system) for _ in range(3)]
    onlooker = await make_payer(app.system)
    channel_id = await make_followed(
        app.system, *((payer, AiPolicy.PROVIDER) for payer in payers), (onlooker, AiPolicy.LOCAL)
    )
    server.usage = (7, 101)
    result = await ask_tags(gate, fresh_text(), channel_id=channel_id)
    rows = await admin.fetch(
        "SELECT tenant_id, micro, tokens, call_micro FROM usage WHERE tenant_id = ANY($1)",
        [*payers, onlooker],
    )
    assert {row["tenant_id"] for row in rows} == set(payers)
    assert sum(row["micro"] for row in rows) == result.cost_micro == 101
    assert sum(row["tokens"] for row in rows) == 108
    assert sorted(row["micro"] for row in rows) == [33, 34, 34]
    used = {budget.tenant_id: budget.used_micro for budget in await app.system.spending.budgets()}
    assert sorted(used[payer] for payer in payers) == [33, 34, 34]


async def test_without_money_the_local_result_goes_on_and_the_provider_is_wanted(
    gate: Gate, app: App, server: FakeServer
) -> None:
    channel_id, _ = await make_paid_channel(app.system, micro=0)
    post_id = PostId(channel_id, MessageId(1))
    result = await ask_tags(gate, fresh_text(), channel_id=channel_id, post_id=post_id)
    assert (result.tier, result.reason, result.is_wanted) == (Tier.LOCAL, FallbackReason.NO_BUDGET, True)
    assert server.calls == 0
    taken = await app.system.provider_wanted.take("tagging", limit=1000, lease=LEASE)
    assert post_id in {task.post_id for task in taken}


async def test_tokens_have_a_budget_of_their_own(gate: Gate, app: App, server: FakeServer) -> None:
    channel_id, _ = await make_paid_channel(app.system, tokens=100)
    result = await ask_tags(gate, fresh_text(), channel_id=channel_id)
    assert (result.tier, result.reason) == (Tier.LOCAL, FallbackReason.NO_BUDGET)
    assert server.calls == 0


async def test_a_blacklisted_post_is_asked_about_once_and_served_by_the_next_provider(
    open_program: Opened, server: FakeServer, prices: Path
) -> None:
    both = {**server.gigachat(), **server.openai(), "AI_PRICES_FILE": str(prices)}
    text = fresh_text()
    async with open_program(**both) as app:
        channel_id, _ = await make_paid_channel(app.system)

        def refuse_first(_asked: object) -> str:
            server.finish_reason = "stop" if server.calls > 1 else "blacklist"
            return '{"tags": ["спорт"]}'

        server.says = refuse_first
        server.finish_reason = "blacklist"
        result = await ask_tags(app.gate, text, channel_id=channel_id)
        assert (result.provider, server.calls) == ("openai", 2)
    async with open_program(**server.gigachat()) as app:
        alone = await ask_tags(
            app.gate, text, channel_id=channel_id, post_id=PostId(channel_id, MessageId(1))
        )
        assert (alone.tier, alone.reason, alone.is_wanted) == (Tier.LOCAL, FallbackReason.BLACKLIST, False)
        assert server.calls == 2


async def test_a_provider_without_money_or_patience_is_left_alone_by_everybody(
    open_program: Opened, server: FakeServer
) -> None:
    for status in (402, 429):
        server.status = status
        server.request_counts.clear()
        async with (
            open_program(**server.gigachat()) as first,
            open_program(**server.gigachat()) as second,
        ):
            channel_id, tenant_id = await make_paid_channel(first.system)
            for app in (first, second):
                result = await ask_tags(app.gate, fresh_text(), channel_id=channel_id)
                assert result.tier is Tier.LOCAL
            assert server.request_counts["chat"] == 1
            assert {
                budget.used_micro
                for budget in await first.system.spending.budgets()
                if budget.tenant_id == tenant_id
            } == {0}
            await first.redis.flushdb()


@pytest.mark.serial
async def test_during_an_outage_local_results_come_in_time_and_at_once_when_the_breaker_is_open(
    gate: Gate, app: App, server: FakeServer
) -> None:
    channel_id, _ = await make_paid_channel(app.system)
    server.hangs = True
    begun = time.monotonic()
    results = await asyncio.gather(*(ask_tags(gate, fresh_text(), channel_id=channel_id) for _ in range(4)))
    assert {(result.tier, result.reason) for result in results} == {(Tier.LOCAL, FallbackReason.AWAY)}
    assert time.monotonic() - begun < 10
    begun, calls = time.monotonic(), server.calls
    results = [await ask_tags(gate, fresh_text(), channel_id=channel_id) for _ in range(5)]
    assert {(result.tier, result.reason) for result in results} == {(Tier.LOCAL, FallbackReason.BREAKER)}
    assert time.monotonic() - begun < 5
    assert server.calls == calls


async def test_a_server_that_is_not_there_opens_the_breaker_within_three_calls(
    open_program: Opened, server: FakeServer
) -> None:
    async with open_program(OPENAI_BASE_URL="http://127.0.0.1:1/v1") as app:
        channel_id, _ = await make_paid_channel(app.system)
        reasons = [(await ask_tags(app.gate, fresh_text(), channel_id=channel_id)).reason for _ in range(4)]
    assert reasons == [FallbackReason.AWAY] * 3 + [FallbackReason.BREAKER]
    assert server.calls == 0


async def test_an_answer_of_the_wrong_shape_is_mended_once_and_then_given_up(
    gate: Gate, app: App, server: FakeServer
) -> None:
    channel_id, tenant_id = await make_paid_channel(app.system)
    server.says = lambda _asked: "Конечно! Вот теги: спорт" if server.calls % 2 else '{"tags": ["спорт"]}'
    mended = await ask_tags(gate, fresh_text(), channel_id=channel_id)
    assert mended.value is not None
    assert (mended.tier, mended.value.tags, server.calls, mended.cost_micro) == (
        Tier.PROVIDER,
        ("спорт",),
        2,
        40,
    )
    server.says = lambda _asked: "no JSON at all"
    given_up = await ask_tags(gate, fresh_text(), channel_id=channel_id)
    assert (given_up.tier, given_up.reason, server.calls) == (Tier.LOCAL, FallbackReason.FAILED, 4)
    assert {usage.purpose for usage in await app.system.spending.usage(EPOCH, tenant_id=tenant_id)} == {
        "tagging",
        "repair",
    }


async def test_a_picture_is_uploaded_looked_at_and_deleted_again(
    gate: Gate, app: App, server: FakeServer
) -> None:
    channel_id, _ = await make_paid_channel(app.system)
    server.says = saying(description="Снежная улица", text="СТОП\x00", is_document=True, tags=["взлом"])
    picture = Picture(png(), "image/png")
    sha256 = os.urandom(32)
    result = await gate.picture(picture, sha256=sha256, channel_id=channel_id)
    again = await gate.picture(Picture(png(), "image/png"), sha256=sha256, channel_id=channel_id)
    assert (
        result.value
        == again.value
        == PictureFacts(description="Снежная улица", text="СТОП", is_document=True)
    )
    assert result.model == "GigaChat-2-Pro"
    assert len(server.requests[0].body["messages"][1]["attachments"]) == 1
    assert (server.request_counts["upload"], server.request_counts["delete"], server.files, server.calls) == (
        1,
        1,
        {},
        1,
    )


@pytest.mark.parametrize("provider", ["gigachat", "openai"])
async def test_a_tenants_own_text_is_heard_while_it_is_written_and_paid_by_it_alone(
    provider: str, open_program: Opened, server: FakeServer, prices: Path
) -> None:
    server.says, server.pieces = (lambda _asked: "Мост закрыт. [1]\nNOTHING"), 4
    variables = server.gigachat if provider == "gigachat" else server.openai
    async with open_program(**variables(AI_PRICES_FILE=str(prices))) as app:
        tenant_id, nobody = await make_payer(app.system), await make_payer(app.system, consents=False)
        pieces, text = list[str](), fresh_text()
        offer = await app.questions.offer(100, max_tokens=50, tenant_id=tenant_id)
        write = partial(app.questions.write, prompt("answer"), text, urgency=Urgency.QUESTION, max_tokens=50)
        written, again, refused = (
            await write(tenant_id=tenant_id, hear=pieces.append),
            await write(tenant_id=tenant_id),
            await write(tenant_id=nobody),
        )
        used = await app.system.spending.usage(EPOCH, tenant_id=tenant_id)
    assert written.value is not None
    assert written.value.text == "".join(pieces) == "Мост закрыт. [1]\nNOTHING"
    assert len(pieces) > 3
    assert offer is not None
    assert (offer.highest_micro, written.cost_micro, again.cost_micro, again.is_cached) == (50, 20, 0, True)
    assert [(line.purpose, line.micro) for line in used] == [("answer", 20)]
    assert (refused.value, refused.reason, server.calls) == (None, FallbackReason.POLICY, 1)


async def test_a_text_that_breaks_off_counts_as_written_and_is_not_used(
    open_program: Opened, server: FakeServer, prices: Path
) -> None:
    server.says, server.pieces, server.breaks_off = (lambda _asked: "Мост закрыт. [1]"), 4, True
    async with open_program(**server.openai(AI_PRICES_FILE=str(prices))) as app:
        tenant_id = await make_payer(app.system)
        written = await app.questions.write(
            prompt("answer"),
            fresh_text(),
            tenant_id=tenant_id,
            urgency=Urgency.QUESTION,
            max_tokens=50,
            hear=lambda _piece: None,
        )
        used = await app.system.spending.usage(EPOCH, tenant_id=tenant_id)
    assert (written.value, written.reason) == (None, FallbackReason.AWAY)
    assert [(line.status, line.micro) for line in used] == [("late", 50)]


async def test_live_work_that_gave_up_before_its_turn_pays_nothing(
    app: App, database: dict[str, str], server: FakeServer, admin: Admin
) -> None:
    server.hangs = True
    one_stream = read_settings({**database, **server.gigachat()})
    async with (
        open_models(one_stream, redis=app.redis) as models,
        open_gate(models, one_stream, system=app.system, redis=app.redis, wait_seconds=HURRIED) as gate,
    ):
        channel_id, tenant_id = await make_paid_channel(app.system)
        texts = [fresh_text() for _ in range(3)]
        results = await asyncio.gather(*(ask_tags(gate, text, channel_id=channel_id) for text in texts))
        assert sorted(str(result.reason) for result in results) == ["away", "busy", "busy"]
        async with asyncio.timeout(60):
            while (
                await admin.fetchval(
                    "SELECT count(*) FROM budget_reservations WHERE tenant_id = $1", tenant_id
                )
                > 1
            ):
                await asyncio.sleep(0.02)
    assert server.calls == 1


async def test_what_arrives_after_live_work_has_left_is_kept(app: App, server: FakeServer) -> None:
    channel_id, _ = await make_paid_channel(app.system)
    server.says, server.seconds = saying(tags=["спорт"]), 2 * HURRIED[Urgency.LIVE]
    text = fresh_text()
    async with (
        open_models(app.settings, redis=app.redis) as models,
        open_gate(models, app.settings, system=app.system, redis=app.redis, wait_seconds=HURRIED) as gate,
    ):
        late = await ask_tags(gate, text, channel_id=channel_id)
        assert (late.tier, late.reason) == (Tier.LOCAL, FallbackReason.AWAY)
        async with asyncio.timeout(60):
            while not (result := await ask_tags(gate, text, channel_id=channel_id)).is_cached:
                await asyncio.sleep(0.05)
    assert (result.tier, server.calls) == (Tier.PROVIDER, 1)
