"""The feed: the newest posts of all channels that a tenant follows."""

from collections.abc import Sequence
from dataclasses import dataclass

from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.stores.postgres.feed.news import News
from telegram_assistant.stores.postgres.feed.tenant_feed import Cursor, cursor_of
from telegram_assistant.stores.postgres.posts.rows import StoredPost
from telegram_assistant.stores.postgres.stores import TenantStores


@dataclass(frozen=True, slots=True)
class FeedPost:
    """A post with its channel and link."""

    stored: StoredPost
    channel: str
    link: str


@dataclass(frozen=True, slots=True)
class FeedPage:
    """A page of posts, newest first; `next` is None on the last page."""

    posts: tuple[FeedPost, ...]
    next: Cursor | None


async def newest_posts(*, stores: TenantStores, limit: int, before: Cursor | None = None) -> FeedPage:
    """Returns the newest posts of all followed channels.

    Reads one more than `limit`, to know whether there is a next page.
    """
    return await load_page(
        await stores.feed.newest(limit=limit + 1, before=before), stores=stores, limit=limit
    )


async def load_page(stored_posts: Sequence[StoredPost], *, stores: TenantStores, limit: int) -> FeedPage:
    """Returns the first `limit` posts with their channels.

    More than `limit` posts mean that there is a next page.
    """
    page = stored_posts[:limit]
    channels = await stores.followed.some({stored_post.post.channel_id for stored_post in page})
    posts = tuple(
        FeedPost(stored_post, channel.title, link_to(stored_post.post.id, channel.username))
        for stored_post in page
        if (channel := channels.get(stored_post.post.channel_id)) is not None
    )
    return FeedPage(posts, cursor_of(page[-1]) if len(stored_posts) > limit else None)


async def news_state(*, news: News) -> int:
    """A number that changes when a followed channel gets a new post."""
    return await news.state()
