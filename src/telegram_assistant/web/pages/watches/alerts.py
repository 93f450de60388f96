"""The inbox of alerts: a line each, by the day of what has happened, with its post as it is now."""

from collections.abc import Sequence
from datetime import date
from functools import partial
from itertools import groupby

from starlette.responses import Response

from telegram_assistant.domain.watches.watch import AlertKind, Watch
from telegram_assistant.features.watches.alerts import find_alert, link_of_alert, see_alerts
from telegram_assistant.features.watches.headlines import headline_of
from telegram_assistant.features.watches.inbox import InboxLine, read_inbox
from telegram_assistant.features.watches.watches import list_watches
from telegram_assistant.web.charts.watches import AlertBar, draw_days
from telegram_assistant.web.cursors import read_moment_cursor, write_moment_cursor
from telegram_assistant.web.views import Content, TenantView, go, moment_of, uuid_of

ALERTS_PER_PAGE = 30
WATCHES_BESIDE = 20
"""Those with the most alerts of the last days."""


async def show(view: TenantView) -> Content:
    is_all, watch = view.query("show") == "all", view.query("watch")
    watch_id = uuid_of(watch) if watch else None
    page = await read_inbox(
        stores=view.stores,
        limit=ALERTS_PER_PAGE,
        watch_id=watch_id,
        unread_only=not is_all,
        after=read_moment_cursor(view.query("after")),
    )
    raised_until = page.raised_until
    watches = await list_watches(stores=view.stores)
    return {
        "days": [
            (day, [(line, headline_of(line.alert), link_of_alert(line.alert)) for line in lines])
            for day, lines in groupby(page.lines, key=partial(_day_of, view))
        ],
        "next": write_moment_cursor(page.next),
        "watches": watches,
        "busiest": _draw_busiest(watches),
        "watch_id": watch_id,
        "is_all": is_all,
        "until": raised_until.isoformat() if raised_until else "",
        "today": view.now.astimezone(view.zone).date(),
    }


def _draw_busiest(watches: Sequence[Watch]) -> list[tuple[Watch, tuple[AlertBar, ...]]]:
    """The watches with the most alerts of the last seven days, drawn to one scale."""
    busiest_watches = sorted(watches, key=lambda watch: -watch.recent)[:WATCHES_BESIDE]
    highest = max((max(watch.recent_days) for watch in busiest_watches), default=0)
    return [(watch, draw_days(watch.recent_days, highest=highest)) for watch in busiest_watches]


def _day_of(view: TenantView, line: InboxLine) -> date:
    return line.alert.happened_at.astimezone(view.zone).date()


async def open_one(view: TenantView) -> Response:
    """Marks the alert as seen and shows what it is about: a post, its diff, a story or a silent channel."""
    alert = await find_alert(uuid_of(view.request.path_params["alert"]), stores=view.stores)
    await see_alerts([alert.alert_id], stores=view.stores, by=view.person.name, until=view.now)
    if alert.post_id is None:
        return go(view.url(f"/channels/{alert.channel_id}"))
    if alert.kind in {AlertKind.GROWN, AlertKind.FOLLOWED}:
        return go(view.url(f"/story/{alert.post_id}"))
    versions = "#versions" if alert.kind is AlertKind.EDITED else ""
    return go(view.url(f"/post/{alert.post_id}{versions}"))


async def mark_seen(view: TenantView) -> Response:
    """Marks these alerts, or all that the page could have shown, as seen."""
    chosen_ids = [uuid_of(str(value)) for value in view.form.getlist("alert")]
    await see_alerts(
        chosen_ids or None,
        stores=view.stores,
        by=view.person.name,
        until=view.now if chosen_ids else moment_of(view.text("until")),
    )
    return go(view.url("/alerts"))
