"""Adding channels in seven ways, and what became of each request."""

import asyncio

from starlette.datastructures import UploadFile
from starlette.responses import Response

from telegram_assistant.domain.channels.channel_requests import RequestFate
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.features.channels import channel_requests, joined_channels
from telegram_assistant.features.channels.channel_lists import decode_list, read_list
from telegram_assistant.features.channels.folders import request_folder
from telegram_assistant.features.channels.imports import import_channels, import_picked
from telegram_assistant.features.feed.person_feed import feed_surroundings
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.channels import (
    DEFAULT_HISTORY_DAYS,
    EVERYTHING_DAYS,
    NOT_KNOWN_YET,
    Subscription,
)
from telegram_assistant.web.cursors import read_moment_cursor, write_moment_cursor
from telegram_assistant.web.page import FormLimits
from telegram_assistant.web.views import FORM_DAMAGED, PAGE_UNKNOWN, Content, TenantView, go, uuid_of

SHOWN_REQUESTS = 100
MAX_TITLE = 64
MAX_DIGITS = 19
"""A number with fewer digits fits into 64 bits."""
MAX_AUDITED = 100
"""References of one form in the audit log; the count says how many there were."""
HISTORY_DAYS = (0, DEFAULT_HISTORY_DAYS, 30, 90, 365, EVERYTHING_DAYS)
LIST_LIMITS = FormLimits(max_bytes=6_000_000, max_files=1)
PICK_LIMITS = FormLimits(max_fields=20_000, max_bytes=1_000_000)


async def show(view: TenantView) -> Content:
    return {
        "joined": await joined_channels.list_joined(stores=view.stores, now=view.now),
        "folders": (await feed_surroundings(own=view.own)).folders,
        "priorities": tuple(Priority),
        "history_days": HISTORY_DAYS,
        "everything": EVERYTHING_DAYS,
        "usual_days": DEFAULT_HISTORY_DAYS,
    }


async def add(view: TenantView) -> Response:
    """Names, links, invitations and links to folders, written or in a file."""
    listed_channels = await asyncio.to_thread(read_list, await _read_list(view))
    requested_channels = await import_channels(listed_channels, _read_options(view), stores=view.stores)
    accepted_names = [str(request.written) for request in requested_channels if request.refused is None]
    view.note(references=accepted_names[:MAX_AUDITED], count=len(accepted_names))
    return go(view.url("/channels/requests"))


async def add_folder(view: TenantView) -> Response:
    title = view.text("title").strip()
    if not title or len(title) > MAX_TITLE:
        raise Rejected(Reason("folder_title_needed", "write the folder's title as it is in Telegram"))
    account = view.text("account")
    number = int(account) if account.isascii() and account.isdecimal() and len(account) < MAX_DIGITS else None
    requested_channel = await request_folder(
        title,
        account_id=await joined_channels.find_own_account(number, stores=view.stores),
        subscription=_read_options(view),
        requests=view.stores.requests,
    )
    if requested_channel.refused is not None:
        raise Rejected(requested_channel.refused)
    view.note(title=title)
    return go(view.url("/channels/requests"))


async def ask_for_joined(view: TenantView) -> Response:
    await joined_channels.ask_for_joined(stores=view.stores, now=view.now)
    return go(view.url("/channels/add#joined"))


async def pick(view: TenantView) -> Response:
    if view.text("do") == "all":
        joined_list = await joined_channels.list_joined(stores=view.stores, now=view.now)
        picked_channel_ids = [
            channel.channel_id for channel in joined_list.channels if not channel.is_followed
        ]
    else:
        picked_channel_ids = [_channel_id(value) for value in view.form.getlist("channel")]
    if not picked_channel_ids:
        raise Rejected(Reason("nothing_picked", "choose at least one channel from the list"))
    requested_channels = await import_picked(picked_channel_ids, _read_options(view), stores=view.stores)
    view.note(
        channel_ids=[int(channel_id) for channel_id in picked_channel_ids[:MAX_AUDITED]],
        count=sum(request.refused is None for request in requested_channels),
    )
    return go(view.url("/channels/requests"))


async def show_requests(view: TenantView) -> Content:
    fate = _fate(view.query("fate"))
    requests, before_cursor = view.stores.requests, read_moment_cursor(view.query("before"))
    page = await channel_requests.list_requests(
        fate, requests=requests, now=view.now, limit=SHOWN_REQUESTS, before=before_cursor
    )
    summary = await channel_requests.summarize_fates(
        requests=requests, fates=view.stores.request_fates, now=view.now
    )
    return {
        "requests": page.requests,
        "next": write_moment_cursor(page.next),
        "summary": summary,
        "fate": fate,
        "is_first_page": before_cursor is None,
    }


async def try_again(view: TenantView) -> Response:
    request_id = uuid_of(view.request.path_params["request"])
    await channel_requests.try_again(
        request_id, requests=view.stores.requests, fates=view.stores.request_fates, now=view.now
    )
    return go(view.url("/channels/requests"))


async def try_all_again(view: TenantView) -> Response:
    view.note(retried=await channel_requests.try_all_again(fates=view.stores.request_fates))
    return go(view.url("/channels/requests"))


async def _read_list(view: TenantView) -> str:
    """The text that was typed, or the content of the file. Raises Rejected if there are both."""
    text, file = view.text("text").strip(), view.form.get("file")
    content = decode_list(await file.read()) if isinstance(file, UploadFile) and file.size else ""
    if text and content.strip():
        raise Rejected(Reason("list_or_file", "write a list or choose a file, not both at once"))
    return text or content


def _read_options(view: TenantView) -> Subscription:
    """The options for all channels of a form; what was not chosen stays unset."""
    folder, priority, days = (
        view.text("folder").replace("\0", "").strip(),
        view.text("priority"),
        view.text("history_days"),
    )
    if (
        len(folder) > MAX_TITLE
        or (days and days not in map(str, HISTORY_DAYS))
        or (priority and priority not in tuple(Priority))
    ):
        raise Rejected(FORM_DAMAGED)
    return Subscription(
        channel_id=NOT_KNOWN_YET,
        folder=folder or None,
        priority=Priority(priority) if priority else None,
        history_days=int(days) if days else None,
    )


def _channel_id(value: object) -> ChannelId:
    if not isinstance(value, str) or not value.isdecimal() or not 0 < int(value) < 2**63:
        raise Rejected(FORM_DAMAGED)
    return ChannelId(int(value))


def _fate(text: str) -> RequestFate | None:
    if text and text not in tuple(RequestFate):
        raise Missing(PAGE_UNKNOWN)
    return RequestFate(text) if text else None
