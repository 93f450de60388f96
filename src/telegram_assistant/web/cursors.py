"""Cursors of pages, as they stand in addresses."""

from datetime import datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.timestamps import MomentCursor
from telegram_assistant.errors import Missing
from telegram_assistant.stores.postgres.feed.tenant_feed import Cursor
from telegram_assistant.web.views import PAGE_UNKNOWN, uuid_of


def write_cursor(cursor: Cursor) -> str:
    return f"{cursor.posted_at.isoformat()}_{cursor.channel_id}_{cursor.message_id}"


def read_cursor(text: str) -> Cursor | None:
    """Returns None for the first page. Raises Missing for what no page of ours has written."""
    if not text:
        return None
    moment, _, post = text.partition("_")
    try:
        post_id, posted_at = PostId.parse(post.replace("_", "/")), datetime.fromisoformat(moment)
    except ValueError as error:
        raise Missing(PAGE_UNKNOWN) from error
    if posted_at.tzinfo is None or max(post_id.channel_id, post_id.message_id) >= 2**63:
        raise Missing(PAGE_UNKNOWN)
    return Cursor(posted_at, post_id.channel_id, post_id.message_id)


def write_moment_cursor(cursor: MomentCursor | None) -> str | None:
    return None if cursor is None else f"{cursor.at.isoformat()}_{cursor.item_id}"


def read_moment_cursor(text: str) -> MomentCursor | None:
    """Returns None for the first page. Raises Missing for what no page of ours has written."""
    if not text:
        return None
    moment_text, _, identifier = text.partition("_")
    try:
        moment = datetime.fromisoformat(moment_text)
    except ValueError as error:
        raise Missing(PAGE_UNKNOWN) from error
    if moment.tzinfo is None:
        raise Missing(PAGE_UNKNOWN)
    return MomentCursor(moment, uuid_of(identifier))
