"""Quiet changes: what was edited or deleted after it was published, word by word."""

from datetime import date, timedelta

from starlette.responses import Response

from telegram_assistant.domain.posts.meaning import MeaningKind
from telegram_assistant.errors import Missing
from telegram_assistant.features.channels.channels import get_followed
from telegram_assistant.features.posts.caught import (
    FIRST_DAY,
    LAST_DAY,
    WEEK,
    CaughtChanges,
    caught_changes,
)
from telegram_assistant.features.posts.changes import quiet_changes
from telegram_assistant.features.sharing.caught import caught_content
from telegram_assistant.stores.postgres.posts.changes import ChangeKind, ChangeOrder
from telegram_assistant.web.pages.posts.caught_picture import draw_caught
from telegram_assistant.web.views import PAGE_UNKNOWN, Content, TenantView, channel_id_of

CHANGES_PER_PAGE = 30
DAYS = (1, 7, 30)


async def show(view: TenantView) -> Content:
    order = (
        ChangeOrder(view.query("order")) if view.query("order") in set(ChangeOrder) else ChangeOrder.NEWEST
    )
    kind = ChangeKind(view.query("kind")) if view.query("kind") in set(ChangeKind) else None
    meaning = MeaningKind(view.query("meaning")) if view.query("meaning") in set(MeaningKind) else None
    days = int(view.query("days")) if view.query("days") in {str(day) for day in DAYS} else 7
    channel = (
        await get_followed(channel_id_of(view.query("channel")), followed=view.stores.followed)
        if view.query("channel")
        else None
    )
    page = await quiet_changes(
        view.now - timedelta(days=days),
        stores=view.stores,
        order=order,
        kinds=(kind,) if kind else tuple(ChangeKind),
        meanings=(meaning,) if meaning else (),
        channel_ids=(channel.channel_id,) if channel else None,
        limit=CHANGES_PER_PAGE,
    )
    return {
        "page": page,
        "order": order.value,
        "kind": kind.value if kind else "",
        "meaning": meaning.value if meaning else "",
        "days": days,
        "all_days": DAYS,
        "channel": channel,
    }


async def show_caught(view: TenantView) -> Content:
    """The five changes with the most views of the seven days that end today, as a card to share."""
    return _caught_content(view, await caught_changes(view.now.date(), stores=view.stores))


async def show_caught_week(view: TenantView) -> Content:
    return _caught_content(view, await load_caught_week(view))


def _caught_content(view: TenantView, caught_changes: CaughtChanges) -> Content:
    today = view.now.date()
    return {
        "caught": caught_changes,
        "week_before": max(FIRST_DAY, caught_changes.last_day - WEEK),
        "week_after": min(today, caught_changes.last_day + WEEK) if caught_changes.last_day < today else None,
    }


async def draw_caught_week(view: TenantView) -> Response:
    caught_changes = await load_caught_week(view)
    return Response(
        draw_caught(caught_content(caught_changes), language=view.language.value),
        media_type="image/svg+xml",
        headers={"Content-Disposition": f'attachment; filename="caught-{caught_changes.last_day}.svg"'},
    )


async def load_caught_week(view: TenantView) -> CaughtChanges:
    """Those of the seven days that end with the day of the address."""
    try:
        last_day = date.fromisoformat(view.request.path_params["day"])
    except ValueError as error:
        raise Missing(PAGE_UNKNOWN) from error
    if not FIRST_DAY <= last_day <= LAST_DAY:
        raise Missing(PAGE_UNKNOWN)
    return await caught_changes(last_day, stores=view.stores)
