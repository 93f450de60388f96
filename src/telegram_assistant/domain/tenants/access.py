"""Access control: roles of people, scopes of keys, and the keys themselves."""

import hashlib
import secrets
import zlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.reasons import Reason

KEY_BEGINS = "tga_"
SHOWN_LETTERS = 10
"""The number of leading letters of a key that are stored in the clear,
so that people can tell their keys apart.
"""
MIN_SECRET_LETTERS = 32
MAX_KEY_GENERATIONS = 8
"""The longest chain of keys created with one another;
each use of a key checks that all its ancestors are valid.
"""


class MemberRole(StrEnum):
    """The role of a person in a tenant."""

    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"


class KeyScope(StrEnum):
    """The operations that a key permits."""

    READ = "read"
    """Reading everything that the tenant sees."""
    WRITE = "write"
    """Changing which channels are followed, and how."""
    ADMIN = "admin"
    """Managing keys, policies and budgets, and reading the audit log."""
    OPERATE = "operate"
    """Operations across all tenants; only keys of the operator's own tenant have it."""


SCOPES_OF = {
    MemberRole.VIEWER: frozenset({KeyScope.READ}),
    MemberRole.EDITOR: frozenset({KeyScope.READ, KeyScope.WRITE}),
    MemberRole.OWNER: frozenset({KeyScope.READ, KeyScope.WRITE, KeyScope.ADMIN, KeyScope.OPERATE}),
}


def effective_scopes(
    scopes: frozenset[KeyScope], *, role: MemberRole | None, is_operator: bool
) -> frozenset[KeyScope]:
    """The effective scopes of a key: never more than its person's role permits,
    and OPERATE only for the operator's tenant.
    """
    within = scopes if role is None else scopes & SCOPES_OF[role]
    return within if is_operator else within - {KeyScope.OPERATE}


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated sender of a request. `key_id` is None for the operator's own key."""

    tenant_id: TenantId
    tenant: UUID
    tenant_name: str
    is_operator: bool
    scopes: frozenset[KeyScope]
    actor: str
    """The person or key by name, for the audit log."""
    key_id: UUID | None = None
    user_id: UserId | None = None
    actor_id: UUID | None = None
    """The public id of the key's person."""
    expires_at: datetime | None = None
    """When the key ends."""

    @property
    def counted_as(self) -> str:
        """The name under which requests are counted for rate limits."""
        return str(self.key_id or "operator")

    @property
    def queued_as(self) -> str:
        """The name under which requests wait for a place: a person's keys and pages together have one."""
        return self.counted_as if self.user_id is None else f"person {self.user_id}"


def new_key() -> str:
    """A key of 256 random bits. It is shown once, and only its hash is stored."""
    return KEY_BEGINS + secrets.token_urlsafe(32)


def new_operator_key() -> str:
    """A key of 256 random bits for OPERATOR_KEY."""
    return secrets.token_urlsafe(32)


def weakness_of_secret(secret: str, *, variable: str) -> Reason | None:
    """Why the secret in this variable could be guessed; None if it is strong enough."""
    if len(secret) < MIN_SECRET_LETTERS:
        return Reason(
            "secret_short",
            "{variable} can be guessed: it is shorter than {letters} characters",
            variable=variable,
            letters=MIN_SECRET_LETTERS,
        )
    # Random text does not compress; repeated letters and words do.
    if len(zlib.compress(secret.encode())) < MIN_SECRET_LETTERS:
        return Reason("secret_repeats", "{variable} can be guessed: it repeats itself", variable=variable)
    return None


def hash_of(key: str) -> bytes:
    """The stored hash of a key. It needs no salt, because nobody can guess 256 random bits."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
