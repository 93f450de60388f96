"""Adding channels in seven ways, and what became of each request."""

import asyncio
from datetime import datetime
from uuid import UUID

from starlette.datastructures import UploadFile
from starlette.responses import Response

from telegram_assistant.domain.channels.channel_requests import RequestFate
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import AccountId, ChannelId
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.features.channels import channel_requests, joined_channels
from telegram_assistant.features.channels.channel_lists import decode_list, read_list
from telegram_assistant.features.channels.folders import request_folder
from telegram_assistant.features.channels.imports import import_channels, import_picked
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.channel_requests import RequestCursor
from telegram_assistant.stores.postgres.channels.channels import (
    DEFAULT_HISTORY_DAYS,
    EVERYTHING_DAYS,
    NOT_KNOWN_YET,
    Subscription,
)
from telegram_assistant.web.page import FormLimits
from telegram_assistant.web.views import DAMAGED, NOTHING_HERE, Content, TenantView, go, uuid_of

SHOWN_REQUESTS = 100
MAX_TITLE = 64
MAX_AUDITED = 100
"""References of one form in the audit log; the count says how many there were."""
HISTORY_DAYS = (0, DEFAULT_HISTORY_DAYS, 30, 90, 365, EVERYTHING_DAYS)
LIST_LIMITS = FormLimits(max_bytes=6_000_000, max_files=1)
PICK_LIMITS = FormLimits(max_fields=20_000, max_bytes=1_000_000)


async def show(view: TenantView) -> Content:
    return {
        "joined": await joined_channels.list_joined(stores=view.stores, now=view.now),
        "folders": (await view.own.reading.surroundings()).folders,
        "priorities": tuple(Priority),
        "history_days": HISTORY_DAYS,
        "everything": EVERYTHING_DAYS,
        "usual_days": DEFAULT_HISTORY_DAYS,
    }


async def add(view: TenantView) -> Response:
    """Names, links, invitations and links to folders, written or in a file."""
    listed = await asyncio.to_thread(read_list, await _written(view))
    requested = await import_channels(listed, _wanted(view), stores=view.stores)
    accepted = [str(request.written) for request in requested if request.refused is None]
    view.note(references=accepted[:MAX_AUDITED], count=len(accepted))
    return go(view.url("/channels/requests"))


async def add_folder(view: TenantView) -> Response:
    title = view.text("title").strip()
    if not title or len(title) > MAX_TITLE:
        raise Rejected(Reason("folder_title_needed", "write the folder's title as it is in Telegram"))
    numbers = {str(account.account_id): account.account_id for account in await view.stores.joined.accounts()}
    account_id = AccountId(numbers[view.text("account")]) if view.text("account") in numbers else None
    requested = await request_folder(
        title, account_id=account_id, subscription=_wanted(view), requests=view.stores.requests
    )
    if requested.refused is not None:
        raise Rejected(requested.refused)
    view.note(title=title)
    return go(view.url("/channels/requests"))


async def ask_for_joined(view: TenantView) -> Response:
    await joined_channels.ask_for_joined(stores=view.stores, now=view.now)
    return go(view.url("/channels/add#joined"))


async def pick(view: TenantView) -> Response:
    if view.text("do") == "all":
        joined = await joined_channels.list_joined(stores=view.stores, now=view.now)
        picked = [channel.channel_id for channel in joined.channels if not channel.is_followed]
    else:
        picked = [_channel_id(value) for value in view.form.getlist("channel")]
    if not picked:
        raise Rejected(Reason("nothing_picked", "pick at least one channel of the list"))
    requested = await import_picked(picked, _wanted(view), stores=view.stores)
    view.note(
        channel_ids=[int(channel_id) for channel_id in picked[:MAX_AUDITED]],
        count=sum(request.refused is None for request in requested),
    )
    return go(view.url("/channels/requests"))


async def show_requests(view: TenantView) -> Content:
    fate = _fate(view.query("fate"))
    requests, before = view.stores.requests, _read_cursor(view.query("before"))
    page = await channel_requests.list_requests(
        fate, requests=requests, now=view.now, limit=SHOWN_REQUESTS, before=before
    )
    summary = await channel_requests.summarize_fates(
        requests=requests, fates=view.stores.request_fates, now=view.now
    )
    return {
        "requests": page.requests,
        "next": f"{page.next.created_at.isoformat()}_{page.next.request_id}" if page.next else None,
        "summary": summary,
        "fate": fate,
        "is_first_page": before is None,
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


async def _written(view: TenantView) -> str:
    """What was written, and below it what is in the file. A file that is not a plain list stands alone."""
    text, file = view.text("text").strip(), view.form.get("file")
    content = decode_list(await file.read()) if isinstance(file, UploadFile) and file.size else ""
    if text and content.strip():
        raise Rejected(Reason("list_or_file", "write a list or choose a file, not both at once"))
    return text or content


def _wanted(view: TenantView) -> Subscription:
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
        raise Rejected(DAMAGED)
    return Subscription(
        channel_id=NOT_KNOWN_YET,
        folder=folder or None,
        priority=Priority(priority) if priority else None,
        history_days=int(days) if days else None,
    )


def _channel_id(value: object) -> ChannelId:
    if not isinstance(value, str) or not value.isdecimal() or not 0 < int(value) < 2**63:
        raise Rejected(DAMAGED)
    return ChannelId(int(value))


def _fate(text: str) -> RequestFate | None:
    if text and text not in tuple(RequestFate):
        raise Missing(NOTHING_HERE)
    return RequestFate(text) if text else None


def _read_cursor(text: str) -> RequestCursor | None:
    if not text:
        return None
    moment, _, request_id = text.partition("_")
    try:
        created_at, number = datetime.fromisoformat(moment), UUID(request_id)
    except ValueError as error:
        raise Missing(NOTHING_HERE) from error
    if created_at.tzinfo is None:
        raise Missing(NOTHING_HERE)
    return RequestCursor(created_at, number)
