"""The terminal side of a login:
asks the questions of the ingest role and sends the answers back encrypted.
"""

import asyncio
import time
from uuid import UUID

import typer

from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import tenant_named
from telegram_assistant.cli.drawing import drawing
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.wording import words_of
from telegram_assistant.domain.accounts.login import LoginAttempt, LoginState, LoginWay
from telegram_assistant.errors import Rejected
from telegram_assistant.features.accounts.logins import (
    Login,
    answer_login,
    begin_login,
    get_login,
    give_up_login,
)
from telegram_assistant.features.operations.process_secret import secret_of
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.accounts.own_logins import OwnLogins

LOOK_SECONDS = 0.2
NOTICE_AFTER_SECONDS, GIVE_UP_AFTER_SECONDS = 5.0, 60.0
LOGIN_FAILED = Reason("login_failed", "the login failed")
PROMPTS = {
    LoginState.PHONE_WANTED: "Phone number, with + and the country code",
    LoginState.CODE_SENT: "Code that Telegram has sent to your Telegram app",
    LoginState.PASSWORD_WANTED: "Two-step password",
}


async def log_in(
    app: App, *, tenant: str, phone: str | None = None, way: LoginWay = LoginWay.PHONE
) -> LoginAttempt:
    """Runs a login to its end. Raises Rejected with the reason if it fails."""
    owner = await tenant_named(app, tenant)
    logins, secret = app.tenant(owner.tenant_id).logins, secret_of(app.settings)
    attempt_id = await begin_login(way, logins=logins, secret=secret)
    try:
        last_question = await _show_codes(logins, attempt_id, secret) if way is LoginWay.QR else 0
        attempt = await _answer_questions(logins, attempt_id, secret, phone, answered_count=last_question)
    finally:
        await give_up_login(attempt_id, logins=logins)
    if attempt.state is LoginState.EXPIRED:
        raise Rejected(Reason("login_took_too_long", "the login took too long; start again"))
    if attempt.state is LoginState.FAILED:
        raise Rejected(attempt.error or LOGIN_FAILED)
    return attempt


async def _show_codes(logins: OwnLogins, attempt_id: UUID, secret: bytes) -> int:
    """Shows one code after another until one is scanned. Returns the number of the last one."""
    last_question = 0
    with drawing(console) as draw:
        while (login := await _next_question(logins, attempt_id, secret, last_question)).link is not None:
            last_question = login.attempt.question
            draw(login.link)
    return last_question


async def _answer_questions(
    logins: OwnLogins, attempt_id: UUID, secret: bytes, phone: str | None, *, answered_count: int = 0
) -> LoginAttempt:
    while not (attempt := (await _next_question(logins, attempt_id, secret, answered_count)).attempt).is_over:
        answer, phone = phone or _prompt(attempt), None
        await answer_login(attempt_id, attempt.question, answer, logins=logins)
        answered_count = attempt.question
    return attempt


async def _next_question(logins: OwnLogins, attempt_id: UUID, secret: bytes, answered_count: int) -> Login:
    began_at, has_noticed = time.monotonic(), False
    while True:
        login = await get_login(attempt_id, logins=logins, secret=secret)
        if login.attempt.is_over or login.attempt.question > answered_count:
            return login
        waited_seconds = time.monotonic() - began_at
        if waited_seconds > GIVE_UP_AFTER_SECONDS:
            raise Rejected(
                Reason(
                    "no_ingest_role",
                    "no ingest role answers; start one with `tga run`, with SESSION_ENCRYPTION_KEY set, "
                    "then log in again",
                )
            )
        if waited_seconds > NOTICE_AFTER_SECONDS and not has_noticed:
            console.print("Waiting for the ingest role ...")
            has_noticed = True
        await asyncio.sleep(LOOK_SECONDS)


def _prompt(attempt: LoginAttempt) -> str:
    """Blocks the event loop on purpose: nothing else runs meanwhile, and Ctrl+C ends it at once."""
    if attempt.error:
        error = words_of(attempt.error)
        console.print(f"[yellow]{error[:1].upper() + error[1:]}.[/]")
    return str(typer.prompt(PROMPTS[attempt.state], hide_input=attempt.state is LoginState.PASSWORD_WANTED))
