"""The measuring world as benches about stories read it: posts with what is true of them,
stored as the program stores them.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from statistics import fmean

from bench.tagging import NOW
from telegram_assistant.assembly import App
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.near_copies import folded
from telegram_assistant.domain.posts.post import Origin, Post, PostKind, TextEntity
from telegram_assistant.domain.stories.terms import PERIOD_SECONDS
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_simulator.world.demo.demo import Demo, DemoPast
from telegram_simulator.world.demo.links import SITE
from telegram_simulator.world.demo.plan import Kind, Planned, Role, Shows
from telegram_simulator.world.demo.texts import text_of
from testkit.factories import make_page, make_post

MEASURING_DAYS = 49
PAGE = 500
PICTURES = frozenset({Shows.PHOTO, Shows.PNG, Shows.WEBP})
"""What is hashed and read."""


@dataclass(frozen=True, slots=True, eq=False)
class ToldPost:
    """A post and the truth about it."""

    post: Post
    planned: Planned
    is_private: bool
    username: str
    truth: object
    """Equal for posts that tell the same.

    Without a story: posts in the same words within 72 hours of each other, and those of one album.
    """

    def moved(self, by: timedelta, messages: int) -> "ToldPost":
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


def world(*, seed: int = 1, days: int = MEASURING_DAYS, with_advertising: bool = False) -> list[ToldPost]:
    """All posts in the order of time, without service messages; advertising repeats itself."""
    left_out = {Kind.SERVICE} if with_advertising else {Kind.SERVICE, Kind.ADVERTISING}
    demo = Demo(seed=seed, present=NOW, clock=lambda: NOW, days=days)
    told = [
        _read(demo, past, post) for past in demo.pasts for post in past.posts[1:] if post.kind not in left_out
    ]
    return _with_truth(sorted(told, key=lambda one: (one.post.posted_at, one.post.id)))


def _with_truth(told: Sequence[ToldPost]) -> list[ToldPost]:
    """A sentence of everyday life that is said again weeks later is said anew:
    no reader looks for the first time in today's story.
    """
    said: dict[str, tuple[datetime, int]] = {}
    found = []
    for one in told:
        truth: object
        if one.planned.story is not None:
            truth = one.planned.story.story_id
        elif one.post.grouped_id is not None:
            truth = one.post.channel_id, one.post.grouped_id
        elif words := folded(one.post.text):
            before, number = said.get(words, (one.post.posted_at, 0))
            number += (one.post.posted_at - before).total_seconds() > PERIOD_SECONDS
            said[words] = one.post.posted_at, number
            truth = words, number
        else:
            truth = one.post.id
        found.append(replace(one, truth=truth))
    return found


def _read(demo: Demo, past: DemoPast, planned: Planned) -> ToldPost:
    where = demo.where(planned)
    assert where is not None
    shown = past.post(_place(past, planned), where[1])
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
        lang=planned.channel.language,
        kind=PostKind.PHOTO if planned.shows in PICTURES else PostKind.TEXT,
        grouped_id=shown.grouped_id,
        reply_to=shown.reply_to,
    )
    if shown.origin is not None:
        post = replace(
            post,
            forwarded_from=Origin(ChannelId(shown.origin.channel_id), MessageId(shown.origin.message_id)),
        )
    return ToldPost(post, planned, not planned.channel.name, planned.channel.name, None)


def _place(past: DemoPast, planned: Planned) -> int:
    places = _PLACES.setdefault(id(past), {id(one): place for place, one in enumerate(past.posts)})
    return places[id(planned)]


_PLACES: dict[int, dict[int, int]] = {}


async def land(app: App, told: Sequence[ToldPost]) -> None:
    """Stores the posts as ingest does."""
    for page in await pages_of_channels(app, told, PAGE):
        await app.system.landing.land(make_page(*page), Claim(page[0].channel_id, 0))


async def pages_of_channels(app: App, told: Sequence[ToldPost], size: int) -> list[list[Post]]:
    """Registers the channels, and returns pages of their posts, each of one channel."""
    by_channel: dict[ChannelId, list[ToldPost]] = defaultdict(list)
    for one in told:
        by_channel[one.post.channel_id].append(one)
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
        [one.post for one in its[start : start + size]]
        for its in by_channel.values()
        for start in range(0, len(its), size)
    ]


def halves(told: Sequence[ToldPost]) -> tuple[list[ToldPost], list[ToldPost]]:
    """What may be fitted on, and what is reported: other kinds of events, in the later half of the days."""
    events = sorted({one.planned.story.event.name for one in told if one.planned.story is not None})
    random.Random(3).shuffle(events)
    fitted = set(events[: len(events) // 2])
    middle = told[0].post.posted_at + (told[-1].post.posted_at - told[0].post.posted_at) / 2

    def is_fitted(one: ToldPost) -> bool:
        return (
            one.planned.story.event.name in fitted
            if one.planned.story is not None
            else one.planned.key // 16 % 2 == 0
        )

    return (
        [one for one in told if is_fitted(one) and one.post.posted_at < middle],
        [one for one in told if not is_fitted(one) and one.post.posted_at >= middle],
    )


def figures(told: Sequence[ToldPost], stories: Mapping[PostId, object]) -> dict[str, float]:
    """Precision of pairs and B-cubed over these posts; recall of each kind of post:
    linked to any earlier post of its story.
    """
    grouped = {one.post.id: stories.get(one.post.id, one.post.id) for one in told}
    both = Counter((one.truth, grouped[one.post.id]) for one in told)
    true, found = Counter(one.truth for one in told), Counter(grouped.values())
    right = sum(map(_pairs, both.values()))
    precise = fmean(both[one.truth, grouped[one.post.id]] / found[grouped[one.post.id]] for one in told)
    complete = fmean(both[one.truth, grouped[one.post.id]] / true[one.truth] for one in told)
    return {
        "precision": round(right / max(sum(map(_pairs, found.values())), 1), 4),
        "pair_recall": round(right / max(sum(map(_pairs, true.values())), 1), 4),
        "b_cubed_f1": round(2 * precise * complete / (precise + complete), 4),
        "b_cubed_precision": round(precise, 4),
        "b_cubed_recall": round(complete, 4),
        **_recalls(told, grouped),
        "first_source": _first_sources(told, grouped),
    }


def _recalls(told: Sequence[ToldPost], grouped: Mapping[PostId, object]) -> dict[str, float]:
    kinds: dict[str, Callable[[ToldPost], bool]] = {
        "forward": lambda one: one.planned.role is Role.FORWARD,
        "copy": lambda one: one.planned.role is Role.COPY,
        "rewrite": lambda one: one.planned.role is Role.REWRITE,
        "translation": lambda one: one.planned.role is Role.TRANSLATION,
        "follow_up": lambda one: one.planned.role is Role.FOLLOW_UP and one.post.reply_to is None,
        "picture": _shows_again,
    }
    earlier: dict[object, list[PostId]] = defaultdict(list)
    found: dict[str, list[bool]] = {kind: [] for kind in kinds}
    for one in told:
        if one.planned.story is None or one.planned.part:
            continue
        for kind, is_one in kinds.items():
            if earlier[one.truth] and is_one(one):
                found[kind].append(
                    any(grouped[other] == grouped[one.post.id] for other in earlier[one.truth])
                )
        earlier[one.truth].append(one.post.id)
    return {f"recall_{kind}": round(fmean(values), 4) if values else 1.0 for kind, values in found.items()}


def _shows_again(one: ToldPost) -> bool:
    """Whether it shows a picture that was shown before in its story."""
    return one.planned.role in {Role.COPY, Role.REWRITE, Role.TRANSLATION} and one.planned.shows in PICTURES


def _first_sources(told: Sequence[ToldPost], grouped: Mapping[PostId, object]) -> float:
    """Of true stories whose first post is there: the share whose post
    by somebody else names the right first post.
    """
    groups: dict[object, ToldPost] = {}
    for one in told:
        groups.setdefault(grouped[one.post.id], one)
    stories: dict[object, list[ToldPost]] = defaultdict(list)
    for one in told:
        if one.planned.story is not None:
            stories[one.truth].append(one)
    complete: Collection[list[ToldPost]] = [
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
