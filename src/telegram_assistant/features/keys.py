"""Keys for programs: make one, list them, revoke one."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from telegram_assistant.domain.ids import UserId
from telegram_assistant.domain.tenants.access import MAX_KEY_GENERATIONS, KeyScope, new_key
from telegram_assistant.errors import Busy, Forbidden, Missing, Rejected
from telegram_assistant.stores.postgres.tenants.keys import ApiKey, KeyCursor, Keys, NewKey
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A new key, and its secret: it is shown this once."""

    key: ApiKey
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMaker:
    """Whoever makes a key: with what scopes, for which person, and with which key, if with one."""

    actor: str
    scopes: Collection[KeyScope]
    user_id: UserId | None = None
    key_id: UUID | None = None


async def make_key(
    name: str, scopes: Collection[KeyScope], *, maker: KeyMaker, keys: Keys, now: datetime, expires_at: datetime | None = None
) -> CreatedKey:
    """Forbidden when it would open more than its maker may. A key that is made with another one lives no longer than it."""
    too_many = sorted(set(scopes) - set(maker.scopes))
    if too_many:
        raise Forbidden(f"a key cannot open more than its maker may; leave out: {', '.join(too_many)}")
    if expires_at is not None and expires_at <= now:
        raise Rejected("a key cannot expire in the past")
    ancestors: tuple[UUID, ...] = ()
    if maker.key_id is not None:
        parent = await _parent(maker.key_id, keys=keys)
        ancestors, expires_at = (*parent.ancestors, parent.key_id), _within_life_of(parent, expires_at)
    secret = new_key()
    ordered = [scope for scope in KeyScope if scope in scopes]
    wanted = NewKey(
        secret=secret,
        name=name,
        scopes=ordered,
        created_by=maker.actor,
        user_id=maker.user_id,
        expires_at=expires_at,
        ancestors=ancestors,
    )
    return CreatedKey(await keys.make(wanted), secret)


async def _parent(key_id: UUID, *, keys: Keys) -> ApiKey:
    parent = await keys.find(key_id)
    if parent is None:
        raise Missing("the key that this one should be made with does not exist any more")
    if len(parent.ancestors) >= MAX_KEY_GENERATIONS:
        raise Forbidden(
            f"this key is the last of {MAX_KEY_GENERATIONS + 1} that were each made with the one before; make the next with an earlier one"
        )
    return parent


def _within_life_of(parent: ApiKey, expires_at: datetime | None) -> datetime | None:
    if parent.expires_at is None or expires_at is None:
        return expires_at or parent.expires_at
    if expires_at > parent.expires_at:
        raise Rejected(f"a key lives no longer than the key that it is made with: until {parent.expires_at.isoformat()}")
    return expires_at


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
    """It, and every key that was made with it, opens nothing from now on; while Redis is away, other processes may remember it for a minute."""
    if not await keys.revoke(key_id):
        raise Missing("there is no such key, or it was revoked already")
    try:
        await tell_change()
    except Busy as busy:
        log.warning("revocation_not_told", why=str(busy))
