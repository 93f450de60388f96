"""The owner of the demo: what they watch, look for and mute, and, once there are stories,
what they have saved and their first digest.
"""

import asyncio
import os
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from telegram_assistant.assembly import App
from telegram_assistant.demo.stopping import DemoStopped
from telegram_assistant.demo.tenant import LOOK_SECONDS, OWNER_NAME, demo_owner, demo_tenant
from telegram_assistant.domain.digests.interests import OWN_WEIGHT, Feedback
from telegram_assistant.domain.digests.plan import DigestPlan
from telegram_assistant.domain.watches.watch import AlertSeverity, WatchKind, WatchOptions, WatchTarget
from telegram_assistant.features.digests import interests
from telegram_assistant.features.digests.digests import make_digest
from telegram_assistant.features.receivers.rss_feeds import create_feed
from telegram_assistant.features.search.saved import save_search
from telegram_assistant.features.stories.stories import ListedStory, recent_stories
from telegram_assistant.features.watches.watches import create_watch
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedKind
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.translation import terminal_language

log = get_logger()

WATCHED_PERIOD = timedelta(days=1)
"""Watches look this far back, so that their alerts are there at once."""
DIGEST_STORIES = 12
DIGEST_PATIENCE = timedelta(seconds=45)
SAVED_STORIES = 3
MUTED_WORD = "промокод"
TOPICS = (("мосты", OWN_WEIGHT), ("startups", OWN_WEIGHT), ("футбол", -OWN_WEIGHT))
SEARCHES = (("Мосты · bridges", "мост or bridge"), ("Pictures of today", "has:image since:1d"))


@dataclass(frozen=True, slots=True)
class OwnersWatch:
    """A watch of the demo's owner."""

    name: str
    target: WatchTarget
    severity: AlertSeverity = AlertSeverity.NORMAL


WATCHES = (
    OwnersWatch(
        "Пожары и аварии",
        WatchTarget(kind=WatchKind.WORDS, query="пожар or авария or эвакуация or fire"),
        AlertSeverity.CRITICAL,
    ),
    OwnersWatch("Novera", WatchTarget(kind=WatchKind.MENTION, query="Новера or Novera")),
    OwnersWatch("Edited or deleted", WatchTarget(kind=WatchKind.CHANGES, query=""), AlertSeverity.LOW),
    OwnersWatch("Big stories", WatchTarget(kind=WatchKind.STORY, query="", posts=8)),
    OwnersWatch("Тишина", WatchTarget(kind=WatchKind.SILENCE, query="", hours=24), AlertSeverity.LOW),
)


async def write_down_wishes(app: App) -> None:
    """Creates the owner's watches, feed, interests, searches, muted word and digest plan, before the first
    post arrives.

    Later starts change nothing.
    """
    stores, own, now = *await _stores(app), datetime.now(UTC)
    if await stores.watches.all():
        return
    for example in WATCHES:
        watch = await create_watch(
            example.name,
            example.target,
            WatchOptions(severity=example.severity),
            stores=stores,
            created_by=OWNER_NAME,
            now=now,
            zone=UTC,
            begins_at=now - WATCHED_PERIOD,
        )
        if example is WATCHES[0]:
            await create_feed(FeedKind.WATCH, str(watch.watch_id), stores=stores, created_by=OWNER_NAME)
    for topic, weight in TOPICS:
        await interests.write_down(topic, interests=own.interests, weight=weight)
    for name, query in SEARCHES:
        await save_search(name, query, stores=stores, created_by=OWNER_NAME, today=now.date())
    await own.choices.mute_word(MUTED_WORD)
    await own.digests.set_plan(DigestPlan((time(8), time(19))))


async def read_first_stories(app: App) -> None:
    """Saves the first posts of some stories, says that it wants more like them, and makes a digest, once.

    The digest is in the language of the terminal: nobody has opened the pages yet.
    """
    stores, own = await _stores(app)
    if await own.digests.newest(limit=1):
        return
    stories = await _wait_for_stories(stores)
    await own.choices.save([entry.story.first.post_id for entry in stories[:SAVED_STORIES]])
    for favourite in stories[:1]:
        await interests.say(favourite.story.story_id, Feedback.MORE, stores=stores, interests=own.interests)
    tenant, owner_id, now = await demo_tenant(app), await demo_owner(app), datetime.now(UTC)
    await make_digest(
        tenant.tenant_id,
        owner_id,
        now,
        stores=stores,
        own=own,
        now=now,
        language=terminal_language(os.environ),
    )


async def go_on_after(reading: Awaitable[None]) -> None:
    """Waits for the owner's reading. If it fails, the demo logs the error and goes on.

    DemoStopped still ends the demo.
    """
    try:
        await reading
    except DemoStopped:
        raise
    except Exception:
        log.exception("demo_owner_failed")


async def _wait_for_stories(stores: TenantStores) -> tuple[ListedStory, ...]:
    """Waits until there are enough for a digest, but not for long."""
    began_at = datetime.now(UTC)
    while True:
        now = datetime.now(UTC)
        recent = await recent_stories(now - timedelta(days=1), stores=stores, now=now, limit=DIGEST_STORIES)
        if len(recent.stories) >= DIGEST_STORIES or now - began_at > DIGEST_PATIENCE:
            return recent.stories
        await asyncio.sleep(10 * LOOK_SECONDS)


async def _stores(app: App) -> tuple[TenantStores, PersonStores]:
    tenant_id = (await demo_tenant(app)).tenant_id
    return app.tenant(tenant_id), app.person(tenant_id, await demo_owner(app))
