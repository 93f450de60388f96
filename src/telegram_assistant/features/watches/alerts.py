"""The alerts of a tenant: read them, and mark them as seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.domain.timestamps import MomentCursor
from telegram_assistant.errors import Missing
from telegram_assistant.features.stories.shared import SharedStory, shared_stories
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.watches.alerts import Alert


@dataclass(frozen=True, slots=True)
class AlertPage:
    """A page of alerts, newest first; `next` is None on the last page."""

    alerts: tuple[Alert, ...]
    next: MomentCursor | None
    stories: Mapping[PostId, SharedStory]
    """By post: the story, where at least two channels tell it."""


async def newest_alerts(
    *,
    stores: TenantStores,
    limit: int,
    watch_id: UUID | None = None,
    unread_only: bool = False,
    after: MomentCursor | None = None,
) -> AlertPage:
    alerts = await stores.alerts.newest(
        limit=limit + 1, watch_id=watch_id, unread_only=unread_only, after=after
    )
    page = alerts[:limit]
    return AlertPage(
        page,
        MomentCursor(page[-1].created_at, page[-1].alert_id) if len(alerts) > limit else None,
        await shared_stories([alert.post_id for alert in page if alert.post_id], stores=stores),
    )


async def find_alert(alert_id: UUID, *, stores: TenantStores) -> Alert:
    alert = (await stores.alerts.some([alert_id])).get(alert_id)
    if alert is None:
        raise Missing(Reason("alert_unknown", "there is no such alert"))
    return alert


async def count_unread_alerts(*, stores: TenantStores) -> int:
    """As far as it is worth counting."""
    return await stores.alerts.count_unread()


async def see_alerts(
    alert_ids: Sequence[UUID] | None, *, stores: TenantStores, by: str, until: datetime
) -> int:
    """Marks these alerts, or all that were raised until then, as seen. Returns how many were unread."""
    return await stores.alerts.mark_seen(alert_ids, by=by, until=until)


def link_of_alert(alert: Alert) -> str:
    """The t.me link of its post; empty for a silence."""
    return link_to(alert.post_id, alert.username) if alert.post_id else ""
