"""Digests of people: their plan, those that are due, one out of turn, and where they go."""

from collections.abc import Iterable
from datetime import datetime, time, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from telegram_assistant.domain.digests.digest import StoredDigest, digest_id_of
from telegram_assistant.domain.digests.plan import (
    EVERY_DAY,
    MAX_TIMES,
    DigestLength,
    DigestPlan,
    latest_moment,
)
from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.features.digests.composing import compose
from telegram_assistant.features.stories.writing import SummaryWriter
from telegram_assistant.features.watches.watches import NO_RECEIVER
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.digests.digests import PersonDigests, PlannedPerson
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores

REMEMBERED = timedelta(days=7)
FIRST_REACH = timedelta(days=1)
"""The first digest tells of the last day."""
MAX_REMEMBERED = 60
NO_DIGEST = Reason("digest_unknown", "there is no such digest of yours")


async def make_digest(  # noqa: PLR0913 -- whose it is, and what `compose` needs
    tenant_id: TenantId,
    user_id: UserId,
    moment: datetime,
    *,
    stores: TenantStores,
    own: PersonStores,
    now: datetime,
    language: str | None = None,
    is_planned: bool = False,
    writer: SummaryWriter | None = None,
) -> UUID:
    """Makes the digest of this moment, once, however often it is asked for. Returns its id. `writer` is that
    of `compose`.

    A planned one goes to the receivers of the plan, unless it has nothing to tell. One out of turn stays on
    the page of who asked for it.
    """
    digest_id = digest_id_of(tenant_id, user_id, moment)
    recent = await own.digests.newest(limit=MAX_REMEMBERED, since=now - REMEMBERED)
    if any(stored.digest_id == digest_id for stored in recent):
        return digest_id
    plan = await own.digests.plan()
    digest = await compose(
        recent[0].digest.until if recent else now - FIRST_REACH,
        stores=stores,
        now=now,
        length=plan.length,
        language=language,
        earlier=[stored.digest for stored in recent],
        mutes=await own.choices.mutes(),
        interests=await own.interests.all(),
        writer=writer,
    )
    await own.digests.save(
        digest_id, digest, receivers=plan.receivers if is_planned and digest.stories else ()
    )
    return digest_id


def due_moment(person: PlannedPerson, *, now: datetime) -> datetime | None:
    """Returns the moment for which a digest of this person is due. Moments that were missed fall together."""
    moment = latest_moment(person.plan, zone=ZoneInfo(person.plan.zone), now=now)
    return moment if moment is not None and moment > person.since else None


async def open_digest(digest_id: UUID, *, digests: PersonDigests) -> StoredDigest:
    """Returns the digest and marks it as seen. Raises Missing if the person has none with this id."""
    digest = await digests.open(digest_id)
    if digest is None:
        raise Missing(NO_DIGEST)
    return digest


async def set_plan(
    times: Iterable[str],
    weekdays: Iterable[str],
    length: str,
    *,
    zone: str,
    stores: TenantStores,
    digests: PersonDigests,
    receivers: Iterable[UUID] | None = None,
) -> DigestPlan:
    """Says when digests come, of which length, and to which receivers of the tenant; None: to those that were
    chosen before.

    Raises Rejected for a time that is no `HH:MM`, a day beyond 1 to 7, or an unknown length; Missing for an
    unknown receiver. No times: no digests.
    """
    plan_receivers = (
        (await digests.plan()).receivers
        if receivers is None
        else await _known_receivers(frozenset(receivers), stores)
    )
    try:
        plan = DigestPlan(
            tuple(
                sorted(
                    {
                        time.fromisoformat(text).replace(second=0, microsecond=0, tzinfo=None)
                        for text in times
                        if text
                    }
                )
            ),
            frozenset(int(weekday) for weekday in weekdays) & EVERY_DAY or EVERY_DAY,
            DigestLength(length),
            plan_receivers,
            ZoneInfo(zone).key,
        )
    except (ValueError, ZoneInfoNotFoundError) as error:
        raise Rejected(
            Reason("digest_plan_wrong", "a digest comes at times like 08:00, on days from 1 (Monday) to 7")
        ) from error
    if len(plan.times) > MAX_TIMES:
        raise Rejected(Reason("digest_plan_long", "at most {most} digests a day", most=MAX_TIMES))
    await digests.set_plan(plan)
    return plan


async def _known_receivers(chosen: frozenset[UUID], stores: TenantStores) -> tuple[UUID, ...]:
    known = tuple(
        receiver.receiver_id for receiver in await stores.receivers.all() if receiver.receiver_id in chosen
    )
    if len(known) < len(chosen):
        raise Missing(NO_RECEIVER)
    return known
