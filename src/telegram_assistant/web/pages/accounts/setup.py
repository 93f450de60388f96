"""Getting started: the application at Telegram, an account, channels, and what is happening now."""

from contextlib import suppress

from starlette.responses import Response

from telegram_assistant.domain.accounts.login import LoginWay
from telegram_assistant.domain.accounts.setup import Application, Proxy
from telegram_assistant.errors import Conflicting, Rejected
from telegram_assistant.features.accounts import logins, telegram_setup
from telegram_assistant.features.accounts.getting_started import LoginStatus, getting_started, login_status
from telegram_assistant.features.channels.coverage import describe_coverage
from telegram_assistant.features.operations.process_secret import secret_of
from telegram_assistant.features.tenants.audit import record_action
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import ProxyType
from telegram_assistant.stores.postgres.tenants.audit import AuditedAction
from telegram_assistant.web.qr_code import draw_qr_code
from telegram_assistant.web.views import FORM_DAMAGED, Content, TenantView, go, uuid_of

NO_CONTENT = 204
MAX_DIGITS = 19


async def show(view: TenantView) -> Content:
    return await _content(view)


async def show_login(view: TenantView) -> Content | Response:
    """The login alone, for a page that waits; nothing if the page shows it already.

    When it is over, the whole page changes.
    """
    status = await login_status(stores=view.stores, secret=secret_of(view.app.settings), now=view.now)
    if view.query("seen") == status.mark:
        return Response(status_code=NO_CONTENT)
    if not status.is_open:
        return Response(status_code=NO_CONTENT, headers={"HX-Refresh": "true"})
    return _login_content(status)


async def enter_application(view: TenantView) -> Content | Response:
    api_id = view.text("api_id")
    try:
        await telegram_setup.enter_application(
            Application(_number(api_id), view.text("api_hash").strip()),
            is_at_simulator=_is_at_simulator(view),
            setup=view.stores.telegram_setup,
            entered_by=view.person.name,
        )
    except Rejected as error:
        return {**await _content(view), "error": error.reason, "refused": "application", "api_id": api_id}
    return go(view.url("/setup"))


async def enter_proxy(view: TenantView) -> Content | Response:
    try:
        await telegram_setup.enter_proxy(
            _proxy(view), setup=view.stores.telegram_setup, entered_by=view.person.name
        )
    except Rejected as error:
        return {**await _content(view), "error": error.reason, "refused": "proxy"}
    return go(view.url("/setup"))


async def forget_proxy(view: TenantView) -> Response:
    await telegram_setup.forget_proxy(setup=view.stores.telegram_setup)
    return go(view.url("/setup"))


async def begin_login(view: TenantView) -> Response:
    try:
        way = LoginWay(view.text("way"))
    except ValueError as error:
        raise Rejected(FORM_DAMAGED) from error
    await logins.begin_login(way, logins=view.stores.logins, secret=secret_of(view.app.settings))
    view.note(way=way.value)
    return go(view.url("/setup#account"))


async def answer_login(view: TenantView) -> Response:
    """A second press of the button changes nothing; the page then shows what became of the first.

    It writes the audit log itself: what is audited by the route is remembered by a hash of the form, and this
    form holds a code or a password.
    """
    question = view.text("question")
    if not (question.isascii() and question.isdecimal()):
        raise Rejected(FORM_DAMAGED)
    login_id = uuid_of(view.request.path_params["login"])
    with suppress(Conflicting):
        await logins.answer_login(login_id, int(question), view.text("answer"), logins=view.stores.logins)
        subject = f"/setup/login/{login_id}/answer"
        action = AuditedAction(view.person.name, "answer_login", subject, None, {}, view.person.public_id)
        await record_action(action, audit=view.stores.audit)
    return go(view.url("/setup#account"))


async def give_up_login(view: TenantView) -> Response:
    await logins.give_up_login(uuid_of(view.request.path_params["login"]), logins=view.stores.logins)
    return go(view.url("/setup#account"))


async def _content(view: TenantView) -> Content:
    started = await getting_started(stores=view.stores, secret=secret_of(view.app.settings), now=view.now)
    settings = view.app.settings
    return {
        **_login_content(started.status),
        "started": started,
        "steps": {step.value: state.value for step, state in started.steps.items()},
        "coverage": {state.value: count for state, count in started.coverage.states.items()},
        "unfinished": tuple(
            (channel.title, describe_coverage(channel)) for channel in started.coverage.channels
        ),
        "has_previews": settings.previews.enabled,
        "joins_per_day": settings.parser.joins_per_day,
        "shares_secret": bool(settings.web.secret_key.get_secret_value()),
        "is_at_simulator": _is_at_simulator(view),
        "proxy_kinds": tuple(proxy_type.value for proxy_type in ProxyType),
        "error": None,
        "refused": "",
        "api_id": "",
    }


def _proxy(view: TenantView) -> Proxy:
    try:
        kind = ProxyType(view.text("kind"))
    except ValueError as error:
        raise Rejected(
            Reason("proxy_kind_unknown", "choose one of the protocols that the page offers")
        ) from error
    return Proxy(
        kind.value,
        view.text("address").strip(),
        _number(view.text("port")),
        view.text("username").strip(),
        view.text("password"),
    )


def _number(text: str) -> int:
    """0 for what is no number: neither an id nor a port is 0."""
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < MAX_DIGITS else 0


def _is_at_simulator(view: TenantView) -> bool:
    return bool(view.app.settings.telegram.dc_addr)


def _login_content(status: LoginStatus) -> dict[str, object]:
    link = status.login.link if status.login else None
    return {
        "status": status,
        "setup": status.setup,
        "login": status.login,
        "qr": draw_qr_code(link) if link else None,
    }
