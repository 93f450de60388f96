"""API keys of a tenant: who made them, what they may do, when they were used last."""

from datetime import datetime, timedelta

from starlette.responses import Response

from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.errors import Rejected
from telegram_assistant.features.tenants import keys
from telegram_assistant.features.tenants.keys import KeyMaker
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.redis.rate_limits import RateLimits
from telegram_assistant.web.cursors import read_moment_cursor, write_moment_cursor
from telegram_assistant.web.views import FORM_DAMAGED, Content, TenantView, go, uuid_of

SHOWN_KEYS = 50
MAX_NAME = 100
LIFETIMES = (30, 90, 365)
"""Days that a key may live."""


async def show(view: TenantView) -> Content:
    return await _content(view)


async def create(view: TenantView) -> Content:
    name, scopes = view.text("name").strip(), _scopes(view)
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise Rejected(
            Reason(
                "key_name_invalid",
                "give the key a name of at most {max_letters} characters",
                max_letters=MAX_NAME,
            )
        )
    maker = KeyMaker(actor=view.person.name, scopes=view.membership.scopes, user_id=view.person.user_id)
    created_key = await keys.make_key(
        name, scopes, maker=maker, keys=view.stores.keys, now=view.now, expires_at=_expiry(view)
    )
    view.note(name=name, scopes=[scope.value for scope in scopes])
    return {**await _content(view), "created": created_key}


async def revoke(view: TenantView) -> Response:
    key_id = uuid_of(view.request.path_params["key"])
    await keys.revoke_key(
        key_id, keys=view.stores.keys, drop_cached_keys=RateLimits(view.app.redis).drop_cached_keys
    )
    return go(view.url("/keys?done=revoked"))


async def _content(view: TenantView) -> Content:
    page = await keys.list_keys(
        keys=view.stores.keys, limit=SHOWN_KEYS, before=read_moment_cursor(view.query("before"))
    )
    return {
        "page": page,
        "next": write_moment_cursor(page.next),
        "offered": tuple(scope for scope in KeyScope if scope in view.membership.scopes),
        "lifetimes": LIFETIMES,
        "max_name": MAX_NAME,
        "created": None,
        "done": view.query("done"),
        "now": view.now,
    }


def _scopes(view: TenantView) -> tuple[KeyScope, ...]:
    try:
        scopes = tuple(KeyScope(str(value)) for value in view.form.getlist("scope"))
    except ValueError as error:
        raise Rejected(FORM_DAMAGED) from error
    if not scopes:
        raise Rejected(Reason("key_without_scopes", "choose at least one permission for the key"))
    return scopes


def _expiry(view: TenantView) -> datetime | None:
    days = view.text("days")
    if not days:
        return None
    if days not in {str(lifetime) for lifetime in LIFETIMES}:
        raise Rejected(FORM_DAMAGED)
    return view.now + timedelta(days=int(days))
