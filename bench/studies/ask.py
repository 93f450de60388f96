"""How well questions are answered: 325 of them about the demo world's last posts, of which 150 have an
answer.

Asked twice: without any key, and with a provider that never says that it does not know and invents something
in three of ten sentences. Each figure is the worse of both.

`answered`: of those that posts answer, how many got an answer. `supported`: of the answers, how many cite a
post about the story that was asked about, in every sentence. `refused`: of the others, how many got none.
`recall`: of those that posts answer, how often a post about the story is among the passages. `right_day`: of
the answers to questions about a day, how many cite only posts of that day, where an older event of the same
kind and names exists. Nothing was fitted to these questions.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bench.workloads.ask_questions import (
    Question,
    dated_questions,
    day_of,
    is_about,
    questions_about,
    undated_traps,
)
from bench.workloads.demo_posts import NOW, text_of_post
from bench.workloads.search_recall import plan_posts
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
TRAPS = 25
"""Of each of the three kinds."""
DATED = 50
LIMITS = (
    *at_least(0.97, "supported", "refused"),
    *at_least(0.72, "answered"),
    *at_least(0.95, "right_day"),
)


async def land_words(app: App, tenant_id: TenantId, posts: Sequence[Planned]) -> dict[PostId, Planned]:
    """Stores the posts with their words; without vectors, as an installation without any model has them."""
    by_channel: dict[str, list[Planned]] = defaultdict(list)
    for planned in posts:
        by_channel[planned.channel.name].append(planned)
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
                text=text_of_post(planned_post),
                posted_at=datetime.fromtimestamp(planned_post.date, UTC),
                lang=planned_post.channel.language,
            )
            for place, planned_post in enumerate(its, start=1)
        ]
        await app.system.landing.land(make_page(*made), Claim(channel_id, 0))
        await app.system.posts.save_derived([Derived(post, 1, post.lang, ()) for post in made])
        stored |= {
            PostId(channel_id, MessageId(place)): planned_post
            for place, planned_post in enumerate(its, start=1)
        }
    return stored


async def measure(
    app: App,
    tenant_id: TenantId,
    questions: Sequence[Question],
    stored: Mapping[PostId, Planned],
    *,
    writer: TenantQuestions | None = None,
) -> tuple[dict[str, Any], list[Answer]]:
    began, cpu = time.monotonic(), own_cpu_seconds()
    now = datetime.fromtimestamp(NOW, UTC)
    stores = app.tenant(tenant_id)
    growing = (
        answer_question(question.text, tenant_id=tenant_id, stores=stores, index=None, now=now, writer=writer)
        for question in questions
    )
    answers = [await final_answer(growing_answer) for growing_answer in growing]
    took, cpu = time.monotonic() - began, own_cpu_seconds() - cpu
    pairs = list(zip(questions, answers, strict=True))
    can = [(question, answer) for question, answer in pairs if question.kind == "answerable"]
    dated = [
        (question, answer)
        for question, answer in pairs
        if question.kind == "dated" and answer.outcome is Outcome.ANSWERED
    ]
    cannot = [(question, answer) for question, answer in pairs if question.story is None]
    given = [(question, answer) for question, answer in can if answer.outcome is Outcome.ANSWERED]
    right = sum(
        all(
            is_about(question, stored[answer.passages[place].post_id])
            for sentence in answer.sentences
            for place in sentence.passages
        )
        for question, answer in given
    )
    on_day = sum(
        all(
            day_of(stored[answer.passages[place].post_id]) == question.day
            and is_about(question, stored[answer.passages[place].post_id])
            for sentence in answer.sentences
            for place in sentence.passages
        )
        for question, answer in dated
    )
    refused = Counter(question.kind for question, answer in cannot if answer.outcome is not Outcome.ANSWERED)
    recalled = sum(
        any(is_about(question, stored[passage.post_id]) for passage in answer.passages)
        for question, answer in can
    )
    return {
        "answered": round(len(given) / len(can), 3),
        "supported": round(right / max(len(given), 1), 3),
        "refused": round(refused.total() / len(cannot), 3),
        "recall": round(recalled / len(can), 3),
        "right_day": round(on_day / max(len(dated), 1), 3),
        "dated_answered": f"{len(dated)} of {sum(question.kind == 'dated' for question in questions)}",
        "refused_by_kind": {
            kind: f"{refused[kind]} of {count}"
            for kind, count in Counter(question.kind for question, _ in cannot).items()
        },
        "outcomes": dict(Counter(answer.outcome.value for answer in answers)),
        "questions": len(questions),
        "posts": len(stored),
        "ms_per_question": round(took / len(questions) * 1000, 1),
        "cpu_ms_per_question": round(cpu / len(questions) * 1000, 1),
    }, answers


async def run(*, seed: int, count: int, shows: bool) -> dict[str, object]:
    posts = plan_posts(POSTS * count // QUESTIONS)
    now = datetime.fromtimestamp(NOW, UTC)
    dated, twins = dated_questions(posts, DATED * count // QUESTIONS, now=now, seed=seed)
    traps = undated_traps([*posts, *twins], TRAPS * count // QUESTIONS, now=now, seed=seed)
    questions = [*questions_about(posts, count, seed=seed), *traps, *dated]
    model = InventingModel(seed)
    async with (
        fake_server() as server,
        own_database("tga_bench_ask", variables=server.openai()) as settings,
        assemble(settings) as app,
    ):
        server.says = model.answer
        tenant_id = (await app.system.tenants.ensure("bench")).tenant_id
        await app.system.ai_policies.consent(tenant_id, given_by="bench")
        stored = await land_words(app, tenant_id, [*twins, *posts])
        local, answers = await measure(app, tenant_id, questions, stored)
        written, by_provider = await measure(app, tenant_id, questions, stored, writer=app.questions)
    sentences = [sentence.text for answer in by_provider for sentence in answer.sentences]
    result: dict[str, object] = {
        "bench": "ask",
        **{
            key: min(local[key], written[key])
            for key in ("answered", "supported", "refused", "recall", "right_day")
        },
        "local": local,
        "provider": {
            **written,
            "written_by_provider": sum(answer.written_by is Tier.PROVIDER for answer in by_provider),
            "calls": server.calls,
            "sentences": model.written,
            "planted": len(model.planted),
            "planted_and_shown": sum(sentence in model.planted for sentence in sentences),
            "replaced": sum(answer.checks.replaced for answer in by_provider),
            "left_out": sum(len(answer.checks.left_out) for answer in by_provider),
        },
    }
    if shows:
        answers = by_provider
    if shows:
        for question, answer in zip(questions, answers, strict=True):
            sure = question.story is not None and all(
                is_about(question, stored[passage.post_id])
                for passage in answer.passages[: len(answer.sentences)]
            )
            print(
                question.kind,
                answer.outcome.value,
                sure,
                question.text,
                "|",
                " / ".join(sentence.text for sentence in answer.sentences),
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
