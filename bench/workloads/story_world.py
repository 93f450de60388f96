"""The measuring world as benches about stories read it: posts with what is true of them,
stored as the program stores them.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from statistics import fmean

from bench.workloads.demo_posts import NOW
from telegram_assistant.assembly import App
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.near_copies import fold_text
from telegram_assistant.domain.posts.post import Origin, Post, PostKind, TextEntity
from telegram_assistant.domain.stories.terms import PERIOD_SECONDS
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_simulator.world.demo.demo import Demo, DemoPast
from telegram_simulator.world.demo.links import SITE
from telegram_simulator.world.demo.plan import Kind, Planned, Role, Shows
from telegram_simulator.world.demo.texts import text_of
from telegram_simulator.world.unruly.unruly import make_unruly_world
from testkit.factories import make_page, make_post

MEASURING_DAYS = 49
POSTS_PER_PAGE = 500
PICTURES = frozenset({Shows.PHOTO, Shows.PNG, Shows.WEBP})
"""Posts that show one of these are photos; the others count as texts."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPost:
    """A post and the truth about it."""

    post: Post
    planned: Planned
    is_private: bool
    username: str
    truth: object
    """Equal for posts that tell the same.

    Without a story: posts in the same words within 72 hours of each other, and those of one album.
    """

    def move(self, by: timedelta, messages: int) -> "LabelledPost":
        """The same post later, under other message ids."""
        post, origin = self.post, self.post.forwarded_from
        moved = replace(
            post,
            message_id=MessageId(post.message_id + messages),
            posted_at=post.posted_at + by,
            reply_to=MessageId(post.reply_to + messages) if post.reply_to else None,
            forwarded_from=Origin(origin.channel_id, MessageId(origin.message_id + messages))
            if origin and origin.message_id
            else None,
        )
        return replace(self, post=moved)


def world(
    *, seed: int = 1, days: int = MEASURING_DAYS, with_advertising: bool = False, is_unruly: bool = False
) -> list[LabelledPost]:
    """All posts in the order of time, without service messages; advertising repeats itself.

    The unruly world also has round-ups, lists of statements, greetings, datelines and second nights.
    """
    left_out = {Kind.SERVICE} if with_advertising else {Kind.SERVICE, Kind.ADVERTISING}
    make_demo = make_unruly_world if is_unruly else Demo
    demo = make_demo(seed=seed, present=NOW, clock=lambda: NOW, days=days)
    posts = [
        _read_planned(demo, past, post)
        for past in demo.pasts
        for post in past.posts[1:]
        if post.kind not in left_out
    ]
    return _with_truth(sorted(posts, key=lambda post: (post.post.posted_at, post.post.id)))


def _with_truth(posts: Sequence[LabelledPost]) -> list[LabelledPost]:
    """Labels posts with their truth. A sentence of everyday life that is repeated weeks later counts as new:
    no reader looks for its first time in today's story.
    """
    occurrences: dict[str, tuple[datetime, int]] = {}
    judged = []
    for post in posts:
        truth: object
        if post.planned.story is not None:
            truth = post.planned.story.story_id
        elif post.post.grouped_id is not None:
            truth = post.post.channel_id, post.post.grouped_id
        elif words := fold_text(post.post.text):
            before, number = occurrences.get(words, (post.post.posted_at, 0))
            number += (post.post.posted_at - before).total_seconds() > PERIOD_SECONDS
            occurrences[words] = post.post.posted_at, number
            truth = words, number
        else:
            truth = post.post.id
        judged.append(replace(post, truth=truth))
    return judged


def _read_planned(demo: Demo, past: DemoPast, planned: Planned) -> LabelledPost:
    where = demo.where(planned)
    assert where is not None
    published = past.post(_place(past, planned), where[1])
    text = text_of(planned, 0, site=SITE)
    post = make_post(
        channel_id=ChannelId(where[0]),
        message_id=where[1],
        text=text.text,
        entities=tuple(
            TextEntity(entity.kind, entity.offset, entity.length, entity.url or None)
            for entity in text.entities
        ),
        posted_at=datetime.fromtimestamp(planned.date, UTC),
        lang=planned.root.channel.language,
        kind=PostKind.PHOTO if planned.shows in PICTURES else PostKind.TEXT,
        grouped_id=published.grouped_id,
        reply_to=published.reply_to,
    )
    if published.origin is not None:
        post = replace(
            post,
            forwarded_from=Origin(
                ChannelId(published.origin.channel_id), MessageId(published.origin.message_id)
            ),
        )
    return LabelledPost(post, planned, not planned.channel.name, planned.channel.name, None)


def _place(past: DemoPast, planned: Planned) -> int:
    places = _PLACES.setdefault(id(past), {id(post): place for place, post in enumerate(past.posts)})
    return places[id(planned)]


_PLACES: dict[int, dict[int, int]] = {}


async def land(app: App, posts: Sequence[LabelledPost]) -> None:
    """Stores the posts as ingest does."""
    for page in await pages_of_channels(app, posts, POSTS_PER_PAGE):
        await app.system.landing.land(make_page(*page), Claim(page[0].channel_id, 0))


async def pages_of_channels(app: App, posts: Sequence[LabelledPost], size: int) -> list[list[Post]]:
    """Registers the channels, and returns pages of their posts, each of one channel."""
    by_channel: dict[ChannelId, list[LabelledPost]] = defaultdict(list)
    for post in posts:
        by_channel[post.post.channel_id].append(post)
    for channel_id, its in by_channel.items():
        await app.system.channels.register(
            Channel(
                channel_id=channel_id,
                title=its[0].username or "private",
                username=its[0].username or None,
                is_private=its[0].is_private,
            )
        )
    return [
        [told_post.post for told_post in its[start : start + size]]
        for its in by_channel.values()
        for start in range(0, len(its), size)
    ]


def halves(posts: Sequence[LabelledPost]) -> tuple[list[LabelledPost], list[LabelledPost]]:
    """The posts to fit on, and those to report on: other kinds of events, in the later half of the days."""
    events = sorted({post.planned.story.event.name for post in posts if post.planned.story is not None})
    random.Random(3).shuffle(events)
    fitted = set(events[: len(events) // 2])
    middle = posts[0].post.posted_at + (posts[-1].post.posted_at - posts[0].post.posted_at) / 2

    def is_fitted(post: LabelledPost) -> bool:
        return (
            post.planned.story.event.name in fitted
            if post.planned.story is not None
            else post.planned.key // 16 % 2 == 0
        )

    return (
        [post for post in posts if is_fitted(post) and post.post.posted_at < middle],
        [post for post in posts if not is_fitted(post) and post.post.posted_at >= middle],
    )


def figures(posts: Sequence[LabelledPost], stories: Mapping[PostId, object]) -> dict[str, float]:
    """Precision of pairs and B-cubed over these posts; recall of each kind of post:
    linked to any earlier post of its story.
    """
    grouped = {post.post.id: stories.get(post.post.id, post.post.id) for post in posts}
    both = Counter((post.truth, grouped[post.post.id]) for post in posts)
    true, guessed = Counter(post.truth for post in posts), Counter(grouped.values())
    right = sum(map(_pairs, both.values()))
    precise = fmean(
        both[post.truth, grouped[post.post.id]] / guessed[grouped[post.post.id]] for post in posts
    )
    complete = fmean(both[post.truth, grouped[post.post.id]] / true[post.truth] for post in posts)
    return {
        "precision": round(right / max(sum(map(_pairs, guessed.values())), 1), 4),
        "pair_recall": round(right / max(sum(map(_pairs, true.values())), 1), 4),
        "b_cubed_f1": round(2 * precise * complete / (precise + complete), 4),
        "b_cubed_precision": round(precise, 4),
        "b_cubed_recall": round(complete, 4),
        **_recalls(posts, grouped),
        "first_source": _first_sources(posts, grouped),
    }


def _recalls(posts: Sequence[LabelledPost], grouped: Mapping[PostId, object]) -> dict[str, float]:
    kinds: dict[str, Callable[[LabelledPost], bool]] = {
        "forward": lambda told_post: told_post.planned.role is Role.FORWARD,
        "copy": lambda told_post: told_post.planned.role is Role.COPY,
        "rewrite": lambda told_post: told_post.planned.role is Role.REWRITE,
        "translation": lambda told_post: told_post.planned.role is Role.TRANSLATION,
        "follow_up": lambda told_post: told_post.planned.role is Role.FOLLOW_UP,
        "follow_up_without_reply": lambda told_post: (
            told_post.planned.role is Role.FOLLOW_UP and told_post.post.reply_to is None
        ),
        "picture": _shows_again,
    }
    earlier: dict[object, list[PostId]] = defaultdict(list)
    linked: dict[str, list[bool]] = {kind: [] for kind in kinds}
    for post in posts:
        if post.planned.story is None or post.planned.part:
            continue
        for kind, is_one in kinds.items():
            if earlier[post.truth] and is_one(post):
                linked[kind].append(
                    any(grouped[other] == grouped[post.post.id] for other in earlier[post.truth])
                )
        earlier[post.truth].append(post.post.id)
    return {
        **{f"recall_{kind}": round(fmean(values), 4) if values else 1.0 for kind, values in linked.items()},
        "unreplied_follow_ups": round(
            len(linked["follow_up_without_reply"]) / max(len(linked["follow_up"]), 1), 4
        ),
    }


def _shows_again(post: LabelledPost) -> bool:
    """Whether it shows a picture that was shown before in its story."""
    return post.planned.role in {Role.COPY, Role.REWRITE, Role.TRANSLATION} and post.planned.shows in PICTURES


def _first_sources(told_posts: Sequence[LabelledPost], grouped: Mapping[PostId, object]) -> float:
    """The share of later posts, without follow-ups, whose group begins with the right first post; over true
    stories that have their first post.
    """
    groups: dict[object, LabelledPost] = {}
    for told_post in told_posts:
        groups.setdefault(grouped[told_post.post.id], told_post)
    stories: dict[object, list[LabelledPost]] = defaultdict(list)
    for told_post in told_posts:
        if told_post.planned.story is not None:
            stories[told_post.truth].append(told_post)
    complete: Collection[list[LabelledPost]] = [
        posts for posts in stories.values() if posts[0].planned.role is Role.FIRST and len(posts) > 1
    ]
    right = [
        groups[grouped[post.post.id]] is posts[0]
        for posts in complete
        for post in posts[1:]
        if post.planned.role is not Role.FOLLOW_UP
    ]
    return round(fmean(right), 4)


def _pairs(count: int) -> float:
    return count * (count - 1) / 2
