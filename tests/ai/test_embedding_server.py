"""Vectors by a server that the operator names: with prefixes, with a key of its own, and as a part of this
machine only if the operator says so.
"""

import logging
from pathlib import Path

import pytest

from telegram_assistant.ai.protocols import TextKind
from telegram_assistant.domain.ids import MessageId, PostId
from telegram_assistant.domain.understanding.policy import (
    AiPolicy,
    FallbackReason,
    ModelTask,
    ProviderFailed,
    Tier,
)
from telegram_assistant.errors import SettingsError
from telegram_assistant.settings import read_settings
from testkit.provider_server import FakeServer, fake_server
from tests.ai.conftest import Opened, ask_tags, fresh_text, make_followed, make_paid_channel, make_payer
from tests.ai.test_providers import SERVERS, sources

MODEL = "deepvk/USER2-base"


def own_server(server: FakeServer, **more: str) -> dict[str, str]:
    return {
        "AI_EMBEDDINGS": "openai",
        "AI_EMBEDDINGS_MODEL": MODEL,
        "EMBEDDINGS_BASE_URL": f"{server.url}/v1",
        "EMBEDDINGS_IS_OWN": "true",
        **more,
    }


@pytest.mark.turns("EMBEDDINGS_IS_OWN")
async def test_a_server_that_the_operator_calls_his_own_makes_vectors_for_channels_with_the_policy_local(
    open_program: Opened, server: FakeServer
) -> None:
    async with open_program(**own_server(server)) as app:
        tenant_id = await make_payer(app.system, consents=False)
        local = await make_followed(app.system, (tenant_id, AiPolicy.LOCAL))
        off = await make_followed(app.system, (tenant_id, AiPolicy.OFF))
        posts = {PostId(channel_id, MessageId(1)): fresh_text() for channel_id in (local, off)}
        made = await app.gate.post_vectors(posts)
        assert {post_id.channel_id for post_id in made.vectors} == {local}
        assert made.model == MODEL
        question = await app.questions.vectors(["snow"], tenant_id=tenant_id)
        assert (question.tier, question.cost_micro) == (Tier.LOCAL, 0)
        assert not app.questions.has_writers
        tags = await ask_tags(app.gate, fresh_text(), channel_id=local)
        assert (tags.tier, server.request_counts["chat"]) == (Tier.LOCAL, 0)
    async with open_program(**own_server(server, EMBEDDINGS_IS_OWN="false")) as app:
        refused = await app.gate.post_vectors(posts)
        assert (refused.vectors, set(refused.reasons.values())) == ({}, {FallbackReason.POLICY})


async def test_an_own_server_beside_a_provider_opens_nothing_else(
    open_program: Opened, server: FakeServer
) -> None:
    async with fake_server() as provider:
        async with open_program(**own_server(server), **provider.openai()) as app:
            tenant_id = await make_payer(app.system, consents=False)
            local = await make_followed(app.system, (tenant_id, AiPolicy.LOCAL))
            assert (await app.gate.vectors(["snow"], channel_id=local)).tier is Tier.LOCAL
            await ask_tags(app.gate, fresh_text(), channel_id=local)
        assert provider.request_counts.total() == 0
    assert (server.request_counts["chat"], server.request_counts["embeddings"]) == (0, 1)


async def test_posts_wait_for_an_own_server_that_is_away(open_program: Opened, server: FakeServer) -> None:
    async with open_program(**own_server(server)) as app:
        channel_id = await make_followed(
            app.system, (await make_payer(app.system, consents=False), AiPolicy.LOCAL)
        )
        server.status = 500
        post_id = PostId(channel_id, MessageId(1))
        made = await app.gate.vectors([fresh_text()], channel_id=channel_id, post_id=post_id)
        assert (made.value, made.reason, made.is_wanted) == (None, FallbackReason.AWAY, True)


@pytest.mark.turns("EMBEDDINGS_BASE_URL")
@pytest.mark.turns("EMBEDDINGS_API_KEY")
async def test_a_server_for_vectors_alone_gets_its_own_key_and_nothing_of_chat(
    server: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    variables = own_server(
        server, EMBEDDINGS_IS_OWN="false", EMBEDDINGS_API_KEY="vect0r-key", AI_EMBEDDINGS_MODEL="bge-m3"
    )
    with caplog.at_level(logging.DEBUG):
        async with sources(variables) as (alone,):
            assert alone.models == {ModelTask.EMBEDDINGS: "bge-m3"}
            server.status = 401
            with pytest.raises(ProviderFailed, match="401"):
                await alone.provider.embed(["snow"], TextKind.DOCUMENT, model="bge-m3", timeout_seconds=20)
    assert server.authorizations == ["Bearer vect0r-key"]
    assert "vect0r-key" not in caplog.text
    server.status, server.authorizations = 200, []
    async with sources({**variables, "EMBEDDINGS_API_KEY": "", "OPENAI_API_KEY": "chat-key"}) as (both,):
        assert set(both.models) == set(ModelTask)
        await both.provider.embed(["snow"], TextKind.DOCUMENT, model="bge-m3", timeout_seconds=20)
    assert server.authorizations == ["Bearer none"], "the key for chat stays with chat"


@pytest.mark.turns("EMBEDDINGS_QUERY_PREFIX")
@pytest.mark.turns("EMBEDDINGS_DOCUMENT_PREFIX")
async def test_queries_and_posts_get_the_prefixes_that_the_model_needs(
    open_program: Opened, server: FakeServer
) -> None:
    prefixes = {"EMBEDDINGS_QUERY_PREFIX": "query: ", "EMBEDDINGS_DOCUMENT_PREFIX": "passage: "}
    async with open_program(**own_server(server, **prefixes)) as app:
        tenant_id = await make_payer(app.system, consents=False)
        channel_id = await make_followed(app.system, (tenant_id, AiPolicy.LOCAL))
        await app.gate.vectors(["snow"], channel_id=channel_id)
        await app.questions.vectors(["rain"], tenant_id=tenant_id)
    assert server.embedded_texts == ["passage: snow", "query: rain"]


async def test_other_prefixes_are_other_vectors_so_no_cached_one_serves(
    open_program: Opened, server: FakeServer, prices: Path
) -> None:
    text = fresh_text()
    for prefix in ("", "passage: "):
        variables = server.openai(AI_EMBEDDINGS="openai", AI_PRICES_FILE=str(prices))
        async with open_program(**variables, EMBEDDINGS_DOCUMENT_PREFIX=prefix) as app:
            channel_id, _ = await make_paid_channel(app.system)
            await app.gate.vectors([text], channel_id=channel_id)
    assert server.embedded_texts == [text, f"passage: {text}"]


async def test_a_server_gets_at_most_thirty_two_texts_at_once(
    open_program: Opened, server: FakeServer
) -> None:
    async with open_program(**own_server(server)) as app:
        channel_id = await make_followed(
            app.system, (await make_payer(app.system, consents=False), AiPolicy.LOCAL)
        )
        texts = ["a" * number for number in range(1, 71)]
        made = await app.gate.vectors(texts, channel_id=channel_id)
    assert [vector[0] for vector in made.value or ()] == [float(len(text)) for text in texts]
    assert server.request_counts["embeddings"] == 3


def test_no_server_is_own_by_accident() -> None:
    with pytest.raises(SettingsError, match="EMBEDDINGS_IS_OWN is wrong: set EMBEDDINGS_BASE_URL, too"):
        read_settings({**SERVERS, "AI_EMBEDDINGS": "openai", "EMBEDDINGS_IS_OWN": "true"})
    loopback = read_settings(
        {**SERVERS, "AI_EMBEDDINGS": "openai", "EMBEDDINGS_BASE_URL": "http://127.0.0.1:1/v1"}
    )
    assert loopback.local_vectors_model is None
