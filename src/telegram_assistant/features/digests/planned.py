"""Planned digests: a person's work comes due shortly before each moment of the plan, or at it.

The digests of a tenant's people that are due together share what is read of its stories.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from telegram_assistant.domain.digests.plan import next_moment
from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.operations.due_work import MOST_AHEAD, DueWork
from telegram_assistant.features.digests.digests import due_moment, make_digest
from telegram_assistant.features.digests.tenant_part import TenantPart
from telegram_assistant.features.operations.due_work import RunWork
from telegram_assistant.features.stories.writing import SummaryWriter
from telegram_assistant.stores.postgres.digests.digests import DigestPlans
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores


async def begin_digests(
    works: Sequence[DueWork],
    *,
    tenant: Callable[[TenantId], TenantStores],
    person: Callable[[TenantId, UserId], PersonStores],
    plans: DigestPlans,
    writer: Callable[[TenantId], SummaryWriter],
    now: datetime,
) -> RunWork:
    """The digests of these people, all of one tenant. Nothing of a single person is read here: a person
    whose digest cannot be made stops nobody else's.
    """
    tenant_id = works[0].tenant_id
    if tenant_id is None:
        raise ValueError("a digest is a person's")
    stores = tenant(tenant_id)
    part = TenantPart(stores, now=now, is_shared=len(works) > 1)

    async def run(work: DueWork) -> datetime | None:
        """Makes the digest that is due, if any. Returns the next moment of the plan; None: there is none."""
        saved_plan = None if work.user_id is None else await plans.find(tenant_id, work.user_id)
        if saved_plan is None:
            return None
        counted_from = moment_of(work, now=now)
        moment = due_moment(saved_plan, now=counted_from)
        if moment is not None:
            await make_digest(
                tenant_id,
                saved_plan.user_id,
                moment,
                stores=stores,
                own=person(tenant_id, saved_plan.user_id),
                now=now,
                language=saved_plan.language,
                is_planned=True,
                writer=writer(tenant_id),
                part=part,
            )
        return next_moment(saved_plan.plan, zone=ZoneInfo(saved_plan.plan.zone), now=counted_from)

    return run


def moment_of(work: DueWork, *, now: datetime) -> datetime:
    """The moment that work is for: it may be claimed a little before."""
    if work.moment is not None and now < work.moment <= now + MOST_AHEAD:
        return work.moment
    return now
