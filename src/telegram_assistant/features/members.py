"""The members of a tenant: invitations, roles, removal."""

from datetime import timedelta
from uuid import UUID

from telegram_assistant.domain.people.person import new_token
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.errors import Conflicting, Forbidden, Missing
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.people.members import MAX_OPEN_INVITATIONS, Members

INVITATION_LASTS = timedelta(days=7)
NOT_OWNER = Reason("not_owner_any_more", "you are not an owner any more")


async def invite(role: MemberRole, *, members: Members, session: str) -> str:
    """Returns the secret of a link by which one person can join. `session` is the token of an owner's session."""
    token = new_token()
    if await members.invite(token, role, session=session, lasts=INVITATION_LASTS):
        return token
    if len(await members.invitations()) < MAX_OPEN_INVITATIONS:
        raise Forbidden(NOT_OWNER)
    raise Conflicting(
        Reason("invitations_too_many", "{most} invitations are open; withdraw one first", most=MAX_OPEN_INVITATIONS),
    )


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
    if member not in {listed.public_id for listed in await members.all()}:
        raise Missing(Reason("member_unknown", "there is no such member"))
    raise Conflicting(Reason("last_owner", "a tenant needs an owner: make somebody else an owner first"))
