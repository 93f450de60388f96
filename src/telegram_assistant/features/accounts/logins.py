"""Logging a tenant's account in to Telegram: start, see what is asked, answer, give up.

The CLI and the pages use the same functions.
"""

from dataclasses import dataclass, field
from uuid import UUID, uuid4

from telegram_assistant.domain.accounts.login import LoginAttempt, LoginState, LoginWay
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.accounts.own_logins import OwnLogins
from telegram_assistant.telegram.sealed_answers import AnswerReceiver, derive_receiver, seal

MAX_ANSWER_LETTERS = 500
GIVEN_UP = Reason("login_given_up", "cancelled")
LOGIN_UNKNOWN = Reason("login_unknown", "there is no such login")


@dataclass(frozen=True, slots=True)
class Login:
    """A login; while a QR code waits to be scanned, with its link."""

    attempt: LoginAttempt
    link: str | None = field(default=None, repr=False)
    """Logs in whoever opens it. None also if another process without our secret has started the login."""


async def begin_login(way: LoginWay, *, logins: OwnLogins, secret: bytes) -> UUID:
    """Starts a login.

    Every process with the same secret can show its QR code. Raises Conflicting if too many logins are open.
    """
    attempt_id = uuid4()
    if not await logins.begin(attempt_id, way=way, door_key=_receiver(attempt_id, secret).public_key):
        raise Conflicting(Reason("logins_open", "too many logins are open; finish or cancel one first"))
    return attempt_id


async def get_login(attempt_id: UUID, *, logins: OwnLogins, secret: bytes) -> Login:
    """Raises Missing if the tenant has no such login."""
    attempt = await logins.get(attempt_id)
    if attempt is None:
        raise Missing(LOGIN_UNKNOWN)
    return _with_link(attempt, secret)


async def newest_login(*, logins: OwnLogins, secret: bytes) -> Login | None:
    """Returns the tenant's newest login, open or over."""
    attempt = await logins.get()
    return None if attempt is None else _with_link(attempt, secret)


async def answer_login(attempt_id: UUID, question: int, answer: str, *, logins: OwnLogins) -> None:
    """Answers a question; the answer is sealed for the process that asked.

    Raises Conflicting if the question is not open any more.
    """
    if not 0 < len(answer.strip()) <= MAX_ANSWER_LETTERS:
        raise Rejected(
            Reason(
                "login_answer_empty", "write an answer of at most {most} characters", most=MAX_ANSWER_LETTERS
            )
        )
    attempt = await logins.get(attempt_id)
    if attempt is None:
        raise Missing(LOGIN_UNKNOWN)
    sealed = (
        None
        if attempt.public_key is None
        else seal(answer, attempt.public_key, question=f"{attempt_id}/{question}")
    )
    if sealed is None or attempt.is_over or not await logins.answer(attempt_id, question, sealed):
        raise Conflicting(
            Reason("login_question_over", "this question was already answered or is no longer open")
        )


async def give_up_login(attempt_id: UUID, *, logins: OwnLogins) -> None:
    """Ends a login; one that is over stays as it is."""
    await logins.give_up(attempt_id, why=GIVEN_UP)


def _with_link(attempt: LoginAttempt, secret: bytes) -> Login:
    if attempt.state is not LoginState.QR_SHOWN or attempt.prompt is None:
        return Login(attempt)
    try:
        link = _receiver(attempt.attempt_id, secret).open(
            attempt.prompt, question=f"{attempt.attempt_id}/{attempt.question}/shown"
        )
    except Rejected:
        return Login(attempt)
    return Login(attempt, link)


def _receiver(attempt_id: UUID, secret: bytes) -> AnswerReceiver:
    return derive_receiver(secret, f"login {attempt_id}")
