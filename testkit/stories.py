"""Stories as the pipeline would have stored them, for what shows them."""

import json
from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID, uuid4

import asyncpg

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.similarity import COARSE_BITS, Look
from telegram_assistant.domain.stories.bursts import bursting_posts
from telegram_assistant.domain.stories.story import LinkKind

type StoryLink = tuple[PostId, PostId, LinkKind, float, bool]
"""The later post, the earlier one, kind, score, and whether an end of it is private."""


async def store_story(
    admin: asyncpg.Connection,
    posts: Sequence[PostId],
    links: Sequence[StoryLink],
    *,
    story_id: UUID | None = None,
) -> UUID:
    """Writes one story of stored posts; those without a link are in it, too."""
    known = story_id or uuid4()
    await admin.execute(
        """
        INSERT INTO stories (story_id, first_posted_at, last_posted_at, posts) VALUES ($1, now(), now(), $2)
        ON CONFLICT (story_id) DO UPDATE SET posts = stories.posts + excluded.posts
        """,
        known,
        len(posts),
    )
    await admin.execute(
        """
        INSERT INTO story_posts (channel_id, message_id, story_id, posted_at, link, terms_hash)
        SELECT p.channel_id, p.message_id, $1, p.posted_at, 'rewrite', 0 FROM posts p
        JOIN unnest($2::bigint[], $3::bigint[]) AS w(channel_id, message_id) USING (channel_id, message_id)
        """,
        known,
        [post.channel_id for post in posts],
        [post.message_id for post in posts],
    )
    rows = await admin.fetch(
        "SELECT posted_at, channel_id, message_id FROM story_posts WHERE story_id = $1", known
    )
    bursting = bursting_posts(
        (row["posted_at"], PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"]))) for row in rows
    )
    await admin.executemany(
        "UPDATE story_posts SET is_bursting = true WHERE channel_id = $1 AND message_id = $2",
        [(post.channel_id, post.message_id) for post in bursting],
    )
    await admin.executemany(
        """
        INSERT INTO story_links
            (channel_id, message_id, other_channel_id, other_message_id, kind, score, is_leaf, posted_at,
                other_posted_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, p.posted_at, o.posted_at
        FROM posts p, posts o WHERE p.channel_id = $1 AND p.message_id = $2 AND o.channel_id = $3
            AND o.message_id = $4
        """,
        [
            (post.channel_id, post.message_id, other.channel_id, other.message_id, kind.value, score, leaf)
            for post, other, kind, score, leaf in links
        ],
    )
    return known


async def show_picture(
    admin: asyncpg.Connection, post: PostId, look: Look, words: str, *, width: int = 640, height: int = 400
) -> str:
    """A stored picture of a post as if it had been looked at; returns the hash of its file,
    which is another for every post.
    """
    digest = sha256(repr((post, look, words)).encode()).digest()
    coarse = look.coarse - 2**COARSE_BITS if look.coarse >= 2 ** (COARSE_BITS - 1) else look.coarse
    await admin.execute(
        "INSERT INTO media_objects (sha256, size_bytes, phash, phash_fine) VALUES ($1, 1, $2, $3)",
        digest,
        coarse,
        look.fine.to_bytes(32),
    )
    await admin.execute(
        "INSERT INTO media_results (sha256, tier, provider, model, prompt_version, data) "
        "VALUES ($1, 'local', '', '', '', $2)",
        digest,
        json.dumps({"text": words}),
    )
    await admin.execute(
        """
        INSERT INTO post_media (channel_id, message_id, media_id, kind, sha256, state, width, height)
        VALUES ($1, $2, $3, 'photo', $4, 'stored', $5, $6)
        ON CONFLICT (channel_id, message_id, ordinal) DO UPDATE
            SET sha256 = excluded.sha256, kind = 'photo', state = 'stored'
        """,
        post.channel_id,
        post.message_id,
        int.from_bytes(digest[:7]),
        digest,
        width,
        height,
    )
    return digest.hex()
