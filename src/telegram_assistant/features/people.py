"""People: the first owner, logins, sessions, invitations, members."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from telegram_assistant.domain.ids import UserId
from telegram_assistant.domain.people.person import MAX_NAME_LETTERS, MAX_PASSWORD_LETTERS, MIN_PASSWORD_LETTERS, Person, new_token
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.errors import Conflicting, Forbidden, Missing, Rejected
from telegram_assistant.features.passwords import Passwords
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.people.members import Members
from telegram_assistant.stores.postgres.people.people import OneTimeLink, People
from telegram_assistant.stores.postgres.tenants.users import Users

SESSION_LASTS = timedelta(days=30)
"""Since the last visit."""
LOGIN_LINK_LASTS = timedelta(hours=1)
INVITATION_LASTS = timedelta(days=7)
LINK_IS_GONE = Reason("link_is_gone", "this link was used already, or it has expired; ask for a new one")


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that has just begun; `token` is the value of its cookie."""

    user_id: UserId
    token: str


async def sign_in(name: str, password: str, *, people: People, passwords: Passwords, agent: str) -> NewSession:
    """Raises Forbidden if name and password do not belong together."""
    found = await people.password(name.strip())
    matches = await passwords.matches(password[:MAX_PASSWORD_LETTERS], found[1] if found else None)
    if found is None or not matches:
        raise Forbidden(Reason("login_wrong", "name and password do not belong together"))
    return await begin_session(found[0], people=people, agent=agent)


async def begin_session(user_id: UserId, *, people: People, agent: str) -> NewSession:
    """Begins a session with a new token, whatever the browser had before."""
    token = new_token()
    await people.begin_session(user_id, token, agent=agent, lasts=SESSION_LASTS)
    return NewSession(user_id, token)


async def create_first_owner(name: str, password: str, *, people: People, passwords: Passwords, agent: str) -> NewSession:
    """Creates the owner of the operator's tenant. Raises Conflicting if somebody can already log in."""
    hashed = await passwords.hash(check_password(password))
    user_id = await people.create_first_owner(check_name(name), hashed)
    if user_id is None:
        raise Conflicting(Reason("owner_exists", "this installation has an owner already; ask them for an invitation"))
    return await begin_session(user_id, people=people, agent=agent)


async def make_login_link(user_id: UserId, *, users: Users, created_by: str) -> str:
    """Returns the secret of a link that lets this person in once."""
    token = new_token()
    await users.make_login_link(user_id, token, created_by=created_by, lasts=LOGIN_LINK_LASTS)
    return token


async def link_of(token: str, *, people: People) -> OneTimeLink:
    """Raises Missing if the link is unknown, used or expired."""
    found = await people.link(token)
    if found is None:
        raise Missing(LINK_IS_GONE)
    return found


async def sign_in_by_link(token: str, *, people: People, agent: str) -> NewSession:
    """Uses up the link. Raises Missing if it is not valid any more."""
    user_id = await people.use_login_link(token)
    if user_id is None:
        raise Missing(LINK_IS_GONE)
    return await begin_session(user_id, people=people, agent=agent)


async def join_as_new_person(token: str, name: str, password: str, *, people: People, passwords: Passwords, agent: str) -> NewSession:
    """Creates a person by invitation. Raises Missing if it is not valid any more, Conflicting if the name is taken."""
    await link_of(token, people=people)
    hashed = await passwords.hash(check_password(password))
    user_id = await people.create_by_invitation(token, check_name(name), hashed)
    if user_id is None:
        await link_of(token, people=people)
        raise Conflicting(Reason("person_name_taken", "this name is taken; choose another one, or log in first if it is yours"))
    await join(token, user_id, people=people)
    return await begin_session(user_id, people=people, agent=agent)


async def join(token: str, user_id: UserId, *, people: People) -> UUID:
    """Uses up the invitation and returns the tenant. Raises Missing if it is not valid any more."""
    tenant = await people.accept_invitation(token, user_id)
    if tenant is None:
        raise Missing(LINK_IS_GONE)
    return tenant


async def change_password(person: Person, old: str, new: str, *, token: str, people: People, passwords: Passwords) -> int:
    """Returns how many other sessions were ended. Raises Forbidden if the old password is wrong; who has none yet needs none."""
    if person.has_password:
        found = await people.password(person.name)
        if not await passwords.matches(old[:MAX_PASSWORD_LETTERS], found[1] if found else None):
            raise Forbidden(Reason("old_password_wrong", "the old password is wrong"))
    await people.set_password(person.user_id, await passwords.hash(check_password(new)))
    return await people.end_other_sessions(person.user_id, token=token)


async def end_session(person: Person, session_id: UUID, *, people: People) -> None:
    if not await people.end_session(person.user_id, session_id):
        raise Missing(Reason("session_unknown", "there is no such session, or it has already ended"))


async def invite(role: MemberRole, *, members: Members, created_by: str) -> str:
    """Returns the secret of a link by which one person can join."""
    token = new_token()
    await members.invite(token, role, created_by=created_by, lasts=INVITATION_LASTS)
    return token


async def withdraw_invitation(invitation: UUID, *, members: Members) -> None:
    if not await members.withdraw(invitation):
        raise Missing(Reason("invitation_unknown", "there is no such invitation, or it was used already"))


async def set_role(member: UUID, role: MemberRole, *, members: Members) -> None:
    if not await members.set_role(member, role):
        await _explain(member, members)


async def remove_member(member: UUID, *, members: Members) -> None:
    if not await members.remove(member):
        await _explain(member, members)


async def _explain(member: UUID, members: Members) -> None:
    if member not in {one.public_id for one in await members.all()}:
        raise Missing(Reason("member_unknown", "there is no such member"))
    raise Conflicting(Reason("last_owner", "a tenant needs an owner: make somebody else an owner first"))


def check_name(name: str) -> str:
    shown = " ".join(name.split())
    if not 0 < len(shown) <= MAX_NAME_LETTERS or not shown.isprintable():
        raise Rejected(Reason("person_name_length", "a name has 1 to {most} letters", most=MAX_NAME_LETTERS))
    return shown


def check_password(password: str) -> str:
    if not MIN_PASSWORD_LETTERS <= len(password) <= MAX_PASSWORD_LETTERS:
        raise Rejected(Reason("password_length", "a password has {least} to {most} letters", least=MIN_PASSWORD_LETTERS, most=MAX_PASSWORD_LETTERS))
    return password
