"""Watches: the list, and a form that previews what a watch would have found."""

from uuid import UUID

from starlette.datastructures import FormData, QueryParams
from starlette.responses import Response

from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.watches.watch import (
    AlertSeverity,
    WatchKind,
    WatchOptions,
    WatchTarget,
    parse_time_of_day,
)
from telegram_assistant.errors import Rejected
from telegram_assistant.features.receivers.receivers import list_receivers
from telegram_assistant.features.watches.previews import preview_watch
from telegram_assistant.features.watches.watches import (
    change_watch,
    create_watch,
    delete_watch,
    find_watch,
    list_watches,
    pause_watch,
    quiet_hours,
)
from telegram_assistant.web.views import FORM_DAMAGED, Content, TenantView, go, uuid_of

type Fields = FormData | QueryParams

NEW = WatchTarget(kind=WatchKind.WORDS, query="")
MAX_DIGITS = 6
"""A number with more digits is larger than every limit."""
NO_PREVIEW: Content = {"preview": None, "problem": None}


async def show(view: TenantView) -> Content:
    return {
        "watches": await list_watches(stores=view.stores),
        "may_change": KeyScope.WRITE in view.membership.scopes,
        "done": view.query("done"),
    }


async def show_new(view: TenantView) -> Content:
    if not _is_typed(view):
        return {**await _form(view, "", NEW, WatchOptions(zone=view.zone.key)), "watch": None, **NO_PREVIEW}
    return {**await _form_as_typed(view), "watch": None}


async def show_one(view: TenantView) -> Content:
    """The form at once: the page asks for the preview, which takes longer, by itself.

    Without scripts it comes with what was typed.
    """
    watch = await find_watch(_id(view), stores=view.stores)
    if _is_typed(view):
        return {**await _form_as_typed(view), "watch": watch}
    return {**await _form(view, watch.name, watch.target, watch.options), "watch": watch, **NO_PREVIEW}


async def preview(view: TenantView) -> Content:
    return await _preview(view, _target(view.request.query_params))


async def create(view: TenantView) -> Response:
    watch = await create_watch(
        *_read_form(view.form, view),
        stores=view.stores,
        created_by=view.person.name,
        now=view.now,
        zone=view.zone,
    )
    view.note(name=watch.name, kind=watch.target.kind.value)
    return go(view.url("/watches?done=created"))


async def change(view: TenantView) -> Response:
    watch = await change_watch(
        _id(view), *_read_form(view.form, view), stores=view.stores, now=view.now, zone=view.zone
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


async def _form_as_typed(view: TenantView) -> Content:
    """The form as it was typed, which a browser without scripts sends to be previewed."""
    name, target, options = _read_form(view.request.query_params, view)
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
        "receivers": await list_receivers(stores=view.stores),
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


def _read_form(fields: Fields, view: TenantView) -> tuple[str, WatchTarget, WatchOptions]:
    try:
        severity = AlertSeverity(_text(fields, "severity") or AlertSeverity.NORMAL)
    except ValueError as error:
        raise Rejected(FORM_DAMAGED) from error
    quiet = quiet_hours(
        parse_time_of_day(_text(fields, "quiet_from")), parse_time_of_day(_text(fields, "quiet_until"))
    )
    receivers = tuple(uuid_of(str(value)) for value in fields.getlist("receiver"))
    options = WatchOptions(severity=severity, quiet=quiet, zone=view.zone.key, receivers=receivers)
    return _text(fields, "name"), _target(fields), options


def _target(fields: Fields) -> WatchTarget:
    try:
        kind = WatchKind(_text(fields, "kind") or WatchKind.WORDS)
    except ValueError as error:
        raise Rejected(FORM_DAMAGED) from error
    hours = _number(_text(fields, "hours")) if kind is WatchKind.SILENCE else None
    post_count = _number(_text(fields, "posts")) if kind is WatchKind.STORY else None
    return WatchTarget(kind=kind, query=_text(fields, "query").strip(), hours=hours, posts=post_count)


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name, "")
    return value if isinstance(value, str) else ""


def _number(text: str) -> int | None:
    is_number = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
    return int(text) if is_number else None
