"""Digests: the newest one, earlier ones, when they come, and one right now."""

from starlette.responses import Response

from telegram_assistant.domain.people.digest_plan import EVERY_DAY, DigestLength
from telegram_assistant.features.digests import digests
from telegram_assistant.web.views import Content, TenantView, go, uuid_of

SHOWN = 30
OFFERED_TIMES = 3
USUAL_TIMES = ("08:00",)
"""Offered to who has chosen nothing yet."""


async def show(view: TenantView) -> Content:
    """The newest digest, opened."""
    kept = await view.own.digests.newest(limit=SHOWN)
    newest = await digests.open_digest(kept[0].digest_id, digests=view.own.digests) if kept else None
    return {"kept": newest, "others": kept[1:], "plan": await view.own.digests.plan()}


async def show_one(view: TenantView) -> Content:
    found = await digests.open_digest(uuid_of(view.request.path_params["digest"]), digests=view.own.digests)
    return {"kept": found, "others": (), "plan": await view.own.digests.plan()}


async def show_plan(view: TenantView) -> Content:
    plan = await view.own.digests.plan()
    times = [one.strftime("%H:%M") for one in plan.times]
    return {
        "plan": plan,
        "times": [*times, *[""] * max(0, OFFERED_TIMES - len(times))],
        "usual_times": USUAL_TIMES,
        "lengths": tuple(DigestLength),
        "weekdays": sorted(EVERY_DAY),
    }


async def set_plan(view: TenantView) -> Response:
    times, weekdays = ([str(one) for one in view.form.getlist(name)] for name in ("time", "weekday"))
    await digests.set_plan(times, weekdays, view.text("length"), zone=view.zone.key, digests=view.own.digests)
    return go(view.url("/digest"))


async def make(view: TenantView) -> Response:
    tenant_id, user_id = view.membership.tenant_id, view.person.user_id
    await digests.make_digest(tenant_id, user_id, view.now, stores=view.stores, own=view.own, now=view.now, language=view.language)
    return go(view.url("/digest"))
