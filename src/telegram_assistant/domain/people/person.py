"""A person, their preferences, and the secrets that let them in."""

import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.tenants.access import SCOPES_OF, KeyScope, MemberRole, effective_scopes

MAX_NAME_LETTERS = 60
MIN_PASSWORD_LETTERS = 10
MAX_PASSWORD_LETTERS = 200


class Language(StrEnum):
    """The languages of the pages."""

    ENGLISH = "en"
    RUSSIAN = "ru"


class Theme(StrEnum):
    """The colours of the pages."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class FeedOrder(StrEnum):
    """The order of the feed."""

    NEWEST = "newest"
    OLDEST = "oldest"


@dataclass(frozen=True, slots=True)
class Preferences:
    """A person's choices. While the language or the zone is None, the browser decides."""

    language: Language | None = None
    zone: str | None = None
    theme: Theme = Theme.SYSTEM
    feed_order: FeedOrder = FeedOrder.NEWEST


@dataclass(frozen=True, slots=True)
class Person:
    """A person who can log in."""

    user_id: UserId
    public_id: UUID
    name: str
    preferences: Preferences
    has_password: bool


@dataclass(frozen=True, slots=True)
class PasswordVerifier:
    """The stored part of a password: the parameters of its hash, and the SHA-256 of the hash."""

    parameters: str
    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Membership:
    """A tenant of a person, and their role in it."""

    tenant_id: TenantId
    tenant: UUID
    name: str
    is_operator: bool
    role: MemberRole
    suspended_reason: str | None = None
    """None: the tenant is not suspended."""

    @property
    def scopes(self) -> frozenset[KeyScope]:
        return effective_scopes(SCOPES_OF[self.role], role=self.role, is_operator=self.is_operator)


def new_token() -> str:
    """256 random bits for a cookie or a one-time link. Only its hash is stored."""
    return secrets.token_urlsafe(32)
