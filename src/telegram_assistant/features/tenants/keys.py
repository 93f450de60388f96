"""API keys: create, list, revoke."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from telegram_assistant.domain.ids import UserId
from telegram_assistant.domain.tenants.access import MAX_KEY_GENERATIONS, Caller, KeyScope, new_key
from telegram_assistant.domain.timestamps import MomentCursor
from telegram_assistant.errors import Busy, Conflicting, Forbidden, Missing, Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.tenants.keys import (
    MAX_KEYS_OF_PERSON,
    MAX_KEYS_OF_TENANT,
    ApiKey,
    KeyDirectory,
    Keys,
    NewKey,
)
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A new key and its secret, which is shown only once."""

    key: ApiKey
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMaker:
    """The creator of a key: its scopes, its person, and its own key, if it has one."""

    actor: str
    scopes: Collection[KeyScope]
    user_id: UserId | None = None
    key_id: UUID | None = None


async def make_key(
    name: str,
    scopes: Collection[KeyScope],
    *,
    maker: KeyMaker,
    keys: Keys,
    now: datetime,
    expires_at: datetime | None = None,
) -> CreatedKey:
    """Creates a key, which cannot outlive the key that creates it.

    Raises Forbidden if it would have more scopes than its creator, Conflicting if there are too many.
    """
    excess = sorted(set(scopes) - set(maker.scopes))
    if excess:
        raise Forbidden(
            Reason(
                "key_scopes_exceed",
                "a key cannot have more scopes than its creator; leave out: {scopes}",
                scopes=", ".join(excess),
            )
        )
    if expires_at is not None and expires_at <= now:
        raise Rejected(Reason("key_expires_in_past", "a key cannot expire in the past"))
    ancestors: tuple[UUID, ...] = ()
    if maker.key_id is not None:
        parent = await _parent(maker.key_id, keys=keys)
        ancestors, expires_at = (*parent.ancestors, parent.key_id), _limit_expiry(parent, expires_at)
    secret = new_key()
    ordered_scopes = [scope for scope in KeyScope if scope in scopes]
    key_draft = NewKey(
        secret=secret,
        name=name,
        scopes=ordered_scopes,
        created_by=maker.actor,
        user_id=maker.user_id,
        expires_at=expires_at,
        ancestors=ancestors,
    )
    key = await keys.make(key_draft)
    if key is None:
        raise Conflicting(
            Reason(
                "keys_too_many",
                "there are too many valid keys: a person may have {of_person} and a tenant {of_tenant}; "
                "revoke one first",
                of_person=MAX_KEYS_OF_PERSON,
                of_tenant=MAX_KEYS_OF_TENANT,
            )
        )
    return CreatedKey(key, secret)


async def _parent(key_id: UUID, *, keys: Keys) -> ApiKey:
    parent = await keys.find(key_id)
    if parent is None:
        raise Missing(Reason("key_parent_gone", "the key that should create this one no longer exists"))
    if len(parent.ancestors) >= MAX_KEY_GENERATIONS:
        raise Forbidden(
            Reason(
                "key_chain_too_long",
                "this key is the last in a chain of {max_keys} keys, each created with the one before; "
                "use an earlier one",
                max_keys=MAX_KEY_GENERATIONS + 1,
            )
        )
    return parent


def _limit_expiry(parent: ApiKey, expires_at: datetime | None) -> datetime | None:
    if parent.expires_at is None or expires_at is None:
        return expires_at or parent.expires_at
    if expires_at > parent.expires_at:
        raise Rejected(
            Reason(
                "key_outlives_parent",
                "a key cannot outlive the key that creates it: it must expire by {expires_at}",
                expires_at=parent.expires_at,
            )
        )
    return expires_at


@dataclass(frozen=True, slots=True)
class KeyPage:
    """A page of keys, newest first; `next` is None on the last page."""

    keys: tuple[ApiKey, ...]
    next: MomentCursor | None


async def list_keys(*, keys: Keys, limit: int, before: MomentCursor | None = None) -> KeyPage:
    newest = await keys.newest(limit=limit + 1, before=before)
    page = newest[:limit]
    return KeyPage(page, MomentCursor(page[-1].created_at, page[-1].key_id) if len(newest) > limit else None)


async def revoke_key(key_id: UUID, *, keys: Keys, drop_cached_keys: Callable[[], Awaitable[None]]) -> None:
    """Revokes a key and every key created with it.

    While Redis is unavailable, other processes may accept it for up to a minute.
    """
    if not await keys.revoke(key_id):
        raise Missing(Reason("key_unknown", "there is no such key, or it is already revoked"))
    await announce_changed_keys(drop_cached_keys)


async def announce_changed_keys(drop_cached_keys: Callable[[], Awaitable[None]]) -> None:
    """Lets every process look its keys up again. While Redis is away, the others do so within a minute."""
    try:
        await drop_cached_keys()
    except Busy as busy:
        log.warning("revocation_not_announced", why=str(busy))


async def find_operator(*, directory: KeyDirectory) -> Caller:
    """The operator, whose tenant holds the audit log of the installation."""
    return await directory.operator()


async def find_caller(hashed_bytes: bytes, *, directory: KeyDirectory) -> Caller | None:
    """The owner of the key with this hash; None if there is none, or it is not valid any more."""
    return await directory.caller(hashed_bytes)
