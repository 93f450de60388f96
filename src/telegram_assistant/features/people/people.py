"""People: the first owner, logins, sessions, passwords, and joining by invitation."""

import hashlib
import hmac
import unicodedata
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from telegram_assistant.domain.ids import UserId
from telegram_assistant.domain.people.person import (
    MAX_NAME_LETTERS,
    MAX_PASSWORD_LETTERS,
    MIN_PASSWORD_LETTERS,
    Person,
    Preferences,
    new_token,
)
from telegram_assistant.errors import Conflicting, Forbidden, Missing, Rejected
from telegram_assistant.features.people.passwords import PasswordQueue, Passwords
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.people.people import (
    FoundSession,
    OneTimeLink,
    OpenSession,
    PasswordAttempt,
    People,
    SessionStart,
)
from telegram_assistant.stores.postgres.tenants.users import Users

SESSION_LASTS = timedelta(days=30)
"""Since the last visit. No session lasts longer than a year: the database ends it."""
LOGIN_LINK_LASTS = timedelta(hours=1)
LINK_IS_GONE = Reason("link_is_gone", "this link was already used or has expired; ask for a new one")
NAME_TAKEN = Reason(
    "person_name_taken", "this name is taken; choose another one, or log in first if it is yours"
)


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that has just begun; `token` is the value of its cookie."""

    user_id: UserId
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class BrowserVisit:
    """The browser in which somebody logs in, and the network that it is in."""

    agent: str
    network: str = ""


async def sign_in(
    name: str,
    password: str,
    *,
    people: People,
    passwords: Passwords,
    visit: BrowserVisit,
    secret: bytes,
    queue: PasswordQueue = PasswordQueue.LOGIN,
) -> NewSession:
    """Raises Forbidden if name and password do not belong together.

    `secret` hides names that nobody has from the audit log.
    """
    user_name = name.strip()
    parameters = await people.password_parameters(user_name)
    proof = await passwords.prove(password[:MAX_PASSWORD_LETTERS], parameters, queue=queue)
    start = _start(visit)
    attempt = PasswordAttempt(user_name, proof, visit.network, hash_name(user_name, secret))
    user_id = await people.begin_session_by_password(attempt, start)
    if user_id is None:
        raise Forbidden(Reason("login_wrong", "the name or the password is wrong"))
    return NewSession(user_id, start.token)


async def create_first_owner(
    name: str, password: str, *, people: People, passwords: Passwords, visit: BrowserVisit
) -> NewSession:
    """Creates the owner of the operator's tenant.

    Raises Conflicting if that tenant has a member, or somebody has the name.
    """
    checked_name, verifier, start = (
        check_name(name),
        await passwords.create_verifier(check_password(password)),
        _start(visit),
    )
    user_id = await people.create_first_owner(checked_name, verifier, start)
    if user_id is None and await has_owner(people=people):
        raise Conflicting(
            Reason("owner_exists", "this installation already has an owner; ask them for an invitation")
        )
    if user_id is None:
        raise Conflicting(NAME_TAKEN)
    return NewSession(user_id, start.token)


async def make_login_link(user_id: UserId, *, users: Users, created_by: str) -> str:
    """Returns the secret of a link that lets this person in once."""
    token = new_token()
    await users.make_login_link(user_id, token, created_by=created_by, lifetime=LOGIN_LINK_LASTS)
    return token


async def find_link(token: str, *, people: People) -> OneTimeLink:
    """Raises Missing if the link is unknown, used or expired."""
    link = await people.link(token)
    if link is None:
        raise Missing(LINK_IS_GONE)
    return link


async def sign_in_by_link(token: str, *, people: People, visit: BrowserVisit) -> NewSession:
    """Uses up the link. Raises Missing if it is not valid any more."""
    start = _start(visit)
    user_id = await people.begin_session_by_link(token, start)
    if user_id is None:
        raise Missing(LINK_IS_GONE)
    return NewSession(user_id, start.token)


async def join_as_new_person(
    token: str, name: str, password: str, *, people: People, passwords: Passwords, visit: BrowserVisit
) -> NewSession:
    """Creates a person by invitation.

    Raises Missing if it is not valid any more, Conflicting if the name is taken.
    """
    await find_link(token, people=people)
    chosen_text, verifier, start = (
        check_name(name),
        await passwords.create_verifier(check_password(password)),
        _start(visit),
    )
    user_id = await people.join_by_link(token, chosen_text, verifier, start)
    if user_id is None:
        await find_link(token, people=people)
        raise Conflicting(NAME_TAKEN)
    return NewSession(user_id, start.token)


async def join(link: str, *, token: str, people: People) -> UUID:
    """Uses up the invitation for the person with this session, and returns the tenant.

    Raises Missing if it is not valid any more.
    """
    tenant_id = await people.accept_invitation(link, token=token)
    if tenant_id is None:
        raise Missing(LINK_IS_GONE)
    return tenant_id


async def change_password(
    person: Person, old_password: str, new_password: str, *, token: str, people: People, passwords: Passwords
) -> int:
    """Returns how many other sessions were ended.

    Raises Forbidden if the old password is wrong; who has none yet needs none.
    """
    check_password(new_password)
    proof = None
    if person.has_password:
        parameters = await people.password_parameters(person.name)
        proof = await passwords.prove(
            old_password[:MAX_PASSWORD_LETTERS], parameters, queue=PasswordQueue.CHANGE
        )
    ended_count = await people.set_password(
        token, old_proof=proof, verifier=await passwords.create_verifier(new_password)
    )
    if ended_count is None:
        raise Forbidden(Reason("old_password_wrong", "the old password is wrong"))
    return ended_count


async def find_session(token: str, *, people: People) -> FoundSession | None:
    """The session with this token, its person and their tenants; None if there is none, or it has ended."""
    return await people.session(token) if token else None


async def has_people(*, people: People) -> bool:
    return await people.exist()


async def has_owner(*, people: People) -> bool:
    """Whether the operator's tenant has a member."""
    return await people.have_owner()


async def list_sessions(*, token: str, people: People) -> tuple[OpenSession, ...]:
    """All sessions of the person whose session has this token."""
    return await people.sessions(token)


async def end_other_sessions(*, token: str, people: People) -> int:
    """Returns how many sessions of the person were ended."""
    return await people.end_other_sessions(token)


async def log_out(session_id: UUID, *, token: str, people: People) -> None:
    """Ends the person's own session; one that has ended stays so."""
    await people.end_session(token, session_id)


async def set_preferences(preferences: Preferences, *, token: str, people: People) -> None:
    await people.set_preferences(token, preferences)


async def record_login_alarm(name: str, *, network: str, unknown_as: str, people: People) -> None:
    """Records in the audit log that too many logins with this name were tried.

    A name that nobody has is recorded as `unknown_as`.
    """
    await people.note_login_alarm(name.strip(), network=network, unknown_as=unknown_as)


async def end_session(session_id: UUID, *, token: str, people: People) -> None:
    """Ends a session of the person whose session has this token."""
    if not await people.end_session(token, session_id):
        raise Missing(Reason("session_unknown", "there is no such session, or it has already ended"))


def hash_name(name: str, secret: bytes) -> str:
    """Stands for a name where the name itself must not:
    who does not know the secret cannot find out which it is.
    """
    return hmac.new(secret, b"name:" + name.strip().casefold().encode(), hashlib.sha256).hexdigest()[:16]


def check_name(name: str) -> str:
    """The name as it is stored. Letters that look the same are written the same where Unicode knows it."""
    tidy_name = " ".join(unicodedata.normalize("NFC", name).split())
    if not 0 < len(tidy_name) <= MAX_NAME_LETTERS or not tidy_name.isprintable():
        raise Rejected(
            Reason("person_name_length", "a name must have 1 to {most} characters", most=MAX_NAME_LETTERS)
        )
    return tidy_name


def check_password(password: str) -> str:
    if not MIN_PASSWORD_LETTERS <= len(password) <= MAX_PASSWORD_LETTERS:
        raise Rejected(
            Reason(
                "password_length",
                "a password must have {least} to {most} characters",
                least=MIN_PASSWORD_LETTERS,
                most=MAX_PASSWORD_LETTERS,
            )
        )
    return password


def _start(visit: BrowserVisit) -> SessionStart:
    """A session with a new token, whatever the browser had before."""
    return SessionStart(new_token(), visit.agent, SESSION_LASTS)
