"""Vectors: one model for the whole installation, paid for once, and none where policy forbids it."""

from datetime import timedelta
from pathlib import Path

from telegram_assistant.domain.ids import MessageId, PostId
from telegram_assistant.domain.understanding.policy import AiPolicy, FallbackReason, PendingImprovement, Tier
from testkit.models import MINILM
from testkit.provider_server import FakeServer
from tests.ai.conftest import Opened, fresh_text, make_followed, make_paid_channel, make_payer


async def test_vectors_of_a_provider_are_paid_once_and_have_no_local_substitute(
    open_program: Opened, server: FakeServer, prices: Path
) -> None:
    async with open_program(**server.gigachat(AI_EMBEDDINGS="gigachat", AI_PRICES_FILE=str(prices))) as app:
        channel_id, _ = await make_paid_channel(app.system)
        short, medium, long = (fresh_text("a" * number) for number in (1, 2, 3))
        first = await app.gate.vectors([short, medium], channel_id=channel_id)
        again = await app.gate.vectors([medium, long, short], channel_id=channel_id)
        assert (first.value, again.value) == (
            tuple((float(len(text)), 1.0, 0.5) for text in (short, medium)),
            tuple((float(len(text)), 1.0, 0.5) for text in (medium, long, short)),
        )
        cached = await app.gate.vectors([long], channel_id=channel_id)
        assert (cached.is_cached, server.request_counts["embeddings"]) == (True, 2)
        server.status = 500
        post_id = PostId(channel_id, MessageId(1))
        none = await app.gate.vectors([fresh_text()], channel_id=channel_id, post_id=post_id)
        assert (none.value, none.reason, none.is_wanted) == (None, FallbackReason.AWAY, True)


async def test_vectors_are_made_here_for_everybody_who_does_not_forbid_it(
    open_program: Opened, minilm: Path, server: FakeServer
) -> None:
    async with open_program(MODELS_DIR=str(minilm), AI_EMBEDDINGS_MODEL=MINILM, **server.gigachat()) as app:
        tenant_id = await make_payer(app.system, consents=False)
        channel_id = await make_followed(app.system, (tenant_id, AiPolicy.LOCAL))
        made = await app.gate.vectors(["snow"], channel_id=channel_id)
        answer = await app.questions.vectors(["snow"], tenant_id=tenant_id)
        assert made.value == answer.value
        assert (made.tier, made.model) == (Tier.LOCAL, MINILM)
    async with open_program() as app:
        missing = await app.gate.vectors(["snow"], channel_id=channel_id)
        assert (missing.value, missing.reason) == (None, FallbackReason.NO_PROVIDER)
    assert server.request_counts.total() == 0


async def test_posts_of_many_channels_get_their_vectors_together_each_as_its_channel_allows(
    open_program: Opened, server: FakeServer, prices: Path, minilm: Path
) -> None:
    async with open_program(**server.gigachat(AI_EMBEDDINGS="gigachat", AI_PRICES_FILE=str(prices))) as app:
        (paid, payer), (other, _) = await make_paid_channel(app.system), await make_paid_channel(app.system)
        same_payer = await make_followed(app.system, (payer, AiPolicy.PROVIDER))
        local, off = (
            await make_followed(app.system, (payer, AiPolicy.LOCAL)),
            await make_followed(app.system, (payer, AiPolicy.OFF)),
        )
        texts = {
            PostId(channel_id, MessageId(1)): fresh_text()
            for channel_id in (paid, local, other, off, same_payer)
        }
        made = await app.gate.post_vectors(texts)
        assert {post_id.channel_id for post_id in made.vectors} == {paid, other, same_payer}
        assert all(vector[0] == len(texts[post_id]) for post_id, vector in made.vectors.items())
        assert server.request_counts["embeddings"] == 2  # one call for each that pays
        server.status = 500
        none = await app.gate.post_vectors({PostId(paid, MessageId(2)): fresh_text()})
        assert (none.model, none.vectors) == ("", {})
        assert PendingImprovement(
            PostId(paid, MessageId(2)), "vectors"
        ) in await app.system.provider_wanted.take("vectors", limit=1000, lease=timedelta(seconds=1))
    async with open_program(MODELS_DIR=str(minilm), AI_EMBEDDINGS_MODEL=MINILM) as app:
        made = await app.gate.post_vectors(texts)
        assert {post_id.channel_id for post_id in made.vectors} == {paid, other, same_payer, local}
        assert made.model == MINILM
