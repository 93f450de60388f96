"""Logging in: by password, by a one-time link, as the first owner, or by invitation."""

import hashlib
import hmac

from starlette.responses import Response

from telegram_assistant.assembly import ApiApp
from telegram_assistant.domain.hosts import host_in
from telegram_assistant.domain.people.person import MIN_PASSWORD_LETTERS
from telegram_assistant.errors import Busy, Forbidden, Rejected
from telegram_assistant.features.operations.process_secret import secret_of
from telegram_assistant.features.people.people import (
    SESSION_LASTS,
    BrowserVisit,
    NewSession,
    create_first_owner,
    find_link,
    find_session,
    has_owner,
    has_people,
    join_as_new_person,
    sign_in,
    sign_in_by_link,
)
from telegram_assistant.features.people.people import join as join_tenant
from telegram_assistant.features.people.people import log_out as end_own_session
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import Settings
from telegram_assistant.stores.redis.limiter import network_of
from telegram_assistant.stores.redis.rate_limits import Bucket, BucketOwner
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.web.access.known_browsers import mark_browser
from telegram_assistant.web.access.login_limits import (
    limit_login,
    limit_owner_codes,
    limit_tried_names,
    with_error,
)
from telegram_assistant.web.cookies import SESSION, delete_cookie, set_cookie
from telegram_assistant.web.views import Content, PersonView, View, go, own_path

log = get_logger()

WRONG_CODE = Reason(
    "owner_code_wrong",
    "this is not the code; the log of the api process has it in the line first_owner_code",
)
OWNER_CODE_LETTERS = 16
ANNOUNCEMENTS = Bucket(BucketOwner.LOGINS_FROM, "announced code", 1, 1)
"""Strangers who open the page of the first owner do not fill the log."""


async def announce_first_owner_code(app: ApiApp) -> None:
    """Writes the code into the log while there is no owner, with a link that can be opened."""
    try:
        is_owned = await has_owner(people=app.api.people)
    except Busy:  # then the page writes it, when somebody opens it
        return
    if not is_owned:
        log_first_owner_code(app.settings, why="this installation has no owner yet")


def first_owner_code(settings: Settings) -> str:
    """The code that proves that the first owner can read this installation's log."""
    return hmac.new(secret_of(settings), b"first owner", hashlib.sha256).hexdigest()[:OWNER_CODE_LETTERS]


def first_owner_link(settings: Settings) -> str:
    return f"{settings.pages_url}/start?code={first_owner_code(settings)}"


def log_first_owner_code(settings: Settings, *, why: str) -> None:
    log.warning(
        "first_owner_code", open=first_owner_link(settings), enter=first_owner_code(settings), why=why
    )


async def show(view: View) -> Content | Response:
    if not await has_people(people=view.app.api.people):
        return go("/start")
    return {"next": own_path(view.query("next"), "/"), "name": "", "home": _other_home(view)}


async def log_in(view: View) -> Content | Response:
    name, target = view.text("name"), own_path(view.text("next"), "/")
    try:
        queue = await limit_login(view, name)
        new_session = await sign_in(
            name,
            view.text("password"),
            people=view.app.api.people,
            passwords=view.passwords,
            visit=_visit(view),
            secret=secret_of(view.app.settings),
            queue=queue,
        )
    except (Rejected, Busy) as error:
        return with_error({"next": target, "name": name, "home": _other_home(view)}, error)
    return _let_in(view, new_session, target, name)


async def show_start(view: View) -> Content | Response:
    """The first owner. Open until the operator's tenant has a member."""
    if await has_owner(people=view.app.api.people):
        return go("/login")
    if (await view.limiter.take(ANNOUNCEMENTS)).allowed:
        log_first_owner_code(view.app.settings, why="somebody opened the page of the first owner")
    return {"name": "", "code": view.query("code"), "min_letters": MIN_PASSWORD_LETTERS}


async def start(view: View) -> Content | Response:
    name = view.text("name")
    try:
        await limit_owner_codes(view)
        if not hmac.compare_digest(
            view.text("code").strip().encode(), first_owner_code(view.app.settings).encode()
        ):
            raise Forbidden(WRONG_CODE)
        new_session = await create_first_owner(
            name,
            view.text("password"),
            people=view.app.api.people,
            passwords=view.passwords,
            visit=_visit(view),
        )
    except (Rejected, Busy) as error:
        return with_error(
            {"name": name, "code": view.text("code"), "min_letters": MIN_PASSWORD_LETTERS}, error
        )
    session = await find_session(new_session.token, people=view.app.api.people)
    return _let_in(view, new_session, f"/t/{session.memberships[0].tenant}/setup" if session else "/", name)


async def show_link(view: View) -> Content | Response:
    """Shows a button and uses nothing up: previews of links open them, too."""
    link = await find_link(view.request.path_params["token"], people=view.app.api.people)
    return {
        "link": link,
        "name": "",
        "min_letters": MIN_PASSWORD_LETTERS,
        "token": view.request.path_params["token"],
    }


async def use_link(view: View) -> Content | Response:
    token, people = view.request.path_params["token"], view.app.api.people
    link = await find_link(token, people=people)
    if link.tenant_name is None:
        return _let_in(
            view, await sign_in_by_link(token, people=people, visit=_visit(view)), "/", link.user_name or ""
        )
    name = view.text("name")
    try:
        await limit_tried_names(view, token, str(link.tenant))
        new_session = await join_as_new_person(
            token, name, view.text("password"), people=people, passwords=view.passwords, visit=_visit(view)
        )
    except (Rejected, Busy) as error:
        return with_error(
            {"link": link, "name": name, "min_letters": MIN_PASSWORD_LETTERS, "token": token}, error
        )
    return _let_in(view, new_session, "/", name)


async def join(view: PersonView) -> Content | Response:
    """Joins a tenant as the person who is logged in."""
    tenant_id = await join_tenant(
        view.request.path_params["token"], token=view.token, people=view.app.api.people
    )
    return go(f"/t/{tenant_id}/feed")


async def log_out(view: PersonView) -> Content | Response:
    await end_own_session(view.session_id, token=view.token, people=view.app.api.people)
    response = go("/login")
    delete_cookie(response, SESSION, view.client)
    return response


def _other_home(view: View) -> str:
    """BASE_URL, if a login must fail here: over plain HTTP under another
    name no browser keeps the cookies of https.
    """
    web_settings = view.app.settings.web
    return (
        web_settings.base_url
        if web_settings.is_https and host_in(view.request.headers.getlist("host")) != web_settings.host
        else ""
    )


def _visit(view: View) -> BrowserVisit:
    return BrowserVisit(view.agent, network_of(view.client.address))


def _let_in(view: View, new_session: NewSession, target: str, name: str) -> Response:
    response = go(target)
    set_cookie(response, SESSION, new_session.token, view.client, seconds=int(SESSION_LASTS.total_seconds()))
    mark_browser(response, view, name)
    return response
