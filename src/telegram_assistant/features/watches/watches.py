"""Creates, changes, pauses and deletes watches."""

from dataclasses import replace
from datetime import date, datetime, time, tzinfo
from uuid import UUID

from telegram_assistant.domain.receivers.delivery import NO_RECEIVER
from telegram_assistant.domain.search.parsing import parse_query
from telegram_assistant.domain.watches.watch import (
    MAX_NAME_LETTERS,
    TOO_WIDE,
    QuietHours,
    Watch,
    WatchConditions,
    WatchKind,
    WatchOptions,
    WatchTarget,
    check_target,
)
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.features.channels.channels import pick
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores

NO_SUCH_TAG = ""
"""No tag has this name, so it matches nothing."""


async def read_conditions(
    target: WatchTarget, *, stores: TenantStores, now: datetime, zone: tzinfo
) -> WatchConditions:
    """Parses the query of a watch and finds its channels and tags.

    Raises Rejected, with what to write instead, if it makes no sense.
    """
    query = parse_query(target.query, today=now.astimezone(zone).date())
    check_target(target, query)
    channel_ids = None
    if query.channels:
        followed_channels = await stores.followed.channels()
        channel_ids = tuple(pick(followed_channels, channel).channel_id for channel in query.channels)
    tags: tuple[str, ...] = ()
    if query.tags:
        tags = (await stores.words.scope()).resolve_tags(query.tags) or (NO_SUCH_TAG,)
    conditions = WatchConditions(query=query, channel_ids=channel_ids, tags=tags)
    if conditions.is_too_wide(target.kind):
        raise Rejected(TOO_WIDE)
    return conditions


def target_of_search(query: str, *, today: date) -> WatchTarget:
    """The target of a watch of this search: new posts, or edits and deletions if the search is for them.

    Days are left out, because a watch looks at what happens from now on. Raises Rejected if the query is not
    valid.
    """
    parsed_query = parse_query(query, today=today)
    is_about_changes = parsed_query.is_edited or parsed_query.is_deleted
    lasting = replace(parsed_query, since=None, until=None, is_edited=False, is_deleted=False)
    return WatchTarget(kind=WatchKind.CHANGES if is_about_changes else WatchKind.WORDS, query=str(lasting))


async def create_watch(
    name: str,
    target: WatchTarget,
    options: WatchOptions,
    *,
    stores: TenantStores,
    created_by: str,
    now: datetime,
    zone: tzinfo,
    begins_at: datetime | None = None,
) -> Watch:
    """Raises Rejected if it makes no sense or would match everything, Conflicting if the name is taken.

    Events before `begins_at`, usually now, raise no alert.
    """
    conditions = await read_conditions(target, stores=stores, now=now, zone=zone)
    watch_id = await stores.watches.create(
        _name(name),
        target,
        await _check_receivers(options, stores),
        conditions,
        created_by=created_by,
        begins_at=begins_at,
    )
    if watch_id is None:
        raise Conflicting(NAME_TAKEN)
    return await find_watch(watch_id, stores=stores)


async def change_watch(
    watch_id: UUID,
    name: str,
    target: WatchTarget,
    options: WatchOptions,
    *,
    stores: TenantStores,
    now: datetime,
    zone: tzinfo,
) -> Watch:
    """Raises Missing, Rejected or Conflicting. The changed watch looks at what happens from now on."""
    conditions = await read_conditions(target, stores=stores, now=now, zone=zone)
    is_changed = await stores.watches.change(
        watch_id, _name(name), target, await _check_receivers(options, stores), conditions
    )
    if is_changed is None:
        raise Conflicting(NAME_TAKEN)
    return await find_watch(watch_id, stores=stores)


async def list_watches(*, stores: TenantStores) -> tuple[Watch, ...]:
    """All watches of the tenant, by name."""
    return await stores.watches.all()


async def find_watch(watch_id: UUID, *, stores: TenantStores) -> Watch:
    watch = await stores.watches.one(watch_id)
    if watch is None:
        raise Missing(NO_WATCH)
    return watch


async def pause_watch(watch_id: UUID, *, stores: TenantStores, is_paused: bool) -> Watch:
    if not await stores.watches.pause(watch_id, is_paused=is_paused):
        raise Missing(NO_WATCH)
    return await find_watch(watch_id, stores=stores)


async def delete_watch(watch_id: UUID, *, stores: TenantStores) -> None:
    """Deletes the watch and its alerts."""
    if not await stores.watches.delete(watch_id):
        raise Missing(NO_WATCH)


def quiet_hours(begins: time | None, ends: time | None) -> QuietHours | None:
    """Raises Rejected if only one end is given."""
    if begins is None and ends is None:
        return None
    if begins is None or ends is None or begins == ends:
        raise Rejected(
            Reason(
                "quiet_hours_half", "quiet hours need a start and a different end; leave both empty for none"
            )
        )
    return QuietHours(begins, ends)


NO_WATCH = Reason("watch_unknown", "there is no such watch")
NAME_TAKEN = Reason(
    "watch_name_taken",
    "a watch already has this name, or there are too many; choose another name or delete one",
)


def _name(text: str) -> str:
    name = " ".join(text.split())
    if not 0 < len(name) <= MAX_NAME_LETTERS:
        raise Rejected(
            Reason(
                "watch_name_length", "a watch needs a name of 1 to {most} characters", most=MAX_NAME_LETTERS
            )
        )
    return name


async def _check_receivers(options: WatchOptions, stores: TenantStores) -> WatchOptions:
    """Raises Missing if a receiver does not exist."""
    if options.receivers:
        receiver_ids = {receiver.receiver_id for receiver in await stores.receivers.all()}
        if not receiver_ids.issuperset(options.receivers):
            raise Missing(NO_RECEIVER)
    return options
