"""The members of a tenant: invitations, roles, removal."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.people.person import new_token
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.errors import Conflicting, Forbidden, Missing, Rejected
from telegram_assistant.features.people.people import check_name
from telegram_assistant.features.tenants.keys import announce_changed_keys
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.people.members import (
    MAX_OPEN_INVITATIONS,
    Invitation,
    ListedMember,
    Members,
    MemberThing,
    ThingKind,
)
from telegram_assistant.stores.postgres.tenants.tenants import Tenant
from telegram_assistant.stores.postgres.tenants.users import Member, Users

INVITATION_LASTS = timedelta(days=7)
LAST_OWNER = Reason("last_owner", "a tenant needs an owner: first make somebody else an owner")
NO_MEMBER = Reason("member_unknown", "there is no such member")
NOT_OWNER = Reason("not_owner_any_more", "you are no longer an owner")


async def list_members(*, members: Members) -> tuple[ListedMember, ...]:
    return await members.all()


async def list_invitations(*, members: Members) -> tuple[Invitation, ...]:
    """The invitations that can still be used."""
    return await members.invitations()


async def member_named(name: str, *, tenant: Tenant, users: Users) -> Member:
    """The person of the tenant with this name; without a name, the only one.

    Raises Rejected if there is none, or several.
    """
    member = await users.find(tenant.tenant_id, name)
    if member is None:
        raise Rejected(
            Reason(
                "person_to_name",
                "name a person of tenant {tenant!r} with --person; `tga people list` shows them",
                tenant=tenant.name,
            )
        )
    return member


async def add_member(
    name: str,
    tenant_id: TenantId,
    *,
    role: MemberRole | None,
    users: Users,
    drop_cached_keys: Callable[[], Awaitable[None]],
) -> Member:
    """Adds a person at the command line, or gives a member this role; None keeps the role.

    The first person of a tenant becomes its owner.
    """
    member = await users.join(tenant_id, check_name(name), role=role)
    if role is not None:
        await announce_changed_keys(drop_cached_keys)
    return member


async def invite(role: MemberRole, *, members: Members, session: str) -> str:
    """Returns the secret of a link by which one person can join.

    `session` is the token of an owner's session.
    """
    token = new_token()
    if await members.invite(token, role, session=session, lifetime=INVITATION_LASTS):
        return token
    if len(await members.invitations()) < MAX_OPEN_INVITATIONS:
        raise Forbidden(NOT_OWNER)
    raise Conflicting(
        Reason(
            "invitations_too_many",
            "{most} invitations are open; withdraw one first",
            most=MAX_OPEN_INVITATIONS,
        )
    )


async def withdraw_invitation(invitation_id: UUID, *, members: Members) -> None:
    if not await members.withdraw(invitation_id):
        raise Missing(Reason("invitation_unknown", "there is no such invitation, or it was already used"))


@dataclass(frozen=True, slots=True)
class MemberDetails:
    """A member, and what they have made, by kind."""

    member: ListedMember
    things: Mapping[ThingKind, tuple[MemberThing, ...]]


async def find_member(member_id: UUID, *, members: Members) -> MemberDetails:
    """Raises Missing if there is no such member."""
    listed_member = next(
        (listed_member for listed_member in await members.all() if listed_member.public_id == member_id), None
    )
    if listed_member is None:
        raise Missing(NO_MEMBER)
    member_things = await members.things(member_id)
    return MemberDetails(
        listed_member,
        {
            kind: tuple(member_thing for member_thing in member_things if member_thing.kind is kind)
            for kind in ThingKind
        },
    )


async def set_role(
    member_id: UUID,
    role: MemberRole,
    *,
    members: Members,
    session: str,
    drop_cached_keys: Callable[[], Awaitable[None]],
) -> None:
    """Changes the role. A lower role ends invitations and scopes of keys that it does not permit, at once."""
    await _check(member_id, members, is_changed=await members.set_role(member_id, role, session=session))
    await announce_changed_keys(drop_cached_keys)


async def remove_member(
    member_id: UUID,
    *,
    members: Members,
    session: str,
    drop_cached_keys: Callable[[], Awaitable[None]],
    keep_feeds: bool = False,
    keep_receivers: bool = False,
) -> None:
    """Removes the member and what they made here. The owner who removes them takes over what is kept."""
    is_removed = await members.remove(
        member_id, session=session, keep_feeds=keep_feeds, keep_receivers=keep_receivers
    )
    await _check(member_id, members, is_changed=is_removed)
    await announce_changed_keys(drop_cached_keys)


async def remove_by_name(
    name: str, tenant_id: TenantId, *, users: Users, drop_cached_keys: Callable[[], Awaitable[None]]
) -> None:
    """Removes a member at the command line. Their receivers are paused."""
    member = await users.find(tenant_id, name)
    if member is None:
        raise Missing(NO_MEMBER)
    if not await users.remove(tenant_id, member.user_id):
        raise Conflicting(LAST_OWNER)
    await announce_changed_keys(drop_cached_keys)


async def _check(member_id: UUID, members: Members, *, is_changed: bool | None) -> None:
    if is_changed:
        return
    if is_changed is None:
        raise Forbidden(NOT_OWNER)
    if member_id not in {listed_member.public_id for listed_member in await members.all()}:
        raise Missing(NO_MEMBER)
    raise Conflicting(LAST_OWNER)
