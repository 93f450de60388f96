"""The feed: new posts, what is read, saved and muted."""

import asyncio
from dataclasses import replace

from starlette.responses import Response

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.people.person import FeedOrder
from telegram_assistant.errors import Rejected
from telegram_assistant.features.feed import person_feed
from telegram_assistant.stores.postgres.feed.choices import Mutes
from telegram_assistant.stores.postgres.feed.person_feed import ReadingScope
from telegram_assistant.web.cursors import read_cursor, write_cursor
from telegram_assistant.web.views import DAMAGED, Content, TenantView, channel_id_of, go, moment_of, own_path

PAGE = 20
MAX_MARKED = 200


async def show(view: TenantView) -> Content:
    scope, order = _scope(view), _order(view)
    after = read_cursor(view.query("after"))
    visit, around = await asyncio.gather(view.own.choices.visit(view.now), view.own.reading.surroundings())
    if order is FeedOrder.OLDEST:
        page = await person_feed.oldest_unread(
            scope, own=view.own, mutes=visit.mutes, floor=visit.floor_at, limit=PAGE, after=after
        )
    else:
        page = await person_feed.read_feed(
            scope, order=order, own=view.own, mutes=visit.mutes, limit=PAGE, after=after
        )
    return {
        "page": page,
        "scope": scope,
        "order": order,
        "before_at": visit.before_at,
        "around": around,
        "snapshot": view.now.isoformat(),
        "is_first": after is None,
        "next": write_cursor(page.next) if page.next else None,
    }


async def show_saved(view: TenantView) -> Content:
    before = moment_of(view.query("before")) if view.query("before") else None
    posts = await view.own.reading.saved(limit=PAGE + 1, before=before)
    last = posts[PAGE - 1].saved_at if len(posts) > PAGE else None
    return {
        "entries": person_feed.entries_of(posts[:PAGE], Mutes()),
        "next": last.isoformat() if last else None,
    }


async def mark_read(view: TenantView) -> Content | Response:
    posts = _posts(view)
    as_read = view.text("do") != "unread"
    await person_feed.mark(posts, own=view.own, as_read=as_read)
    return await _changed(view, posts)


async def save(view: TenantView) -> Content | Response:
    posts = _posts(view)
    if view.text("do") == "unsaved":
        await view.own.choices.unsave(posts)
    else:
        await view.own.choices.save(posts)
    return await _changed(view, posts)


async def mark_all_read(view: TenantView) -> Response:
    """Marks what the page has shown and could have shown; what came later stays unread."""
    scope = replace(_scope(view), folder=view.text("folder") or None)
    await view.own.ledger.mark_all_read(scope, until=moment_of(view.text("snapshot")))
    return _back(view)


async def undo(view: TenantView) -> Response:
    await view.own.ledger.undo()
    return _back(view)


async def show_mutes(view: TenantView) -> Content:
    return {"mutes": await view.own.choices.mutes()}


async def mute(view: TenantView) -> Response:
    word, channel, is_over = view.text("word"), view.text("channel"), view.text("do") == "heard"
    if channel:
        channel_id = channel_id_of(channel)
        await (
            view.own.choices.unmute_channel(channel_id)
            if is_over
            else person_feed.mute_channel(channel_id, own=view.own)
        )
    elif is_over:
        await view.own.choices.unmute_word(word)
    else:
        await person_feed.mute_word(word, own=view.own)
    return _back(view, "/mutes")


async def _changed(view: TenantView, posts: list[PostId]) -> Content | Response:
    """The cards again for a script, the page for everybody else."""
    if not view.is_fragment:
        return _back(view)
    changed_posts = await view.own.reading.some(posts)
    return {"entries": person_feed.entries_of(changed_posts, Mutes())}


def _back(view: TenantView, otherwise: str = "/feed") -> Response:
    return go(own_path(view.text("back"), view.url(otherwise)))


def _scope(view: TenantView) -> ReadingScope:
    channel = view.query("channel")
    return ReadingScope(
        folder=view.query("folder") or None,
        channel_id=channel_id_of(channel) if channel else None,
        unread_only=view.query("show") == "unread",
    )


def _order(view: TenantView) -> FeedOrder:
    chosen = view.query("order")
    return FeedOrder(chosen) if chosen in set(FeedOrder) else view.person.preferences.feed_order


def _posts(view: TenantView) -> list[PostId]:
    try:
        posts = [PostId.parse(str(value)) for value in view.form.getlist("post")]
    except ValueError as error:
        raise Rejected(DAMAGED) from error
    if not 0 < len(posts) <= MAX_MARKED or any(
        post.channel_id >= 2**63 or post.message_id >= 2**63 for post in posts
    ):
        raise Rejected(DAMAGED)
    return posts
