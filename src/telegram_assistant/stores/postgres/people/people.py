"""People outside any tenant: passwords, sessions, one-time links. Each method calls one database function
that may do just that.

The functions ask for a proof: the hash that only the password gives, or the token of a link or of a session.
An attacker who can only run SQL with the login of requests has none of them.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.people.person import (
    FeedOrder,
    Language,
    Membership,
    PasswordVerifier,
    Person,
    Preferences,
    Theme,
)
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
class SessionStart:
    """A session to begin: the value of its cookie, the browser,
    and how long it lasts after the last visit.
    """

    token: str = field(repr=False)
    agent: str
    lasts: timedelta


@dataclass(frozen=True, slots=True)
class PasswordAttempt:
    """Somebody who says that they are the person of this name,
    and the hash of the password that they gave.
    """

    name: str
    proof: bytes = field(repr=False)
    network: str
    unknown_as: str
    """Stands for the name in the audit log if nobody has it: people type passwords into the wrong field."""


@dataclass(frozen=True, slots=True)
class OneTimeLink:
    """A link that was not used yet: a login of `user_name`, or an invitation to `tenant_name`."""

    user_name: str | None
    tenant: UUID | None
    tenant_name: str | None
    role: MemberRole | None
    created_by: str
    expires_at: datetime


class People:
    """For requests whose tenant is not known yet; needs no rights on tables."""

    def __init__(self, transactions: ApiTransactions) -> None:
        self._transactions = transactions

    async def session(self, token: str) -> FoundSession | None:
        """Returns None if the session is unknown, ended or expired.

        Records that it was seen, once a minute.
        """
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT * FROM find_session($1)", hash_of(token))
        return FoundSession(_person(row), row["session_id"], _memberships(row["tenants"])) if row else None

    async def password_parameters(self, name: str) -> str | None:
        """How the password of the person with this name is hashed; None if nobody has the name,
        or they have no password.
        """
        async with self._transactions.begin() as connection:
            parameters: str | None = await connection.fetchval("SELECT password_parameters($1)", name)
        return parameters

    async def begin_session_by_password(self, attempt: PasswordAttempt, start: SessionStart) -> UserId | None:
        """Returns None if name and proof do not belong together."""
        async with self._transactions.begin() as connection:
            user_id = await connection.fetchval(
                "SELECT begin_session_by_password($1, $2, $3, $4, $5, $6, $7)",
                attempt.name,
                attempt.proof,
                hash_of(start.token),
                start.agent,
                start.lasts,
                attempt.network,
                attempt.unknown_as,
            )
        return _user_id(user_id)

    async def begin_session_by_link(self, link: str, start: SessionStart) -> UserId | None:
        """Uses up the link. Returns None if it is not valid any more."""
        async with self._transactions.begin() as connection:
            user_id = await connection.fetchval(
                "SELECT begin_session_by_link($1, $2, $3, $4)",
                link,
                hash_of(start.token),
                start.agent,
                start.lasts,
            )
        return _user_id(user_id)

    async def note_login_alarm(self, name: str, *, network: str, unknown_as: str) -> None:
        """Records that logins with this name are limited for a while."""
        async with self._transactions.begin() as connection:
            await connection.execute("SELECT note_login_alarm($1, $2, $3)", name, network, unknown_as)

    async def end_session(self, token: str, session_id: UUID) -> bool:
        """Ends a session of the same person. Returns False if they have no such session."""
        async with self._transactions.begin() as connection:
            return bool(await connection.fetchval("SELECT end_sessions($1, $2)", token, session_id))

    async def end_other_sessions(self, token: str) -> int:
        """Ends all sessions of the person but this one. Returns how many."""
        async with self._transactions.begin() as connection:
            ended_count: int = await connection.fetchval("SELECT end_sessions($1, NULL)", token)
        return ended_count

    async def sessions(self, token: str) -> tuple[OpenSession, ...]:
        """All open sessions of the person whose session this is."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch("SELECT * FROM sessions_of_person($1)", token)
        return tuple(OpenSession(**dict(row)) for row in rows)

    async def set_password(
        self, token: str, *, old_proof: bytes | None, verifier: PasswordVerifier
    ) -> int | None:
        """Ends all other sessions, and returns how many.

        None if the old password is not proven; who has none yet proves nothing.
        """
        async with self._transactions.begin() as connection:
            ended_count: int | None = await connection.fetchval(
                "SELECT set_password($1, $2, $3, $4)", token, old_proof, verifier.parameters, verifier.digest
            )
        return ended_count

    async def set_preferences(self, token: str, preferences: Preferences) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "SELECT set_preferences($1, $2, $3, $4, $5)",
                token,
                preferences.language,
                preferences.zone,
                preferences.theme.value,
                preferences.feed_order.value,
            )

    async def exist(self) -> bool:
        """Whether anybody is a member of any tenant."""
        async with self._transactions.begin() as connection:
            return bool(await connection.fetchval("SELECT has_people()"))

    async def have_owner(self) -> bool:
        """Whether the operator's tenant has a member, with or without a password."""
        async with self._transactions.begin() as connection:
            return bool(await connection.fetchval("SELECT has_owner()"))

    async def create_first_owner(
        self, name: str, verifier: PasswordVerifier, start: SessionStart
    ) -> UserId | None:
        """Returns None if somebody else was first, or has the name."""
        async with self._transactions.begin() as connection:
            user_id = await connection.fetchval(
                "SELECT create_first_owner($1, $2, $3, $4, $5, $6)",
                name,
                verifier.parameters,
                verifier.digest,
                hash_of(start.token),
                start.agent,
                start.lasts,
            )
        return _user_id(user_id)

    async def link(self, token: str) -> OneTimeLink | None:
        """Returns None if the link is unknown, used or expired,
        or the author of an invitation cannot invite any more.
        """
        async with self._transactions.begin() as connection:
            row = await connection.fetchrow("SELECT * FROM find_link($1)", hash_of(token))
        if row is None:
            return None
        role = MemberRole(row["role"]) if row["role"] else None
        return OneTimeLink(
            row["user_name"], row["tenant"], row["tenant_name"], role, row["created_by"], row["expires_at"]
        )

    async def join_by_link(
        self, link: str, name: str, verifier: PasswordVerifier, start: SessionStart
    ) -> UserId | None:
        """Creates a person and uses up the invitation.

        Returns None, and uses up nothing, if it is not valid or the name is taken.
        """
        async with self._transactions.begin() as connection:
            user_id = await connection.fetchval(
                "SELECT join_by_link($1, $2, $3, $4, $5, $6, $7)",
                link,
                name,
                verifier.parameters,
                verifier.digest,
                hash_of(start.token),
                start.agent,
                start.lasts,
            )
        return _user_id(user_id)

    async def accept_invitation(self, link: str, *, token: str) -> UUID | None:
        """Uses up the invitation for the person whose session this is, and returns its tenant.

        A member keeps their role.
        """
        async with self._transactions.begin() as connection:
            tenant_id: UUID | None = await connection.fetchval(
                "SELECT accept_invitation($1, $2)", link, token
            )
        return tenant_id


def _user_id(number: int | None) -> UserId | None:
    return None if number is None else UserId(number)


def _memberships(tenants: str) -> tuple[Membership, ...]:
    return tuple(
        Membership(
            TenantId(tenant["tenant_id"]),
            UUID(tenant["tenant"]),
            tenant["name"],
            tenant["is_operator"],
            MemberRole(tenant["role"]),
            tenant["suspended_reason"],
        )
        for tenant in json.loads(tenants)
    )


def _person(row: asyncpg.Record) -> Person:
    language = Language(row["language"]) if row["language"] else None
    preferences = Preferences(language, row["zone"], Theme(row["theme"]), FeedOrder(row["feed_order"]))
    return Person(UserId(row["user_id"]), row["public_id"], row["name"], preferences, row["has_password"])
