"""Tags: the most used ones, and the posts with one."""

from telegram_assistant.features.feed import person_feed
from telegram_assistant.features.understanding.tags import MAX_WINDOW, find_by_tag, recently_used
from telegram_assistant.stores.postgres.feed.choices import Mutes
from telegram_assistant.web.cursors import read_cursor, write_cursor
from telegram_assistant.web.views import Content, TenantView

MAX_TAGS = 80
POSTS_PER_PAGE = 30


async def show(view: TenantView) -> Content:
    used_tags = await recently_used(
        view.membership.tenant_id,
        recent=view.app.recent_tags,
        stores=view.stores,
        now=view.now,
        limit=MAX_TAGS,
    )
    return {"used": used_tags, "most": max((tag.posts for tag in used_tags), default=1)}


async def show_posts(view: TenantView) -> Content:
    name = view.request.path_params["tag"]
    after_cursor = read_cursor(view.query("after"))
    tagged_posts = await find_by_tag(
        name, since=view.now - MAX_WINDOW, stores=view.stores, limit=POSTS_PER_PAGE, before=after_cursor
    )
    posts = await person_feed.read_posts(tagged_posts.posts, own=view.own)
    return {
        "tag": name,
        "entries": person_feed.entries_of(posts, Mutes()),
        "next": write_cursor(tagged_posts.next) if tagged_posts.next else None,
    }
