"""Digests of people: their plan, those that are due, one out of turn, and where they go."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from telegram_assistant.domain.digests.digest import StoredDigest, digest_id_of
from telegram_assistant.domain.digests.plan import DigestPlan, latest_moment
from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.receivers.delivery import NO_RECEIVER
from telegram_assistant.errors import Missing
from telegram_assistant.features.digests.composing import compose
from telegram_assistant.features.digests.tenant_part import TenantPart
from telegram_assistant.features.stories.writing import SummaryWriter
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.digests.digests import PersonDigests, PlannedPerson
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores

REMEMBERED_FOR = timedelta(days=7)
FIRST_REACH = timedelta(days=1)
"""The first digest tells of the last day."""
MAX_REACH = timedelta(days=8)
"""A digest of one day a week tells the whole week, even when the one before it was early or this one is
late.
"""
MAX_REMEMBERED = 60
NO_DIGEST = Reason("digest_unknown", "you have no such digest")


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
    part: TenantPart | None = None,
) -> UUID:
    """Makes the digest of this moment, once, however often it is asked for. Returns its id. `writer` and
    `part` are those of `compose`.

    A planned one goes to the receivers of the plan, unless it has nothing to tell. If it is made before its
    moment, nobody gets or sees it before. One out of turn stays on the page of who asked for it.
    """
    digest_id = digest_id_of(tenant_id, user_id, moment)
    recent = await own.digests.newest(
        limit=MAX_REMEMBERED, since=now - REMEMBERED_FOR, with_prepared=True
    ) or await own.digests.newest(limit=1, with_prepared=True)
    if any(stored_digest.digest_id == digest_id for stored_digest in recent):
        return digest_id
    plan = await own.digests.plan()
    digest = await compose(
        max(recent[0].digest.until, now - MAX_REACH) if recent else now - FIRST_REACH,
        stores=stores,
        now=now,
        length=plan.length,
        language=language,
        earlier_digests=[stored_digest.digest for stored_digest in recent],
        mutes=await own.choices.mutes(),
        interests=await own.interests.all(),
        writer=writer,
        part=part,
    )
    await own.digests.save(
        digest_id,
        digest,
        receivers=plan.receivers if is_planned and digest.stories else (),
        ready_at=moment if is_planned and moment > now else None,
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


async def list_digests(*, digests: PersonDigests, limit: int) -> tuple[StoredDigest, ...]:
    """The newest digests of the person, without marking them as seen."""
    return await digests.newest(limit=limit)


async def get_plan(*, digests: PersonDigests) -> DigestPlan:
    """When digests come, and to which receivers; without times if the person has not chosen."""
    return await digests.plan()


async def set_plan(
    plan: DigestPlan, *, stores: TenantStores, digests: PersonDigests, may_choose_receivers: bool = True
) -> DigestPlan:
    """Returns the plan as it is from now on. A person who may not choose receivers keeps those that were
    chosen before.

    Raises Missing for an unknown receiver.
    """
    plan_receivers = (
        await _check_receivers(frozenset(plan.receivers), stores)
        if may_choose_receivers
        else (await digests.plan()).receivers
    )
    new_plan = replace(plan, receivers=plan_receivers)
    await digests.set_plan(new_plan)
    return new_plan


async def _check_receivers(chosen_ds: frozenset[UUID], stores: TenantStores) -> tuple[UUID, ...]:
    receiver_ids = tuple(
        receiver.receiver_id for receiver in await stores.receivers.all() if receiver.receiver_id in chosen_ds
    )
    if len(receiver_ids) < len(chosen_ds):
        raise Missing(NO_RECEIVER)
    return receiver_ids
