"""The members of a tenant, and its invitations."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from telegram_assistant.domain.tenants.access import MemberRole, hash_of
from telegram_assistant.stores.postgres.database import TenantTransactions

MAX_OPEN_INVITATIONS = 50
"""Per tenant."""


@dataclass(frozen=True, slots=True)
class ListedMember:
    """A member of the tenant."""

    public_id: UUID
    name: str
    role: MemberRole
    joined_at: datetime
    seen_at: datetime | None
    """When they were last seen anywhere in the installation."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation that nobody has used yet."""

    public_id: UUID
    role: MemberRole
    created_by: str
    created_at: datetime
    expires_at: datetime


class ThingKind(StrEnum):
    """The kind of a thing that a member has made and that outlives a page."""

    INVITATION = "invitation"
    KEY = "key"
    FEED = "feed"
    RECEIVER = "receiver"


@dataclass(frozen=True, slots=True)
class MemberThing:
    """Something that a member has made.

    `detail` is the role of an invitation, the scopes of a key, or the kind of a feed or receiver.
    """

    kind: ThingKind
    name: str
    detail: str
    created_at: datetime


class Members:
    """A tenant store."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def all(self) -> tuple[ListedMember, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT * FROM members_of_tenant()")
        return tuple(
            ListedMember(
                row["public_id"], row["name"], MemberRole(row["role"]), row["created_at"], row["seen_at"]
            )
            for row in rows
        )

    async def set_role(self, member_id: UUID, role: MemberRole, *, session: str) -> bool | None:
        """Returns False if there is no such member, or the tenant would have no owner left; None if `session`
        is not an owner's.

        A lower role ends their invitations, and their keys lose the scopes that it does not have.
        """
        async with self._transactions.begin() as connection:
            is_changed: bool | None = await connection.fetchval(
                "SELECT set_member_role($1, $2, $3)", session, member_id, role.value
            )
        return is_changed

    async def remove(
        self, member_id: UUID, *, session: str, keep_feeds: bool = False, keep_receivers: bool = False
    ) -> bool | None:
        """As above.

        Ends what they made: invitations, keys and feeds; pauses their receivers. The owner takes over what is
        kept.
        """
        async with self._transactions.begin() as connection:
            is_removed: bool | None = await connection.fetchval(
                "SELECT remove_member($1, $2, $3, $4)", session, member_id, keep_feeds, keep_receivers
            )
        return is_removed

    async def things(self, member_id: UUID) -> tuple[MemberThing, ...]:
        """The things that the member has made here and that let somebody in, or send something out."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT * FROM things_of_member($1)", member_id)
        return tuple(
            MemberThing(ThingKind(row["kind"]), row["name"], row["detail"], row["created_at"]) for row in rows
        )

    async def invite(self, token: str, role: MemberRole, *, session: str, lifetime: timedelta) -> UUID | None:
        """Returns None if `session` is not the token of an owner's session,
        or as many invitations are open as may be.
        """
        async with self._transactions.begin() as connection:
            invitation_id: UUID | None = await connection.fetchval(
                "SELECT make_invitation($1, $2, $3, $4, $5)",
                session,
                hash_of(token),
                role.value,
                lifetime,
                MAX_OPEN_INVITATIONS,
            )
        return invitation_id

    async def invitations(self) -> tuple[Invitation, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT * FROM open_invitations()")
        return tuple(Invitation(**{**dict(row), "role": MemberRole(row["role"])}) for row in rows)

    async def withdraw(self, invitation_id: UUID) -> bool:
        """Returns False if there is no such open invitation."""
        async with self._transactions.begin() as connection:
            return bool(await connection.fetchval("SELECT withdraw_invitation($1)", invitation_id))
