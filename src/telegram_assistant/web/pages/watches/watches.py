"""Watches: the list, and a form that previews what a watch would have found."""

from datetime import time
from uuid import UUID

from starlette.datastructures import FormData, QueryParams
from starlette.responses import Response

from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.watches.watch import AlertSeverity, WatchKind, WatchOptions, WatchTarget
from telegram_assistant.errors import Rejected
from telegram_assistant.features.watches.previews import preview_watch
from telegram_assistant.features.watches.watches import (
    change_watch,
    create_watch,
    delete_watch,
    find_watch,
    pause_watch,
    quiet_hours,
)
from telegram_assistant.reasons import Reason
from telegram_assistant.web.views import DAMAGED, Content, TenantView, go, uuid_of

type Fields = FormData | QueryParams

NEW = WatchTarget(kind=WatchKind.WORDS, query="")
NO_PREVIEW: Content = {"preview": None, "problem": None}


async def show(view: TenantView) -> Content:
    return {
        "watches": await view.stores.watches.all(),
        "may_change": KeyScope.WRITE in view.membership.scopes,
        "done": view.query("done"),
    }


async def show_new(view: TenantView) -> Content:
    if not _is_typed(view):
        return {**await _form(view, "", NEW, WatchOptions(zone=view.zone.key)), "watch": None, **NO_PREVIEW}
    return {**await _typed(view), "watch": None}


async def show_one(view: TenantView) -> Content:
    """The form at once: the page asks for the preview, which takes longer, by itself.

    Without scripts it comes with what was typed.
    """
    watch = await find_watch(_id(view), stores=view.stores)
    if _is_typed(view):
        return {**await _typed(view), "watch": watch}
    return {**await _form(view, watch.name, watch.target, watch.options), "watch": watch, **NO_PREVIEW}


async def preview(view: TenantView) -> Content:
    return await _preview(view, _target(view.request.query_params))


async def create(view: TenantView) -> Response:
    watch = await create_watch(
        *_read(view.form, view), stores=view.stores, created_by=view.person.name, now=view.now, zone=view.zone
    )
    view.note(name=watch.name, kind=watch.target.kind.value)
    return go(view.url("/watches?done=created"))


async def change(view: TenantView) -> Response:
    watch = await change_watch(
        _id(view), *_read(view.form, view), stores=view.stores, now=view.now, zone=view.zone
    )
    view.note(name=watch.name, kind=watch.target.kind.value)
    return go(view.url("/watches?done=changed"))


async def pause(view: TenantView) -> Response:
    await pause_watch(_id(view), stores=view.stores, is_paused=view.text("do") != "resume")
    return go(view.url("/watches"))


async def delete(view: TenantView) -> Response:
    await delete_watch(_id(view), stores=view.stores)
    return go(view.url("/watches?done=deleted"))


def _is_typed(view: TenantView) -> bool:
    return bool(view.query("kind") or view.query("query"))


async def _typed(view: TenantView) -> Content:
    """The form as it was typed, which a browser without scripts sends to be previewed."""
    name, target, options = _read(view.request.query_params, view)
    has_words = bool(target.query) or target.kind is not WatchKind.WORDS
    return {
        **await _form(view, name, target, options),
        **(await _preview(view, target) if has_words else NO_PREVIEW),
    }


async def _form(view: TenantView, name: str, target: WatchTarget, options: WatchOptions) -> Content:
    return {
        "target": target,
        "options": options,
        "name": name,
        "kinds": tuple(WatchKind),
        "severities": tuple(AlertSeverity),
        "receivers": await view.stores.receivers.all(),
    }


async def _preview(view: TenantView, target: WatchTarget) -> Content:
    try:
        past_alerts = await preview_watch(
            target,
            tenant_id=view.membership.tenant_id,
            stores=view.stores,
            index=view.app.meaning_search,
            now=view.now,
            zone=view.zone,
        )
    except Rejected as error:
        return {"preview": None, "problem": error.reason}
    return {"preview": past_alerts, "problem": past_alerts.trouble}


def _id(view: TenantView) -> UUID:
    return uuid_of(view.request.path_params["watch"])


def _read(fields: Fields, view: TenantView) -> tuple[str, WatchTarget, WatchOptions]:
    try:
        severity = AlertSeverity(_text(fields, "severity") or AlertSeverity.NORMAL)
    except ValueError as error:
        raise Rejected(DAMAGED) from error
    quiet = quiet_hours(_time(_text(fields, "quiet_from")), _time(_text(fields, "quiet_until")))
    receivers = tuple(uuid_of(str(value)) for value in fields.getlist("receiver"))
    options = WatchOptions(severity=severity, quiet=quiet, zone=view.zone.key, receivers=receivers)
    return _text(fields, "name"), _target(fields), options


def _target(fields: Fields) -> WatchTarget:
    try:
        kind = WatchKind(_text(fields, "kind") or WatchKind.WORDS)
    except ValueError as error:
        raise Rejected(DAMAGED) from error
    hours = _number(_text(fields, "hours")) if kind is WatchKind.SILENCE else None
    posts = _number(_text(fields, "posts")) if kind is WatchKind.STORY else None
    return WatchTarget(kind=kind, query=_text(fields, "query").strip(), hours=hours, posts=posts)


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name, "")
    return value if isinstance(value, str) else ""


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else None  # noqa: PLR2004 -- more digits than any limit has


def _time(text: str) -> time | None:
    try:
        return time.fromisoformat(text).replace(tzinfo=None) if text else None
    except ValueError as error:
        raise Rejected(Reason("time_of_day_invalid", "write a time of day like 22:00")) from error
