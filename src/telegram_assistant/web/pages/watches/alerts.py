"""The inbox of alerts: unread first, each with its post as it is now."""

from starlette.responses import Response

from telegram_assistant.domain.watches.watch import AlertKind
from telegram_assistant.features.watches.alerts import find_alert, link_of_alert, newest_alerts, see_alerts
from telegram_assistant.features.watches.headlines import headline_of
from telegram_assistant.stores.postgres.watches.alerts import AlertCursor
from telegram_assistant.web.cursors import read_moment_and_id
from telegram_assistant.web.views import Content, TenantView, go, moment_of, uuid_of

PAGE = 30


async def show(view: TenantView) -> Content:
    is_all, watch = view.query("show") == "all", view.query("watch")
    watch_id = uuid_of(watch) if watch else None
    page = await newest_alerts(
        stores=view.stores,
        limit=PAGE,
        watch_id=watch_id,
        unread_only=not is_all,
        after=_after(view.query("after")),
    )
    return {
        "alerts": [(alert, headline_of(alert), link_of_alert(alert)) for alert in page.alerts],
        "next": f"{page.next.created_at.isoformat()}_{page.next.alert_id}" if page.next else None,
        "watches": await view.stores.watches.all(),
        "watch_id": watch_id,
        "is_all": is_all,
        "until": page.alerts[0].created_at.isoformat() if page.alerts else "",
    }


async def open_one(view: TenantView) -> Response:
    """Marks the alert as seen and shows what it is about: a post, a story, or a silent channel."""
    alert = await find_alert(uuid_of(view.request.path_params["alert"]), stores=view.stores)
    await see_alerts([alert.alert_id], stores=view.stores, by=view.person.name, until=view.now)
    if alert.post_id is None:
        return go(view.url(f"/channels/{alert.channel_id}"))
    return go(view.url(f"/{'story' if alert.kind is AlertKind.GROWN else 'post'}/{alert.post_id}"))


async def mark_seen(view: TenantView) -> Response:
    """Marks these alerts, or all that the page could have shown, as seen."""
    chosen = [uuid_of(str(value)) for value in view.form.getlist("alert")]
    await see_alerts(
        chosen or None,
        stores=view.stores,
        by=view.person.name,
        until=view.now if chosen else moment_of(view.text("until")),
    )
    return go(view.url("/alerts"))


def _after(text: str) -> AlertCursor | None:
    place = read_moment_and_id(text)
    return None if place is None else AlertCursor(*place)
