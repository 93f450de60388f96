"""People outside any tenant: passwords, sessions, one-time links. Each method calls one database function that may do just that."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.people.person import FeedOrder, Language, Membership, Person, Preferences, Theme
from telegram_assistant.domain.tenants.access import MemberRole, hash_of
from telegram_assistant.stores.postgres.database import ApiTransactions


@dataclass(frozen=True, slots=True)
class FoundSession:
    """The person behind a cookie, their session and their tenants."""

    person: Person
    session_id: UUID
    memberships: tuple[Membership, ...]


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that has not ended. The browser chose `agent`."""

    public_id: UUID
    created_at: datetime
    seen_at: datetime
    agent: str


@dataclass(frozen=True, slots=True)
class OneTimeLink:
    """A link that was not used yet: a login of `user_name`, or an invitation to `tenant_name`."""

    user_name: str | None
    tenant_name: str | None
    role: MemberRole | None
    created_by: str
    expires_at: datetime


class People:
    """For requests whose tenant is not known yet; needs no rights on tables."""

    def __init__(self, transactions: ApiTransactions) -> None:
        self._transactions = transactions

    async def session(self, token: str) -> FoundSession | None:
        """Returns None if the session is unknown, ended or expired. Records that it was seen, once a minute."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT * FROM find_session($1)", hash_of(token))
        return FoundSession(_person(row), row["session_id"], _memberships(row["tenants"])) if row else None

    async def begin_session(self, user_id: UserId, token: str, *, agent: str, lasts: timedelta) -> UUID:
        async with self._transactions.begin() as connection:
            session_id: UUID = await connection.fetchval("SELECT begin_session($1, $2, $3, $4)", user_id, hash_of(token), agent, lasts)
        return session_id

    async def end_session(self, user_id: UserId, session_id: UUID) -> bool:
        """Returns False if this person has no such session."""
        async with self._transactions.begin() as connection:
            return bool(await connection.fetch("SELECT end_sessions($1, $2, NULL)", user_id, session_id))

    async def end_other_sessions(self, user_id: UserId, *, token: str | None) -> int:
        """Ends all sessions of a person but the one with this token."""
        async with self._transactions.begin() as connection:
            return len(await connection.fetch("SELECT end_sessions($1, NULL, $2)", user_id, hash_of(token) if token else None))

    async def sessions(self, user_id: UserId) -> tuple[OpenSession, ...]:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT * FROM sessions_of_person($1)", user_id)
        return tuple(OpenSession(**dict(row)) for row in rows)

    async def password(self, name: str) -> tuple[UserId, str] | None:
        """The person with this name and the hash of their password."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT * FROM password_of_person($1)", name)
        return (UserId(row["user_id"]), row["password_hash"]) if row else None

    async def set_password(self, user_id: UserId, password_hash: str) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT set_password($1, $2)", user_id, password_hash)

    async def set_preferences(self, user_id: UserId, chosen: Preferences) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "SELECT set_preferences($1, $2, $3, $4, $5)", user_id, chosen.language, chosen.zone, chosen.theme.value, chosen.feed_order.value
            )

    async def exist(self) -> bool:
        """Whether anybody can log in with a password."""
        async with self._transactions.begin() as connection:
            return bool(await connection.fetchval("SELECT has_people()"))

    async def create_first_owner(self, name: str, password_hash: str) -> UserId | None:
        """Returns None if somebody else was first."""
        async with self._transactions.begin() as connection:
            return _user_id(await connection.fetchval("SELECT create_first_owner($1, $2)", name, password_hash))

    async def link(self, token: str) -> OneTimeLink | None:
        """Returns None if the link is unknown, used or expired."""
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT * FROM find_link($1)", hash_of(token))
        if row is None:
            return None
        role = MemberRole(row["role"]) if row["role"] else None
        return OneTimeLink(row["user_name"], row["tenant_name"], role, row["created_by"], row["expires_at"])

    async def use_login_link(self, token: str) -> UserId | None:
        async with self._transactions.begin() as connection:
            return _user_id(await connection.fetchval("SELECT use_login_link($1)", hash_of(token)))

    async def create_by_invitation(self, token: str, name: str, password_hash: str) -> UserId | None:
        """Creates a person. Returns None if the invitation is not valid or the name is taken. The invitation stays unused."""
        async with self._transactions.begin() as connection:
            return _user_id(await connection.fetchval("SELECT create_person_by_link($1, $2, $3)", hash_of(token), name, password_hash))

    async def accept_invitation(self, token: str, user_id: UserId) -> UUID | None:
        """Uses up the invitation and returns its tenant; who is already a member keeps their role."""
        async with self._transactions.begin() as connection:
            tenant: UUID | None = await connection.fetchval("SELECT accept_invitation($1, $2)", hash_of(token), user_id)
        return tenant


def _user_id(found: int | None) -> UserId | None:
    return None if found is None else UserId(found)


def _memberships(tenants: str) -> tuple[Membership, ...]:
    return tuple(
        Membership(TenantId(one["tenant_id"]), UUID(one["tenant"]), one["name"], one["is_operator"], MemberRole(one["role"]), one["suspended_reason"])
        for one in json.loads(tenants)
    )


def _person(row: asyncpg.Record) -> Person:
    language = Language(row["language"]) if row["language"] else None
    preferences = Preferences(language, row["zone"], Theme(row["theme"]), FeedOrder(row["feed_order"]))
    return Person(UserId(row["user_id"]), row["public_id"], row["name"], preferences, row["has_password"])
