"""The feed: new posts, what is read, saved and muted."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from starlette.responses import Response

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.people.person import FeedOrder
from telegram_assistant.domain.stories.marks import Mark
from telegram_assistant.errors import Rejected
from telegram_assistant.features.digests.interests import feedback_of
from telegram_assistant.features.feed import person_feed
from telegram_assistant.features.feed.person_feed import FeedEntry
from telegram_assistant.features.stories.marks import marked_stories, marks_and_feedback
from telegram_assistant.features.stories.shared import SharedStory, shared_stories
from telegram_assistant.stores.postgres.feed.choices import Mutes
from telegram_assistant.stores.postgres.feed.person_feed import ReadingScope
from telegram_assistant.web.cursors import read_cursor, write_cursor
from telegram_assistant.web.views import (
    FORM_DAMAGED,
    Content,
    TenantView,
    channel_id_of,
    go,
    moment_of,
    own_path,
    with_notice,
)

POSTS_PER_PAGE = 20
MAX_MARKED = 200


async def show(view: TenantView) -> Content:
    scope, order = _scope(view), _order(view)
    after_cursor = read_cursor(view.query("after"))
    visit, surroundings = await asyncio.gather(
        person_feed.begin_visit(own=view.own, now=view.now), person_feed.feed_surroundings(own=view.own)
    )
    if order is FeedOrder.OLDEST:
        page = await person_feed.oldest_unread(
            scope,
            own=view.own,
            mutes=visit.mutes,
            min_posted_at=visit.floor_at,
            limit=POSTS_PER_PAGE,
            after=after_cursor,
        )
    else:
        page = await person_feed.read_feed(
            scope, order=order, own=view.own, mutes=visit.mutes, limit=POSTS_PER_PAGE, after=after_cursor
        )
    return {
        "page": page,
        "scope": scope,
        "order": order,
        "before_at": visit.before_at,
        "around": surroundings,
        "shared_stories": await _shared_stories(page.entries, view),
        "snapshot": view.now.isoformat(),
        "is_first": after_cursor is None,
        "next": write_cursor(page.next) if page.next else None,
    }


async def show_saved(view: TenantView) -> Content:
    """Saved stories, then saved posts; each list has pages of its own."""
    saved_before = moment_of(view.query("before")) if view.query("before") else None
    before_story = moment_of(view.query("stories")) if view.query("stories") else None
    page, stories, (marks, opinions) = await asyncio.gather(
        person_feed.saved_posts(own=view.own, limit=POSTS_PER_PAGE, before=saved_before),
        marked_stories(
            Mark.SAVED,
            stores=view.stores,
            marks=view.own.story_marks,
            limit=POSTS_PER_PAGE,
            before=before_story,
            language=view.language.value,
        ),
        marks_and_feedback(marks=view.own.story_marks),
    )
    return {
        "entries": page.entries,
        "next": page.next.isoformat() if page.next else None,
        "stories": [
            (saved_story, feedback_of(saved_story.story, opinions)) for saved_story in stories.stories
        ],
        "next_stories": stories.next.isoformat() if stories.next else None,
        "marks": marks,
        "shared_stories": await _shared_stories(page.entries, view),
    }


async def mark_read(view: TenantView) -> Content | Response:
    post_ids = _posts(view)
    as_read = view.text("do") != "unread"
    await person_feed.mark(post_ids, own=view.own, as_read=as_read)
    return await _show_changed_posts(view, post_ids)


async def save(view: TenantView) -> Content | Response:
    post_ids = _posts(view)
    if view.text("do") == "unsaved":
        await person_feed.unsave_posts(post_ids, own=view.own)
    else:
        await person_feed.save_posts(post_ids, own=view.own)
    return await _show_changed_posts(view, post_ids)


async def mark_all_read(view: TenantView) -> Response:
    """Marks what the page has shown and could have shown; what came later stays unread."""
    scope = replace(_scope(view), folder=view.text("folder") or None)
    marked_count = await person_feed.mark_all_read(
        scope, until=moment_of(view.text("snapshot")), own=view.own
    )
    return _go_back(view, marked=marked_count)


async def undo(view: TenantView) -> Response:
    return _go_back(view, unmarked=await person_feed.undo_marks(own=view.own))


async def show_mutes(view: TenantView) -> Content:
    return {"mutes": await person_feed.list_mutes(own=view.own)}


async def mute(view: TenantView) -> Response:
    word, channel, is_over = view.text("word"), view.text("channel"), view.text("do") == "heard"
    if channel:
        channel_id = channel_id_of(channel)
        await (
            person_feed.unmute_channel(channel_id, own=view.own)
            if is_over
            else person_feed.mute_channel(channel_id, own=view.own)
        )
    elif is_over:
        await person_feed.unmute_word(word, own=view.own)
    else:
        await person_feed.mute_word(word, own=view.own)
    return _go_back(view, "/mutes", **({"muted": channel} if channel and not is_over else {}))


async def _show_changed_posts(view: TenantView, post_ids: list[PostId]) -> Content | Response:
    """The cards again for a script, the page for everybody else."""
    if not view.is_fragment:
        return _go_back(view)
    changed_posts = await person_feed.read_posts(post_ids, own=view.own)
    entries = person_feed.entries_of(changed_posts, Mutes())
    return {"entries": entries, "shared_stories": await _shared_stories(entries, view)}


async def _shared_stories(entries: Sequence[FeedEntry], view: TenantView) -> dict[PostId, SharedStory]:
    return await shared_stories([entry.lead.stored.post.id for entry in entries], stores=view.stores)


def _go_back(view: TenantView, fallback: str = "/feed", **notice: object) -> Response:
    return go(with_notice(own_path(view.text("back"), view.url(fallback)), **notice))


def _scope(view: TenantView) -> ReadingScope:
    channel = view.query("channel")
    return ReadingScope(
        folder=view.query("folder") or None,
        channel_id=channel_id_of(channel) if channel else None,
        unread_only=view.query("show") == "unread",
    )


def _order(view: TenantView) -> FeedOrder:
    chosen_text = view.query("order")
    return FeedOrder(chosen_text) if chosen_text in set(FeedOrder) else view.person.preferences.feed_order


def _posts(view: TenantView) -> list[PostId]:
    try:
        post_ids = [PostId.parse(str(value)) for value in view.form.getlist("post")]
    except ValueError as error:
        raise Rejected(FORM_DAMAGED) from error
    if not 0 < len(post_ids) <= MAX_MARKED or any(
        post_id.channel_id >= 2**63 or post_id.message_id >= 2**63 for post_id in post_ids
    ):
        raise Rejected(FORM_DAMAGED)
    return post_ids
