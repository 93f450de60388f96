"""Watches under the trouble: channels tell of events, two tenants watch them; afterwards the posts are
matched once more, undisturbed.

Only posts are matched again that were stored when both tenants followed all their channels: what passed
before, they did not see.
"""

import random
from collections import Counter
from datetime import UTC, datetime
from itertools import batched

import asyncpg

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.watches.watch import WatchKind, WatchOptions, WatchTarget
from telegram_assistant.features.watches.watches import create_watch
from telegram_assistant.stores.postgres.posts.posts import derived_without_names

TARGETS = (
    WatchTarget(kind=WatchKind.WORDS, query="мост"),
    WatchTarget(kind=WatchKind.WORDS, query='снегопад or "снежная буря"'),
    WatchTarget(kind=WatchKind.WORDS, query="закрыли -учения"),
    WatchTarget(kind=WatchKind.STORY, query="", posts=3),
)
WORDINGS = (
    (
        "В городе {city} закрыли {street} мост: осмотр опор нашёл {count} трещин, "
        "автобусы {line} маршрута идут в объезд."
    ),
    (
        "{street} мост в городе {city} закрыт. Осмотр опор нашёл {count} трещин, "
        "автобусы {line} маршрута пустили в объезд."
    ),
    (
        "Снегопад закрыл трассу у города {city}: {count} машин стоят на перевале {street}, "
        "выехали {line} тракторов."
    ),
    (
        "{count} машин застряли на перевале {street} у города {city}, снегопад не утихает, "
        "вышли {line} тракторов."
    ),
)
CITIES = ("Нортвик", "Туманск", "Краснолесье", "Озёрск", "Ветроград", "Солнцево", "Яснополь", "Громово")
STREETS = ("Литейный", "Заводской", "Ладейный", "Горелый", "Каменный", "Рыбацкий", "Полынный")

type Admin = asyncpg.Connection[asyncpg.Record]
type Told = tuple[object, str, object]
"""A watch, the kind of an alert, and the story or post that it is about."""


def text_of(event: int, rng: random.Random) -> str:
    """An event in one of two wordings. Events differ in their place and numbers."""
    kind = event % 2 * 2
    place = {"city": CITIES[event % len(CITIES)], "street": STREETS[event % len(STREETS)]}
    return rng.choice(WORDINGS[kind : kind + 2]).format(**place, count=event * 3 + 5, line=event * 7 + 11)


async def add_watches(app: App, *tenants: str) -> None:
    for name in tenants:
        stores = app.tenant((await app.system.tenants.ensure(name)).tenant_id)
        for target in TARGETS:
            await create_watch(
                f"{target.kind} {target.query}",
                target,
                WatchOptions(),
                stores=stores,
                created_by="bench",
                now=datetime.now(UTC),
                zone=UTC,
            )


async def judge_alerts(app: App, admin: Admin) -> tuple[int, list[Told], list[Told]]:
    """How many alerts were raised; what an undisturbed matching of the stored posts raises and was not told;
    what was told more than once.
    """
    await app.system.watch_matching.raise_grown(datetime.now(UTC))  # the job's next minute
    raised = await _load_alerts(admin)
    await admin.execute("DELETE FROM alerts")
    rows = await admin.fetch(
        "SELECT channel_id, message_id FROM posts WHERE stored_at > (SELECT max(created_at) "
        "FROM subscriptions) ORDER BY posted_at"
    )
    for some in batched(
        [PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])) for row in rows], 100
    ):
        await app.system.watch_matching.raise_alerts(
            [derived_without_names(post) for post in await app.system.posts.load(some)]
        )
    await app.system.watch_matching.raise_grown(datetime.now(UTC))
    expected = await _load_alerts(admin)
    return (
        raised.total(),
        [alert for alert in expected if alert not in raised],
        [alert for alert, times in raised.items() if times > 1],
    )


async def _load_alerts(admin: Admin) -> Counter[Told]:
    rows = await admin.fetch(
        """
        SELECT a.watch_id, a.kind, coalesce(s.story_id::text, a.channel_id || '/' || a.message) AS about
        FROM alerts a
        LEFT JOIN story_posts s ON s.channel_id = a.channel_id AND s.message_id = a.message
        """
    )
    return Counter((row["watch_id"], row["kind"], row["about"]) for row in rows)
