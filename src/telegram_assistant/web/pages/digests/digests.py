"""Digests: the newest one, earlier ones, when and where they come, and one right now."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from starlette.responses import Response

from telegram_assistant.domain.digests.digest import StoredDigest
from telegram_assistant.domain.digests.plan import EVERY_DAY, DigestLength, next_moment, parse_plan
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.errors import Missing
from telegram_assistant.features.digests import digests
from telegram_assistant.features.digests.interests import list_feedback
from telegram_assistant.features.receivers import rss_feeds
from telegram_assistant.features.receivers.receivers import list_receivers
from telegram_assistant.features.stories.marks import latest_mark, list_marks
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedAddress, FeedKind
from telegram_assistant.web.pages.digests.entries import entry_sections, load_current_stories
from telegram_assistant.web.views import PAGE_UNKNOWN, Content, TenantView, go, uuid_of

MAX_DIGESTS = 30
OFFERED_TIMES = 3
USUAL_TIMES = ("08:00",)
"""Offered to who has chosen nothing yet."""


async def show(view: TenantView) -> Content:
    """The newest digest, opened."""
    newest_digests = await digests.list_digests(digests=view.own.digests, limit=MAX_DIGESTS)
    newest = (
        await digests.open_digest(newest_digests[0].digest_id, digests=view.own.digests)
        if newest_digests
        else None
    )
    return await _digest_content(view, newest, newest_digests[1:])


async def show_one(view: TenantView) -> Content:
    stored_digest = await digests.open_digest(
        uuid_of(view.request.path_params["digest"]), digests=view.own.digests
    )
    return await _digest_content(view, stored_digest)


async def _digest_content(
    view: TenantView, stored_digest: StoredDigest | None, other_digests: Sequence[StoredDigest] = ()
) -> Content:
    stories = stored_digest.digest.stories if stored_digest else ()
    plan, opinions, marks, current_plan = await asyncio.gather(
        digests.get_plan(digests=view.own.digests),
        list_feedback(interests=view.own.interests),
        list_marks(marks=view.own.story_marks),
        load_current_stories(stories, stores=view.stores),
    )
    return {
        "kept": stored_digest,
        "sections": entry_sections(stories, current_plan, opinions),
        "others": other_digests,
        "left_out": Counter(stored_digest.digest.checks.reasons) if stored_digest else {},
        "plan": plan,
        "marks": marks,
        "just_marked": latest_mark(marks, now=view.now),
        "next_digest_at": next_moment(plan, zone=ZoneInfo(plan.zone), now=view.now),
    }


async def show_plan(view: TenantView) -> Content:
    plan = await digests.get_plan(digests=view.own.digests)
    times = [time.strftime("%H:%M") for time in plan.times]
    return {
        "plan": plan,
        "times": [*times, *[""] * max(0, OFFERED_TIMES - len(times))],
        "usual_times": USUAL_TIMES,
        "lengths": tuple(DigestLength),
        "weekdays": sorted(EVERY_DAY),
        "receivers": await list_receivers(stores=view.stores),
        "feeds": await _own_feeds(view),
        "feed_address": None,
    }


async def set_plan(view: TenantView) -> Response:
    """Saves the plan. A person who may not choose the receivers of watches may not choose those of digests
    either: the chosen ones stay.
    """
    times, weekdays, receivers = (
        [str(value) for value in view.form.getlist(name)] for name in ("time", "weekday", "receiver")
    )
    may_choose_receivers = KeyScope.WRITE in view.membership.scopes
    plan = parse_plan(
        times,
        weekdays=weekdays,
        length=view.text("length"),
        zone=view.zone.key,
        receivers=[uuid_of(receiver) for receiver in receivers] if may_choose_receivers else (),
    )
    await digests.set_plan(
        plan, stores=view.stores, digests=view.own.digests, may_choose_receivers=may_choose_receivers
    )
    view.note(receivers=len(plan.receivers))
    return go(view.url("/digest"))


async def create_feed(view: TenantView) -> Content:
    created_feed = await rss_feeds.create_feed(
        FeedKind.DIGEST,
        rss_feeds.OWN_DIGESTS,
        stores=view.stores,
        created_by=view.person.name,
        user_id=view.person.user_id,
        language=view.language.value,
    )
    base = view.app.settings.web.base_url or str(view.request.base_url).rstrip("/")
    return {**await show_plan(view), "feed_address": f"{base}/feeds/{created_feed.token}"}


async def revoke_feed(view: TenantView) -> Response:
    address_id = uuid_of(view.request.path_params["address"])
    if address_id not in {feed.address_id for feed in await _own_feeds(view)}:
        raise Missing(PAGE_UNKNOWN)
    await rss_feeds.revoke_feed(address_id, stores=view.stores)
    return go(view.url("/digest/plan"))


async def _own_feeds(view: TenantView) -> tuple[FeedAddress, ...]:
    return tuple(
        feed_address
        for feed_address in await rss_feeds.list_feeds(stores=view.stores)
        if feed_address.user_id == view.person.user_id
    )


async def make(view: TenantView) -> Response:
    tenant_id, user_id = view.membership.tenant_id, view.person.user_id
    await digests.make_digest(
        tenant_id, user_id, view.now, stores=view.stores, own=view.own, now=view.now, language=view.language
    )
    return go(view.url("/digest"))
