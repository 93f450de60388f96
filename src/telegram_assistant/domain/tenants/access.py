"""Who may do what: roles of people, scopes of keys, and keys themselves."""

import hashlib
import secrets
import zlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from telegram_assistant.domain.ids import TenantId, UserId

KEY_BEGINS = "tga_"
SHOWN_LETTERS = 10
"""So much of a key is kept in the clear, for people to tell their keys apart."""
MIN_OPERATOR_KEY_LETTERS = 32
MAX_KEY_GENERATIONS = 8
"""So many keys, one made with the other; each use of the last one asks whether all of them are valid."""


class MemberRole(StrEnum):
    """What a person is in a tenant."""

    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"


class KeyScope(StrEnum):
    """What a key opens."""

    READ = "read"
    """Everything that the tenant sees."""
    WRITE = "write"
    """What is followed, and how."""
    ADMIN = "admin"
    """Keys, policies, budgets, the audit log."""
    OPERATE = "operate"
    """What concerns all tenants; only keys of the operator's own tenant have it."""


SCOPES_OF = {
    MemberRole.VIEWER: frozenset({KeyScope.READ}),
    MemberRole.EDITOR: frozenset({KeyScope.READ, KeyScope.WRITE}),
    MemberRole.OWNER: frozenset({KeyScope.READ, KeyScope.WRITE, KeyScope.ADMIN, KeyScope.OPERATE}),
}


def allowed(scopes: frozenset[KeyScope], *, role: MemberRole | None, is_operator: bool) -> frozenset[KeyScope]:
    """What a key opens at last: never more than the role of its person, and nothing of others but for the operator."""
    within = scopes if role is None else scopes & SCOPES_OF[role]
    return within if is_operator else within - {KeyScope.OPERATE}


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever asks, once their key is known. `key_id` is None for the operator's own key."""

    tenant_id: TenantId
    tenant: UUID
    tenant_name: str
    is_operator: bool
    scopes: frozenset[KeyScope]
    actor: str
    """The person or key by name, for the audit log."""
    key_id: UUID | None = None
    user_id: UserId | None = None
    expires_at: datetime | None = None
    """When the key ends."""

    @property
    def counted_as(self) -> str:
        """Whose requests are counted together."""
        return str(self.key_id or "operator")


def new_key() -> str:
    """256 random bits. It is shown once, and kept as its hash only."""
    return KEY_BEGINS + secrets.token_urlsafe(32)


def new_operator_key() -> str:
    """256 random bits, for OPERATOR_KEY."""
    return secrets.token_urlsafe(32)


def weakness_of_operator_key(key: str) -> str:
    """Why somebody could guess it; empty where nobody can."""
    if len(key) < MIN_OPERATOR_KEY_LETTERS:
        return f"is shorter than {MIN_OPERATOR_KEY_LETTERS} letters"
    # Random text does not compress; repeated letters and words do.
    return "repeats itself" if len(zlib.compress(key.encode())) < MIN_OPERATOR_KEY_LETTERS else ""


def hash_of(key: str) -> bytes:
    """What is kept of a key. A hash without salt will do: nobody guesses 256 random bits."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
