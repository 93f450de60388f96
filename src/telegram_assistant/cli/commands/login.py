"""The terminal side of a login: asks the questions of the ingest role and sends the answers back encrypted."""

import asyncio
import time
from uuid import UUID

import typer

from telegram_assistant.assembly import App
from telegram_assistant.cli.drawing import drawing
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.wording import words_of
from telegram_assistant.domain.accounts.login import OVER, LoginState, LoginWay
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.accounts.logins import LoginAttempt, LoginRequests
from telegram_assistant.telegram.sealed_answers import AnswerReceiver, seal

LOOK_SECONDS = 0.2
NOTICE_AFTER_SECONDS, GIVE_UP_AFTER_SECONDS = 5.0, 60.0
GIVEN_UP = Reason("login_given_up", "given up")
FAILED = Reason("login_failed", "the login has failed")
PROMPTS = {
    LoginState.PHONE_WANTED: "Phone number, with + and the country code",
    LoginState.CODE_SENT: "Code that Telegram has sent you",
    LoginState.PASSWORD_WANTED: "Two-step password",
}


async def log_in(app: App, *, tenant: str, phone: str | None = None, way: LoginWay = LoginWay.PHONE) -> LoginAttempt:
    """Runs a login to its end. Raises Rejected with the reason if it fails."""
    logins, owner = app.system.logins, await app.system.tenants.by_name(tenant)
    if owner is None:
        raise Rejected(Reason("tenant_unknown", "there is no tenant {tenant}", tenant=tenant))
    receiver = AnswerReceiver()
    attempt_id = await logins.begin(owner.tenant_id, way=way, door_key=receiver.public_key)
    try:
        seen = await _show_codes(logins, attempt_id, receiver) if way is LoginWay.QR else 0
        attempt = await _answer_questions(logins, attempt_id, phone, answered=seen)
    finally:
        await logins.finish(attempt_id, LoginState.FAILED, error=GIVEN_UP)  # has no effect on a login that is already over
    if attempt.state is LoginState.EXPIRED:
        raise Rejected(Reason("login_took_too_long", "the login took too long; start again"))
    if attempt.state is LoginState.FAILED:
        raise Rejected(attempt.error or FAILED)
    return attempt


async def _show_codes(logins: LoginRequests, attempt_id: UUID, receiver: AnswerReceiver) -> int:
    """Shows one code after another until one is scanned. Returns the number of the last one."""
    seen = 0
    with drawing(console) as draw:
        while (attempt := await _next_question(logins, attempt_id, seen)).state is LoginState.QR_SHOWN:
            assert attempt.shown is not None  # the state says so
            seen = attempt.question
            draw(receiver.open(attempt.shown, question=f"{attempt_id}/{seen}/shown"))
    return seen


async def _answer_questions(logins: LoginRequests, attempt_id: UUID, phone: str | None, *, answered: int = 0) -> LoginAttempt:
    while (attempt := await _next_question(logins, attempt_id, answered)).state not in OVER:
        assert attempt.public_key is not None  # every question comes with one
        answer, phone = phone or _prompt(attempt), None
        await logins.answer(attempt_id, attempt.question, seal(answer, attempt.public_key, question=f"{attempt_id}/{attempt.question}"))
        answered = attempt.question
    return attempt


async def _next_question(logins: LoginRequests, attempt_id: UUID, answered: int) -> LoginAttempt:
    began, has_noticed = time.monotonic(), False
    while True:
        attempt = await logins.get(attempt_id)
        if attempt.state in OVER or attempt.question > answered:
            return attempt
        waited = time.monotonic() - began
        if waited > GIVE_UP_AFTER_SECONDS:
            raise Rejected(
                Reason("no_ingest_role", "no ingest role answers; start one with `tga run`, with SESSION_ENCRYPTION_KEY set, then log in again")
            )
        if waited > NOTICE_AFTER_SECONDS and not has_noticed:
            console.print("Waiting for the ingest role ...")
            has_noticed = True
        await asyncio.sleep(LOOK_SECONDS)


def _prompt(attempt: LoginAttempt) -> str:
    """Blocks the event loop on purpose: nothing else runs meanwhile, and Ctrl+C ends it at once."""
    if attempt.error:
        error = words_of(attempt.error)
        console.print(f"[yellow]{error[:1].upper() + error[1:]}.[/]")
    return str(typer.prompt(PROMPTS[attempt.state], hide_input=attempt.state is LoginState.PASSWORD_WANTED))
