"""Keys for programs: make one, list them, revoke one."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from telegram_assistant.domain.access import Scope, new_key
from telegram_assistant.domain.ids import UserId
from telegram_assistant.errors import Busy, Forbidden, Missing, Rejected
from telegram_assistant.stores.postgres.keys import ApiKey, KeyCursor, Keys, NewKey
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()


@dataclass(frozen=True, slots=True)
class MadeKey:
    """A new key, and its secret: it is shown this once."""

    key: ApiKey
    secret: str


async def make_key(
    name: str,
    scopes: Collection[Scope],
    *,
    within: Collection[Scope],
    keys: Keys,
    made_by: str,
    now: datetime,
    user_id: UserId | None = None,
    expires_at: datetime | None = None,
) -> MadeKey:
    """Forbidden when it would open more than its maker may."""
    too_many = sorted(set(scopes) - set(within))
    if too_many:
        raise Forbidden(f"a key cannot open more than its maker may; leave out: {', '.join(too_many)}")
    if expires_at is not None and expires_at <= now:
        raise Rejected("a key cannot expire in the past")
    secret = new_key()
    ordered = [scope for scope in Scope if scope in scopes]
    made = await keys.make(NewKey(secret=secret, name=name, scopes=ordered, created_by=made_by, user_id=user_id, expires_at=expires_at))
    return MadeKey(made, secret)


@dataclass(frozen=True, slots=True)
class KeyPage:
    """Newest first. Without `next`, there are no older ones."""

    keys: tuple[ApiKey, ...]
    next: KeyCursor | None


async def list_keys(*, keys: Keys, limit: int, before: KeyCursor | None = None) -> KeyPage:
    found = await keys.newest(limit=limit + 1, before=before)
    shown = found[:limit]
    return KeyPage(shown, KeyCursor(shown[-1].created_at, shown[-1].key_id) if len(found) > limit else None)


async def revoke_key(key_id: UUID, *, keys: Keys, tell_change: Callable[[], Awaitable[None]]) -> None:
    """It opens nothing from now on; while Redis is away, other processes may remember it for a minute."""
    if not await keys.revoke(key_id):
        raise Missing("there is no such key, or it was revoked already")
    try:
        await tell_change()
    except Busy as busy:
        log.warning("revocation_not_told", why=str(busy))
