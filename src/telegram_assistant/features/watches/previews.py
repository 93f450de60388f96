"""Previews a watch: the alerts that it would have raised in the last days."""

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.domain.watches.watch import AlertKind, WatchConditions, WatchKind, WatchTarget
from telegram_assistant.features.watches.meaning import nearest_since
from telegram_assistant.features.watches.watches import read_conditions
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.watches.previews import PreviewedAlerts
from telegram_assistant.vectors.index import MeaningSearch

PREVIEW_DAYS = 30
MAX_ALERTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewLine:
    """One alert of a preview."""

    kind: AlertKind
    happened_at: datetime
    channel_id: ChannelId
    post_id: PostId | None
    channel: str
    link: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPreview:
    """How often a watch would have fired, and the newest of those alerts."""

    days: int
    count: int
    is_complete: bool
    """False: there would have been more alerts than `count`."""
    lines: tuple[PreviewLine, ...]
    trouble: Reason | None = None
    """Why there is no preview."""


async def preview_watch(
    target: WatchTarget,
    *,
    tenant_id: TenantId,
    stores: TenantStores,
    index: MeaningSearch | None,
    now: datetime,
    zone: tzinfo,
    days: int = PREVIEW_DAYS,
) -> WatchPreview:
    """Raises Rejected like `create_watch`. Counts over what the tenant sees now."""
    conditions = await read_conditions(target, stores=stores, now=now, zone=zone)
    previewed = await _find(
        target,
        conditions,
        tenant_id=tenant_id,
        stores=stores,
        index=index,
        since=now - timedelta(days=days),
        now=now,
    )
    if isinstance(previewed, Reason):
        return WatchPreview(days=days, count=0, is_complete=True, lines=(), trouble=previewed)
    alerts = previewed.alerts[:MAX_ALERTS]
    texts = await stores.watch_previews.texts(alerts) if alerts else ()
    lines = tuple(
        PreviewLine(
            kind=alert.kind,
            happened_at=alert.happened_at,
            channel_id=alert.channel_id,
            post_id=alert.post_id,
            channel=text.channel,
            link=link_to(alert.post_id, text.username) if alert.post_id else "",
            text=text.text,
        )
        for alert, text in zip(alerts, texts, strict=True)
    )
    return WatchPreview(
        days=days, count=len(previewed.alerts), is_complete=previewed.is_complete, lines=lines
    )


async def _find(
    target: WatchTarget,
    conditions: WatchConditions,
    *,
    tenant_id: TenantId,
    stores: TenantStores,
    index: MeaningSearch | None,
    since: datetime,
    now: datetime,
) -> PreviewedAlerts | Reason:
    previews = stores.watch_previews
    match target.kind:
        case WatchKind.WORDS:
            previewed_alerts: PreviewedAlerts | Reason = await previews.posts(conditions, since=since)
        case WatchKind.MENTION:
            previewed_alerts = await previews.mentions(conditions, since=since)
        case WatchKind.CHANGES:
            previewed_alerts = await previews.changes(conditions, since=since)
        case WatchKind.SILENCE:
            previewed_alerts = await previews.silences(
                conditions, hours=target.hours or 1, since=since, now=now
            )
        case WatchKind.MEANING:
            near_posts = await nearest_since(
                conditions, tenant_id=tenant_id, stores=stores, index=index, since=since, until=now
            )
            previewed_alerts = (
                near_posts if isinstance(near_posts, Reason) else await previews.of_posts(near_posts)
            )
        case WatchKind.STORY:
            previewed_alerts = await previews.stories(conditions, min_posts=target.posts or 2, since=since)
    return previewed_alerts
