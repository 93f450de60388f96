"""Real posts out of a file, landed and understood as the program does it, day by day."""

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import asyncpg

from telegram_assistant.ai.outputs import Tags
from telegram_assistant.assembly import App
from telegram_assistant.domain.channels.channel import Channel
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.posts.post import Post, TextEntity, fingerprint
from telegram_assistant.domain.understanding.policy import Urgency
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import derived_of
from testkit.factories import make_page

BATCH = 200
ADVERTISEMENT = "advertisement"
LEGAL_MARK = re.compile(r"(?<![a-z])erid(?![a-z])", re.IGNORECASE)
"""Russian law asks for it in every paid post, in its text or in the address of its link."""


@dataclass(frozen=True, slots=True)
class RealPost:
    """A post, and what the file says of it."""

    post: Post
    channel: str
    language: str
    label: str

    @property
    def is_advertising(self) -> bool:
        """By the label of the file, which is noisy, or by the mark that law asks for."""
        addresses = (entity.url for entity in self.post.entities if entity.url)
        return self.label == ADVERTISEMENT or any(map(LEGAL_MARK.search, (self.post.text, *addresses)))


def read_posts(file: Path) -> list[RealPost]:
    """All posts in the order of time. The file has a JSON object a line, and may be packed by gzip."""
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    rows = [json.loads(line) for line in content.decode("utf-8").splitlines() if line.strip()]
    channels = {source: place for place, source in enumerate(sorted({row["source"] for row in rows}), 1)}
    posts = []
    for row in rows:
        entities = tuple(
            TextEntity(entity["kind"], entity["offset"], entity["length"], entity.get("url"))
            for entity in row["entities"]
        )
        post = Post(
            channel_id=ChannelId(channels[row["source"]]),
            message_id=MessageId(row["id"]),
            posted_at=datetime.fromisoformat(row["date"]),
            text=row["text"],
            entities=entities,
            content_hash=fingerprint(row["text"], entities),
        )
        posts.append(RealPost(post, row["source"], row["lang"], row["label"]))
    return sorted(posts, key=lambda real_post: (real_post.post.posted_at, real_post.post.id))


def split_by_day(posts: Sequence[RealPost]) -> Iterator[list[RealPost]]:
    days: dict[date, list[RealPost]] = defaultdict(list)
    for post in posts:
        days[post.post.posted_at.date()].append(post)
    yield from days.values()


async def follow_channels(
    app: App, admin: "asyncpg.Connection[asyncpg.Record]", tenant_id: TenantId, posts: Sequence[RealPost]
) -> None:
    """Follows all channels of the posts, since long ago."""
    for channel_id, title in sorted({(post.post.channel_id, post.channel) for post in posts}):
        await app.system.channels.register(
            Channel(channel_id=channel_id, title=title, username=f"real_channel_{channel_id}")
        )
        await app.system.channels.subscribe(
            tenant_id, Subscription(channel_id=channel_id, history_days=EVERYTHING_DAYS)
        )
    await admin.execute("UPDATE subscriptions SET created_at = '2000-01-01', visible_from = '2000-01-01'")


async def understand_posts(
    app: App, admin: "asyncpg.Connection[asyncpg.Record]", posts: Sequence[RealPost]
) -> dict[PostId, Tags]:
    """Lands, derives, tags and groups the posts as if it were their day, and returns their tags."""
    by_channel: dict[ChannelId, list[Post]] = defaultdict(list)
    for post in posts:
        by_channel[post.post.channel_id].append(post.post)
    for channel_id, channel_posts in by_channel.items():
        await app.system.landing.land(make_page(*channel_posts), Claim(channel_id, 0))
    await admin.execute(
        "UPDATE posts SET stored_at = posted_at + interval '1 minute' "
        "WHERE stored_at > now() - interval '1 day'"
    )
    tags: dict[PostId, Tags] = {}
    for start in range(0, len(posts), BATCH):
        batch = [post.post for post in posts[start : start + BATCH]]
        stored = await app.system.posts.load([post.id for post in batch])
        await app.system.posts.save_derived([derived_of(stored_post) for stored_post in stored])
        for post_id, result in (await app.tagger.tag(stored, urgency=Urgency.LIVE)).items():
            if result.value is not None:
                tags[post_id] = result.value
        await app.story_builder.group([post.id for post in batch], now=batch[-1].posted_at)
    return tags
