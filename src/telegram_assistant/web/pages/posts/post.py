"""One post: text, files, versions, counts over time, who forwarded it, linked pages,
and what was understood.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.features.feed import person_feed
from telegram_assistant.features.posts.posts import load_versions, post_in_full
from telegram_assistant.features.stories.shared import shared_stories
from telegram_assistant.stores.postgres.feed.choices import Mutes
from telegram_assistant.stores.postgres.posts.post_details import CountsSeen
from telegram_assistant.web.views import Content, TenantView

MIN_POINTS = 2


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """A place on a chart, in percent of its width and height."""

    x: float
    y: float
    at: datetime
    value: int


async def show(view: TenantView) -> Content:
    post_id = view.post_id()
    full_post = await post_in_full(post_id, stores=view.stores)
    album = [PostId(post_id.channel_id, message_id) for message_id in full_post.detail.album] or [post_id]
    entries = person_feed.entries_of(await person_feed.read_posts(album, own=view.own), Mutes())
    stories = await shared_stories([post_id], stores=view.stores)
    return {
        "came_from": view.came_from(),
        "shared": stories.get(post_id),
        "full": full_post,
        "entry": entries[0],
        "versions": await load_versions(post_id, stores=view.stores)
        if full_post.detail.earlier_versions
        else (),
        "views": _points(full_post.detail.counts),
        "spread": _spread(
            [forward.posted_at for forward in full_post.detail.forwarded_by if forward.posted_at is not None]
        ),
    }


def _points(counts: Sequence[CountsSeen]) -> tuple[ChartPoint, ...]:
    """Views over time, for a line."""
    view_counts = [(count.seen_at, count.views) for count in counts if count.views is not None]
    return _chart(view_counts) if len(view_counts) >= MIN_POINTS else ()


def _spread(moments: Sequence[datetime]) -> tuple[ChartPoint, ...]:
    """Forwards over time, each one counted on top of those before it."""
    return (
        _chart([(moment, number) for number, moment in enumerate(sorted(moments), start=1)])
        if len(moments) >= MIN_POINTS
        else ()
    )


def _chart(values: Sequence[tuple[datetime, int]]) -> tuple[ChartPoint, ...]:
    first_at, last_at = values[0][0], values[-1][0]
    span = (last_at - first_at).total_seconds() or 1.0
    highest = max(value for _, value in values) or 1
    return tuple(
        ChartPoint(
            round(100 * (at - first_at).total_seconds() / span, 2),
            round(100 - 100 * value / highest, 2),
            at,
            value,
        )
        for at, value in values
    )
