"""How well posts are understood on this machine: 200 posts of the demo world, tagged through the gate, beside
what they are about. Two hundred are few (a figure of 0.7 may be 0.63 or 0.77), so the same is said of all its
posts.

The demo world has eight topics of its own; ours are more and other ones, so each of ours stands for one of
its (OURS). Advertising and service messages have no subject there and are only counted by kind. Copies and
look-alikes of the same world say how often two posts are taken for one text.

Hidden advertising is measured in the unruly world: four kinds of it, beside all its other posts.
"""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.workloads.demo_posts import NOW, text_of_post
from telegram_assistant.ai.gate_results import Material
from telegram_assistant.ai.local.understanding import LocalModels
from telegram_assistant.ai.local.vocabulary import packaged_vocabulary
from telegram_assistant.ai.outputs import Tags
from telegram_assistant.assembly import assemble
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.links import urls_of
from telegram_assistant.domain.posts.near_copies import Sketch, is_copy, sketch_of
from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_simulator.world.demo.demo import DAYS, Demo
from telegram_simulator.world.demo.links import SITE
from telegram_simulator.world.demo.plan import Kind, Planned, Role
from telegram_simulator.world.demo.texts import text_of
from telegram_simulator.world.unruly.unruly import make_unruly_world
from testkit.harness import arguments, at_least, finish, own_cpu_seconds, own_database

KEY = b"bench"
POSTS = 200
TIMED = 4000
OURS = {
    "city": ("city", "transport", "weather"),
    "incident": ("accidents", "crime"),
    "tech": ("technology", "ai"),
    "science": ("science", "space", "health", "ecology"),
    "sport": ("sports",),
    "market": ("markets", "economy", "companies", "energy", "jobs"),
    "culture": ("culture", "cinema", "religion"),
    "osint": ("osint", "war"),
}
"""Of the world's topics, which of ours mean the same.

Politics, law, education and others have none there: they count as wrong.
"""
THEIRS = {ours: theirs for theirs, all_ours in OURS.items() for ours in all_ours}
UNRULY_DAYS = 14
LIMITS = (
    *at_least(0.7, "precision"),
    *at_least(0.48, "recall"),
    *at_least(0.95, "hidden_ads_precision"),
    *at_least(0.95, "hidden_ads_recall"),
)


async def tag_texts(texts: Sequence[str], addresses: Sequence[Sequence[str]] = ()) -> list[Tags]:
    """Through the gate, for a channel that somebody follows with the policy `local`."""
    async with own_database("tga_bench_tagging") as settings, assemble(settings) as app:
        channel_id = ChannelId(1)
        tenant = await app.system.tenants.ensure("bench")
        await app.system.channels.register(Channel(channel_id=channel_id, title="bench"))
        await app.system.channels.subscribe(
            tenant.tenant_id, Subscription(channel_id=channel_id, history_days=EVERYTHING_DAYS)
        )
        vocabulary = await app.system.vocabularies.current()
        materials = [
            Material(text, channel_id, addresses=behind)
            for text, behind in itertools.zip_longest(texts, addresses, fillvalue=())
            if isinstance(text, str)
        ]
        results = await app.gate.tags(materials, vocabulary=vocabulary)
        return [result.value for result in results if result.value is not None]


def topics(posts: Sequence[Planned], tags: Sequence[Tags]) -> dict[str, object]:
    pairs = [
        (post.topic, THEIRS.get(guess.topic, guess.topic))
        for post, guess in zip(posts, tags, strict=True)
        if post.kind in {Kind.NEWS, Kind.OPINION}
    ]
    right = Counter(true for true, guess in pairs if true == guess)
    guesses = Counter(guess for _, guess in pairs if guess)
    real = Counter(true for true, _ in pairs)
    return {
        "posts": len(pairs),
        "precision": round(right.total() / guesses.total(), 3),
        "recall": round(right.total() / len(pairs), 3),
        "by_topic": {
            topic: f"{right[topic] / max(guesses[topic], 1):.2f}/{right[topic] / real[topic]:.2f}"
            for topic in OURS
            if real[topic]
        },
    }


def kinds(posts: Sequence[Planned], tags: Sequence[Tags]) -> dict[str, object]:
    pairs = [(post.kind.value, str(guess.kind)) for post, guess in zip(posts, tags, strict=True)]
    ads = [(post.kind is Kind.ADVERTISING, guess.is_ad) for post, guess in zip(posts, tags, strict=True)]
    return {
        "kinds_right": round(sum(true == guess for true, guess in pairs) / len(pairs), 3),
        "ads_precision": round(sum(all(pair) for pair in ads) / max(sum(guess for _, guess in ads), 1), 3),
        "ads_recall": round(sum(all(pair) for pair in ads) / max(sum(true for true, _ in ads), 1), 3),
    }


def hidden_ads() -> dict[str, object]:
    """How much of the unruly world's advertising is known as such, and how much of that is advertising."""
    world = make_unruly_world(seed=1, present=NOW, clock=lambda: NOW, days=UNRULY_DAYS)
    posts = [
        (post, text)
        for past in world.pasts
        for post in past.posts[1:]
        if post.kind is not Kind.SERVICE and post.part == 0 and (text := text_of(post, 0, site=SITE)).text
    ]
    addresses = [
        urls_of(
            text.text,
            [
                TextEntity(entity.kind, entity.offset, entity.length, entity.url or None)
                for entity in text.entities
            ],
        )
        for _, text in posts
    ]
    tags = asyncio.run(tag_texts([text.text for _, text in posts], addresses))
    recall: dict[str, list[bool]] = {}
    for (post, _), guess in zip(posts, tags, strict=True):
        for planted in post.planted.kinds if post.planted is not None else ():
            if planted.startswith("advertising "):
                recall.setdefault(planted.removeprefix("advertising "), []).append(guess.is_ad)
    planted_ads = [is_known for known in recall.values() for is_known in known]
    guesses = [
        post.kind is Kind.ADVERTISING for (post, _), guess in zip(posts, tags, strict=True) if guess.is_ad
    ]
    return {
        "unruly_posts": len(posts),
        "hidden_ads": len(planted_ads),
        "hidden_ads_precision": round(sum(guesses) / max(len(guesses), 1), 3),
        "hidden_ads_recall": round(sum(planted_ads) / len(planted_ads), 3),
        "hidden_ads_by_kind": {kind: round(sum(known) / len(known), 3) for kind, known in recall.items()},
    }


def copies(posts: Sequence[Planned]) -> dict[str, object]:
    """Of forwards and copies, how many are known as such; of posts about different stories,
    how many are taken for one.
    """
    sketches = {post.key: sketch_of(text_of_post(post), KEY) for post in posts}
    copied = [
        post
        for post in posts
        if post.role in {Role.FORWARD, Role.COPY} and post.source is not None and post.source.key in sketches
    ]
    known = sum(
        is_copy(sketches[post.key], sketches[post.source.key]) for post in copied if post.source is not None
    )
    buckets: dict[bytes, list[tuple[Planned, Sketch]]] = {}
    for post in posts:
        buckets.setdefault(sketches[post.key].bucket, []).append((post, sketches[post.key]))
    merged = [
        (first, other)
        for bucket in buckets.values()
        for (first, sketch), (other, second) in itertools.combinations(bucket, 2)
        if is_copy(sketch, second) and first.story is not None and other.story is not None
    ]
    others = [(first, other) for first, other in merged if first.story is not other.story]
    wrong = sum(sketches[first.key].content != sketches[other.key].content for first, other in others)
    return {
        "copies": len(copied),
        "copies_known": round(known / max(len(copied), 1), 3),
        "merged_pairs": len(merged),
        "merged_of_two_stories": wrong,
        "same_words_of_two_stories": len(others) - wrong,
    }


def cpu_us(texts: Sequence[str]) -> int:
    """Of one post, once the dictionary is loaded."""
    tagger, vocabulary = asyncio.run(LocalModels(models=Path()).load()), packaged_vocabulary()
    for text in texts[:100]:
        tagger.tags(text, vocabulary)
    began = own_cpu_seconds()
    for text in texts:
        tagger.tags(text, vocabulary)
    return round((own_cpu_seconds() - began) / len(texts) * 1e6)


def main() -> None:
    options = arguments(__doc__).parse_args()
    demo = Demo(seed=1, present=NOW, clock=lambda: NOW, days=DAYS["demo"])
    everything = [
        post
        for past in demo.pasts
        for post in past.posts[1:]
        if post.kind is not Kind.SERVICE and post.part == 0 and text_of_post(post).strip()
    ]
    all_tags = dict(
        zip(
            [post.key for post in everything],
            asyncio.run(tag_texts([text_of_post(post) for post in everything])),
            strict=True,
        )
    )
    sample = random.Random(20261101).sample(everything, POSTS)
    tags = [all_tags[post.key] for post in sample]
    whole = topics(everything, list(all_tags.values()))
    beside = {f"{name}_of_all": whole[name] for name in ("posts", "precision", "recall")}
    result = {
        "bench": "tagging",
        **topics(sample, tags),
        **beside,
        **kinds(sample, tags),
        **copies(everything),
        **hidden_ads(),
    }
    finish(
        {**result, "cpu_us_per_post": cpu_us([text_of_post(post) for post in everything[:TIMED]])},
        options,
        *LIMITS,
    )


if __name__ == "__main__":
    main()
