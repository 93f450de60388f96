"""Quiet changes: what was edited or deleted after it was published, word by word."""

from datetime import timedelta

from telegram_assistant.domain.posts.meaning import MeaningKind
from telegram_assistant.features.channels.channels import get_followed
from telegram_assistant.features.posts.changes import quiet_changes
from telegram_assistant.stores.postgres.posts.changes import ChangeKind, ChangeOrder
from telegram_assistant.web.views import Content, TenantView, channel_id_of

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
