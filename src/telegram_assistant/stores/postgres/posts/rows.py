"""Maps posts to table columns and back; no other module knows both."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg
from pydantic_core import to_json

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.post import Origin, Post, PostKind, TextEntity

_AS_PUBLISHED = (
    "channel_id, message_id, posted_at, content_hash, kind, text, entities, edited_at, reply_to, "
    "fwd_channel_id, fwd_message_id, grouped_id, lang, author, facts"
)
OWN_STORED_AT = (
    "greatest(stored_at, (SELECT s.created_at FROM subscriptions s "
    "WHERE s.channel_id = posts.channel_id)) AS stored_at"
)
# Only a post that was stored before the tenant followed can have been edited before that; the function costs
# more than all the rest of a post.
UNSEEN_REVISIONS = """CASE WHEN {post}.stored_at < (SELECT s.created_at FROM subscriptions s
    WHERE s.channel_id = {post}.channel_id)
     THEN revisions_before({post}.channel_id, {post}.message_id) ELSE 0 END"""
"""The number of revisions that a tenant has not seen of a post of the table or alias `post`."""
OWN_REVISION = (
    f"CASE WHEN revision > 1 THEN revision - {UNSEEN_REVISIONS.format(post='posts')} ELSE revision END AS "
    "revision"
)

POST_COLUMNS = f"{_AS_PUBLISHED}, stored_at, deleted_at, revision"
OWN_POST_COLUMNS = f"{_AS_PUBLISHED}, {OWN_STORED_AT}, deleted_at, {OWN_REVISION}"
"""The columns of `posts` as a tenant sees them: stored no earlier than it began to follow,
with revisions counted from then.
"""


@dataclass(frozen=True, slots=True)
class StoredPost:
    """A post with the columns that Telegram does not know."""

    post: Post
    stored_at: datetime
    deleted_at: datetime | None
    revision: int


def stored_post(row: asyncpg.Record) -> StoredPost:
    """Reads a row selected with POST_COLUMNS."""
    origin = (
        None
        if row["fwd_channel_id"] is None
        else Origin(ChannelId(row["fwd_channel_id"]), row["fwd_message_id"])
    )
    post = Post(
        channel_id=ChannelId(row["channel_id"]),
        message_id=MessageId(row["message_id"]),
        posted_at=row["posted_at"],
        content_hash=row["content_hash"],
        kind=PostKind(row["kind"]),
        text=row["text"],
        entities=tuple(TextEntity(**entity) for entity in json.loads(row["entities"]))
        if row["entities"]
        else (),
        edited_at=row["edited_at"],
        reply_to=row["reply_to"],
        forwarded_from=origin,
        grouped_id=row["grouped_id"],
        lang=row["lang"],
        author=row["author"],
        facts=json.loads(row["facts"]) if row["facts"] else {},
    )
    return StoredPost(post, row["stored_at"], row["deleted_at"], row["revision"])


def as_columns(posts: Sequence[Post]) -> tuple[list[object], ...]:
    """The columns that landing and the benchmarks write, in the order of LANDED."""
    return (
        [post.message_id for post in posts],
        [post.posted_at for post in posts],
        [post.content_hash for post in posts],
        [post.kind.value for post in posts],
        [post.text for post in posts],
        [
            to_json([entity.as_json() for entity in post.entities]).decode() if post.entities else None
            for post in posts
        ],
        [post.edited_at for post in posts],
        [post.reply_to for post in posts],
        [post.forwarded_from.channel_id if post.forwarded_from else None for post in posts],
        [post.forwarded_from.message_id if post.forwarded_from else None for post in posts],
        [post.grouped_id for post in posts],
        [post.lang for post in posts],
        [post.author for post in posts],
        [to_json(post.facts).decode() if post.facts else None for post in posts],
    )


LANDED = (
    "message_id, posted_at, content_hash, kind, text, entities, edited_at, reply_to, fwd_channel_id, "
    "fwd_message_id, grouped_id, lang, author, facts"
)
LANDED_TYPES = (
    "bigint",
    "timestamptz",
    "bytea",
    "text",
    "text",
    "jsonb",
    "timestamptz",
    "bigint",
    "bigint",
    "bigint",
    "bigint",
    "text",
    "text",
    "jsonb",
)


def unnest_landed(first_parameter: int) -> str:
    """`unnest($first::bigint[], …)`: the columns of LANDED as a table;
    parameter number `first` is the first of them.
    """
    return (
        "unnest("
        + ", ".join(f"${first_parameter + n}::{kind}[]" for n, kind in enumerate(LANDED_TYPES))
        + ")"
    )
