"""The list of followed channels: health, filters, changes of several at once, and export."""

from urllib.parse import urlencode

from starlette.responses import Response

from telegram_assistant.domain.channels.health import ChannelHealth
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.features.channels.channel_lists import as_opml, as_text
from telegram_assistant.features.channels.channels import (
    SubscriptionUpdate,
    all_followed,
    change_all_followed,
    unfollow_all,
)
from telegram_assistant.features.channels.overview import ChannelOrder, ChannelQuery, overview_of_channels
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS
from telegram_assistant.web.views import (
    FORM_DAMAGED,
    PAGE_UNKNOWN,
    Content,
    TenantView,
    channel_id_of,
    go,
    own_path,
)

CHANNELS_PER_PAGE = 50
MAX_FOLDER_LENGTH = 64
MAX_DIGITS = 7
HISTORY = (1, 7, 30, 90, 365, EVERYTHING_DAYS)
IN_FOLDER = "in:"
"""The prefix of the name of a folder in a form; `NO_FOLDER` takes a channel out of its folder."""
NO_FOLDER = "none"
CHOICES: Content = {
    "priorities": tuple(Priority),
    "policies": tuple(AiPolicy),
    "history": HISTORY,
    "everything": EVERYTHING_DAYS,
}


async def show(view: TenantView) -> Content:
    query = _query(view.query("q"), view.query("folder"), view.query("health"), view.query("order"))
    overview = await overview_of_channels(
        query,
        stores=view.stores,
        now=view.now,
        limit=CHANNELS_PER_PAGE,
        page=_number(view.query("page")) or 1,
    )
    return {
        **CHOICES,
        "overview": overview,
        "chosen": query,
        "orders": tuple(ChannelOrder),
        "changed": _number(view.query("changed")),
        "left": _number(view.query("left")),
        "filters": urlencode({"q": query.words, "folder": view.query("folder"), "order": query.order.value}),
    }


async def change(view: TenantView) -> Response:
    update = read_update(view)
    channel_ids = await _find_chosen_channels(view)
    changed_count = await change_all_followed(channel_ids, update, followed=view.stores.followed)
    view.note(channels=changed_count, **audit_facts_of(update))
    return _back(view, "changed", changed_count)


async def unfollow(view: TenantView) -> Response:
    left_channels = await unfollow_all(await _find_chosen_channels(view), followed=view.stores.followed)
    view.note(channels=left_channels)
    return _back(view, "left", left_channels)


async def export(view: TenantView) -> Response:
    kind = view.request.path_params["kind"]
    if kind not in {"opml", "txt"}:
        raise Missing(PAGE_UNKNOWN)
    followed_channels = await all_followed(followed=view.stores.followed)
    text = (
        as_opml(followed_channels, title=view.membership.name)
        if kind == "opml"
        else as_text(followed_channels)
    )
    headers = {
        "Content-Disposition": f'attachment; filename="channels.{kind}"',
        "Cache-Control": "private, no-cache",
    }
    return Response(text, media_type="text/x-opml" if kind == "opml" else "text/plain", headers=headers)


def read_update(view: TenantView) -> SubscriptionUpdate:
    """The settings of the form; what is left empty stays as it is."""
    folder = view.text("new_folder").strip() or view.text("folder").removeprefix(IN_FOLDER) * view.text(
        "folder"
    ).startswith(IN_FOLDER)
    if len(folder) > MAX_FOLDER_LENGTH or "\0" in folder:
        raise Rejected(FORM_DAMAGED)
    try:
        return SubscriptionUpdate(
            folder=folder or None,
            leaves_folder=not folder and view.text("folder") == NO_FOLDER,
            priority=Priority(view.text("priority")) if view.text("priority") else None,
            ai_policy=AiPolicy(view.text("ai")) if view.text("ai") else None,
            history_days=_days(view.text("history")) if view.text("history") else None,
            wants_media={"": None, "yes": True, "no": False}[view.text("media")],
        )
    except (KeyError, ValueError) as error:
        raise Rejected(FORM_DAMAGED) from error


def audit_facts_of(update: SubscriptionUpdate) -> dict[str, str | int | bool]:
    """The facts of a change for the audit log."""
    changes = {
        "folder": "" if update.leaves_folder else update.folder,
        "priority": update.priority and update.priority.value,
        "ai_policy": update.ai_policy and update.ai_policy.value,
        "history_days": update.history_days,
        "wants_media": update.wants_media,
    }
    return {name: value for name, value in changes.items() if value is not None}


def _days(text: str) -> int:
    days = int(text)
    if not 0 <= days <= EVERYTHING_DAYS:
        raise ValueError(text)
    return days


def _query(words: str, folder: str, health: str, order: str) -> ChannelQuery:
    return ChannelQuery(
        words=words.strip()[:100],
        folder=""
        if folder == NO_FOLDER
        else folder.removeprefix(IN_FOLDER)
        if folder.startswith(IN_FOLDER)
        else None,
        health=ChannelHealth(health) if health in set(ChannelHealth) else None,
        order=ChannelOrder(order) if order in set(ChannelOrder) else ChannelOrder.NAME,
    )


async def _find_chosen_channels(view: TenantView) -> list[ChannelId]:
    """The channels whose boxes are checked, or all that the page's filters match."""
    if view.text("all"):
        query = _query(view.text("q"), view.text("in_folder"), view.text("health"), "")
        return list(
            (
                await overview_of_channels(query, stores=view.stores, now=view.now, limit=CHANNELS_PER_PAGE)
            ).matching_ids
        )
    return [channel_id_of(str(value)) for value in view.form.getlist("channel")]


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else None


def _back(view: TenantView, outcome: str, count: int) -> Response:
    return go(
        own_path(f"{view.url('/channels')}?{view.text('filters')}&{outcome}={count}", view.url("/channels"))
    )
