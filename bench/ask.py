"""How well questions are answered: 200 of them about the demo world's last posts, half of which no post
answers.

Asked twice: without any key, and with a provider that never says that it does not know and invents something
in three of ten sentences. Each figure is the worse of both.

`answered`: of those that posts answer, how many got an answer. `supported`: of the answers, how many cite a
post about the story that was asked about, in every sentence. `refused`: of the others, how many got none.
`recall`: of those that posts answer, how often a post about the story is among the passages. Nothing was
fitted to these questions.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bench.ask_questions import Asked, is_about, questions_about
from bench.search_recall import told
from bench.tagging import NOW, written
from telegram_assistant.ai.tenant_questions import TenantQuestions
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.understanding.policy import AiPolicy, Tier
from telegram_assistant.features.ask.answers import Answer, Outcome
from telegram_assistant.features.ask.ask import answer_question, final_answer
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_simulator.world.demo.plan import Planned
from testkit.factories import make_page, make_post
from testkit.harness import arguments, at_least, finish, own_cpu_seconds, own_database
from testkit.inventing_provider import InventingModel
from testkit.provider_server import fake_server

POSTS = 2_900
QUESTIONS = 200
LIMITS = (*at_least(0.95, "supported"), *at_least(0.9, "refused"), *at_least(0.6, "answered"))


async def land_words(app: App, tenant_id: TenantId, posts: Sequence[Planned]) -> dict[PostId, Planned]:
    """Stores the posts with their words; without vectors, as an installation without any model has them."""
    by_channel: dict[str, list[Planned]] = defaultdict(list)
    for one in posts:
        by_channel[one.channel.name].append(one)
    stored: dict[PostId, Planned] = {}
    for number, its in enumerate(by_channel.values(), start=1):
        channel_id = ChannelId(number)
        await app.system.channels.register(Channel(channel_id=channel_id, title=its[0].channel.title))
        await app.system.channels.subscribe(
            tenant_id,
            Subscription(channel_id=channel_id, history_days=EVERYTHING_DAYS, ai_policy=AiPolicy.PROVIDER),
        )
        made = [
            make_post(
                channel_id=channel_id,
                message_id=place,
                text=written(one),
                posted_at=datetime.fromtimestamp(one.date, UTC),
                lang=one.channel.language,
            )
            for place, one in enumerate(its, start=1)
        ]
        await app.system.landing.land(make_page(*made), Claim(channel_id, 0))
        await app.system.posts.save_derived([Derived(post, 1, post.lang, ()) for post in made])
        stored |= {PostId(channel_id, MessageId(place)): one for place, one in enumerate(its, start=1)}
    return stored


async def measure(
    app: App,
    tenant_id: TenantId,
    asked: Sequence[Asked],
    stored: Mapping[PostId, Planned],
    *,
    writer: TenantQuestions | None = None,
) -> tuple[dict[str, Any], list[Answer]]:
    began, cpu = time.monotonic(), own_cpu_seconds()
    now = datetime.fromtimestamp(NOW, UTC)
    stores = app.tenant(tenant_id)
    growing = (
        answer_question(one.text, tenant_id=tenant_id, stores=stores, index=None, now=now, writer=writer)
        for one in asked
    )
    answers = [await final_answer(one) for one in growing]
    took, cpu = time.monotonic() - began, own_cpu_seconds() - cpu
    pairs = list(zip(asked, answers, strict=True))
    can = [(one, answer) for one, answer in pairs if one.story is not None]
    cannot = [(one, answer) for one, answer in pairs if one.story is None]
    given = [(one, answer) for one, answer in can if answer.outcome is Outcome.ANSWERED]
    right = sum(
        all(
            is_about(one, stored[answer.passages[place].post_id])
            for said in answer.sentences
            for place in said.passages
        )
        for one, answer in given
    )
    refused = Counter(one.kind for one, answer in cannot if answer.outcome is not Outcome.ANSWERED)
    found = sum(
        any(is_about(one, stored[passage.post_id]) for passage in answer.passages) for one, answer in can
    )
    return {
        "answered": round(len(given) / len(can), 3),
        "supported": round(right / max(len(given), 1), 3),
        "refused": round(refused.total() / len(cannot), 3),
        "recall": round(found / len(can), 3),
        "refused_by_kind": {
            kind: f"{refused[kind]} of {count}"
            for kind, count in Counter(one.kind for one, _ in cannot).items()
        },
        "outcomes": dict(Counter(answer.outcome.value for answer in answers)),
        "questions": len(asked),
        "posts": len(stored),
        "ms_per_question": round(took / len(asked) * 1000, 1),
        "cpu_ms_per_question": round(cpu / len(asked) * 1000, 1),
    }, answers


async def run(*, seed: int, count: int, shows: bool) -> dict[str, object]:
    posts = told(POSTS * count // QUESTIONS)
    asked = questions_about(posts, count, seed=seed)
    model = InventingModel(seed)
    async with (
        fake_server() as server,
        own_database("tga_bench_ask", variables=server.openai()) as settings,
        assemble(settings) as app,
    ):
        server.says = model.answer
        tenant_id = (await app.system.tenants.ensure("bench")).tenant_id
        await app.system.ai_policies.consent(tenant_id, given_by="bench")
        stored = await land_words(app, tenant_id, posts)
        local, answers = await measure(app, tenant_id, asked, stored)
        written, by_provider = await measure(app, tenant_id, asked, stored, writer=app.questions)
    shown = [sentence.text for answer in by_provider for sentence in answer.sentences]
    result: dict[str, object] = {
        "bench": "ask",
        **{key: min(local[key], written[key]) for key in ("answered", "supported", "refused", "recall")},
        "local": local,
        "provider": {
            **written,
            "written_by_provider": sum(answer.written_by is Tier.PROVIDER for answer in by_provider),
            "calls": server.calls,
            "sentences": model.written,
            "planted": len(model.planted),
            "planted_and_shown": sum(one in model.planted for one in shown),
            "replaced": sum(answer.checks.replaced for answer in by_provider),
            "left_out": sum(len(answer.checks.left_out) for answer in by_provider),
        },
    }
    if shows:
        answers = by_provider
    if shows:
        for one, answer in zip(asked, answers, strict=True):
            sure = one.story is not None and all(
                is_about(one, stored[passage.post_id]) for passage in answer.passages[: len(answer.sentences)]
            )
            print(
                one.kind,
                answer.outcome.value,
                sure,
                one.text,
                "|",
                " / ".join(said.text for said in answer.sentences),
            )
    return result


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--seed",
        type=int,
        default=11,
        help="of the questions; the figures in the documentation are of the default",
    )
    parser.add_argument(
        "--questions", type=int, default=QUESTIONS, help="fewer for a first look; there are fewer posts, too"
    )
    parser.add_argument("--show", action="store_true", help="print every question and its answer")
    options = parser.parse_args()
    finish(asyncio.run(run(seed=options.seed, count=options.questions, shows=options.show)), options, *LIMITS)


if __name__ == "__main__":
    main()
