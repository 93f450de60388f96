"""How well posts are understood on this machine: 200 posts of the demo world, tagged through the gate, beside
what they are about. Two hundred are few (a figure of 0.7 may be 0.63 or 0.77), so the same is said of all its
posts.

The demo world has eight topics of its own; ours are more and other ones, so each of ours stands for one of
its (OURS). Advertising and service messages have no subject there and are only counted by kind. Copies and
look-alikes of the same world say how often two posts are taken for one text.
"""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from telegram_assistant.ai.answers import Material
from telegram_assistant.ai.local.understanding import LocalModels
from telegram_assistant.ai.local.vocabulary import packaged_vocabulary
from telegram_assistant.ai.outputs import Tags
from telegram_assistant.assembly import assemble
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.near_copies import Sketch, is_copy, sketch_of
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_simulator.world.demo.demo import DAYS, Demo
from telegram_simulator.world.demo.links import SITE
from telegram_simulator.world.demo.plan import Kind, Planned, Role
from telegram_simulator.world.demo.texts import text_of
from testkit.harness import arguments, at_least, finish, own_cpu_seconds, own_database

NOW = 1_794_700_000
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
LIMITS = (*at_least(0.7, "precision"), *at_least(0.48, "recall"))


def written(post: Planned) -> str:
    return text_of(post, 0, site=SITE).text


async def tagged(texts: Sequence[str]) -> list[Tags]:
    """Through the gate, for a channel that somebody follows with the policy `local`."""
    async with own_database("tga_bench_tagging") as settings, assemble(settings) as app:
        channel_id = ChannelId(1)
        tenant = await app.system.tenants.ensure("bench")
        await app.system.channels.register(Channel(channel_id=channel_id, title="bench"))
        await app.system.channels.subscribe(
            tenant.tenant_id, Subscription(channel_id=channel_id, history_days=EVERYTHING_DAYS)
        )
        vocabulary = await app.system.vocabularies.current()
        results = await app.gate.tags([Material(text, channel_id) for text in texts], vocabulary=vocabulary)
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


def copies(posts: Sequence[Planned]) -> dict[str, object]:
    """Of forwards and copies, how many are known as such; of posts about different stories,
    how many are taken for one.
    """
    sketches = {post.key: sketch_of(written(post), KEY) for post in posts}
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
        if post.kind is not Kind.SERVICE and post.part == 0 and written(post).strip()
    ]
    all_tags = dict(
        zip(
            [post.key for post in everything],
            asyncio.run(tagged([written(post) for post in everything])),
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
    }
    finish(
        {**result, "cpu_us_per_post": cpu_us([written(post) for post in everything[:TIMED]])},
        options,
        *LIMITS,
    )


if __name__ == "__main__":
    main()
