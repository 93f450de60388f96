"""How much of what a person looks for is among the first ten: by words, by meaning, and by both. The demo
world knows the truth.

A question is up to four words of one post about a story; relevant are the other posts about it, whoever tells
it in whichever language, and for `same_language` those in the question's language, by words. The question's
own post counts for nobody. The model that comes as a package reads English only. The ranking
(features/search/words.py) was tuned with other worlds (seeds 2 and 3).
"""

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from statistics import fmean

from bench.workloads.demo_posts import NOW, text_of_post
from telegram_assistant.assembly import App
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.search.fusion import fuse_rankings
from telegram_assistant.domain.search.parsing import parse_query
from telegram_assistant.domain.understanding.policy import FallbackReason
from telegram_assistant.features.search.meaning import OF_SEARCH
from telegram_assistant.features.search.words import find_by_words
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import derived_of
from telegram_assistant.stores.postgres.posts.rows import StoredPost
from telegram_assistant.stores.postgres.search.search import FAR_FUTURE, SearchFilters, SearchPosition
from telegram_assistant.vectors.protocol import Reach, VectorQuery
from telegram_simulator.world.demo.demo import DAYS, Demo
from telegram_simulator.world.demo.plan import Kind, Planned
from testkit.factories import make_page, make_post

FIRST = 10
MIN_RELEVANT = 3
_WORD = re.compile(r"[^\W\d_]{5,}")


def plan_posts(most: int) -> list[Planned]:
    """The last so many posts of the demo world."""
    demo = Demo(seed=1, present=NOW, clock=lambda: NOW, days=DAYS["demo"])
    posts = [
        post
        for past in demo.pasts
        for post in past.posts[1:]
        if post.kind is not Kind.SERVICE and post.part == 0 and text_of_post(post).strip()
    ]
    return sorted(posts, key=lambda post: post.date)[-most:]


async def land_world(app: App, tenant_id: TenantId, posts: Sequence[Planned]) -> dict[PostId, Planned]:
    """Stored, with words, and with vectors if the app has an index, under numbers of their own."""
    by_channel: dict[str, list[Planned]] = defaultdict(list)
    for planned in posts:
        by_channel[planned.channel.name].append(planned)
    stored: dict[PostId, Planned] = {}
    for number, (name, its) in enumerate(by_channel.items(), start=1):
        channel_id = ChannelId(number)
        await app.system.channels.register(Channel(channel_id=channel_id, title=name))
        await app.system.channels.subscribe(
            tenant_id, Subscription(channel_id=channel_id, history_days=EVERYTHING_DAYS)
        )
        made = {
            MessageId(place): make_post(
                channel_id=channel_id,
                message_id=place,
                text=text_of_post(planned_post),
                posted_at=datetime.fromtimestamp(planned_post.date, UTC),
                lang=planned_post.channel.language,
            )
            for place, planned_post in enumerate(its, start=1)
        }
        await app.system.landing.land(make_page(*made.values()), Claim(channel_id, 0))
        await app.system.posts.save_derived(
            [
                replace(derived_of(StoredPost(post, post.posted_at, None, 1)), lang=post.lang)
                for post in made.values()
            ]
        )
        stored |= {
            PostId(channel_id, MessageId(place)): planned_post
            for place, planned_post in enumerate(its, start=1)
        }
    ids = list(stored) if app.index is not None else []
    for start in range(0, len(ids), 100):
        assert app.index is not None
        await app.index.write(ids[start : start + 100])
    return stored


def choose_questions(stored: dict[PostId, Planned], most: int) -> list[tuple[str, PostId, set[PostId]]]:
    """A question, the post whose words it has, and the others that are relevant."""
    stories: dict[int, list[PostId]] = defaultdict(list)
    for post_id, planned in stored.items():
        if planned.story is not None:
            stories[planned.story.number].append(post_id)
    rng = random.Random(5)
    cases = []
    for ids in stories.values():
        if len(ids) <= MIN_RELEVANT:
            continue
        about = rng.choice(ids)
        words = list(dict.fromkeys(_WORD.findall(text_of_post(stored[about]).splitlines()[0])))
        if words:
            cases.append((" ".join(words[:4]), about, set(ids) - {about}))
    return rng.sample(cases, min(most, len(cases)))


async def recall(app: App, tenant_id: TenantId, *, posts: int, questions: int) -> dict[str, object]:
    stored = await land_world(app, tenant_id, plan_posts(posts))
    cases = choose_questions(stored, questions)
    by: dict[str, list[float]] = defaultdict(list)
    for question, about, relevant in cases:
        rankings = await rank_posts(app, tenant_id, question)
        for name, ranking in rankings.items():
            first = [post_id for post_id in ranking if post_id != about][:FIRST]
            by[name].append(len(relevant.intersection(first)) / min(FIRST, len(relevant)))
            by[f"{name}_{stored[about].channel.language}"].append(by[name][-1])
            if name == "fulltext" and (
                same := {
                    post_id
                    for post_id in relevant
                    if stored[post_id].channel.language == stored[about].channel.language
                }
            ):
                by["same_language"].append(len(same.intersection(first)) / min(FIRST, len(same)))
    return {
        **{f"recall_{name}": round(fmean(values), 3) for name, values in by.items()},
        "recall_questions": len(cases),
        "recall_posts": len(stored),
    }


async def rank_posts(app: App, tenant_id: TenantId, question: str) -> dict[str, Sequence[PostId]]:
    """As the feature ranks them, before copies are folded: each side in its own order, and both together."""
    assert app.meaning_search is not None
    words = app.tenant(tenant_id).words
    query = parse_query(question, today=datetime.fromtimestamp(NOW, UTC).date())
    by_words = (
        await find_by_words(query, SearchFilters(), before=SearchPosition(FAR_FUTURE), words=words)
    ).ranked
    reach = Reach(local=frozenset((await words.scope()).in_force.policies))
    hits = await app.meaning_search.nearest(
        question, VectorQuery(reach=reach, limit=OF_SEARCH.limit, without_ads=True), tenant_id=tenant_id
    )
    assert not isinstance(hits, FallbackReason)
    near = [hit.post_id for hit in hits if hit.score >= OF_SEARCH.min_score]
    return {"fused": fuse_rankings(by_words, near), "fulltext": by_words, "vectors": near}
