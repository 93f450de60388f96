"""album_assembler: one summary for each album,
whatever comes in which order and whatever is lost in between.
"""

import json
import random
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.understanding.policy import AiPolicy, Tier
from telegram_assistant.errors import Busy
from telegram_assistant.events import AlbumAssembled, AlbumParsed, PostVisionAnalyzed, VisionStatus
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.stages.album_assembler import album_assembler
from telegram_assistant.stores.postgres.posts.albums import OVERDUE, SETTLED
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from telegram_assistant.stores.redis.album_states import AlbumStates
from testkit.factories import make_channel, make_deleted, make_page, make_post
from testkit.provider_server import saying
from tests.conftest import Admin
from tests.stages.looking import Looking, draw_picture, looking_at

type Heard = AlbumParsed | PostVisionAnalyzed

POSTED = datetime.now(UTC).replace(microsecond=0)


class Album:
    """An album whose items are stored, looked at and closed by hand."""

    def __init__(
        self, system: SystemStores, redis: Redis, admin: Admin, channel_id: ChannelId, *, grouped_id: int = 7
    ) -> None:
        self.system, self.redis, self.admin = system, redis, admin
        self.channel_id, self.grouped_id = channel_id, grouped_id
        self.states = AlbumStates(redis)
        self.assembled_events: list[AlbumAssembled] = []

    async def land(self, *items: int) -> None:
        posts = [
            make_post(
                channel_id=self.channel_id, message_id=item, grouped_id=self.grouped_id, posted_at=POSTED
            )
            for item in items
        ]
        await self.system.landing.land(make_page(*posts), Claim(self.channel_id, 0))
        await self.system.albums.gather(await self.system.posts.load([post.id for post in posts]))

    async def look(
        self, item: int, *tiers: Tier, status: VisionStatus = VisionStatus.ANALYZED
    ) -> PostVisionAnalyzed:
        """Saves results and returns the event, as vision_analysis does."""
        post = PostId(self.channel_id, MessageId(item))
        for tier in tiers or (Tier.LOCAL,):
            data = {
                "status": status.value,
                "description": f"{tier.value} {item}",
                "text": f"words {item % 2}",
                "is_meme": item == 3,
            }
            await self.system.enrichments.save([Enrichment(post, 1, Kind.VISION, tier, data)])
        return PostVisionAnalyzed.about(
            post, 1, occurred_at=POSTED, status=status, grouped_id=self.grouped_id
        )

    async def close(self, *, later: timedelta = SETTLED) -> list[AlbumParsed]:
        """Closes albums as if time had passed without news. Returns the emitted events."""
        await self.system.albums.close(datetime.now(UTC) + later)
        return await self.notices()

    async def notices(self) -> list[AlbumParsed]:
        query = (
            "SELECT payload FROM notices WHERE channel_id = $1 AND event = 'albums.parsed' "
            "ORDER BY created_at"
        )
        return [
            AlbumParsed.model_validate_json(row["payload"])
            for row in await self.admin.fetch(query, self.channel_id)
        ]

    async def hear(self, *events: Heard) -> None:
        for event in events:
            assembled = await album_assembler(
                event, album_states=self.states, album_summaries=self.system.album_summaries
            )
            if isinstance(assembled, AlbumAssembled):
                self.assembled_events.append(assembled)

    def ends(self) -> list[tuple[str, tuple[int, ...], int]]:
        """Summaries in the order in which each was told first; the same may be told again."""
        return list(
            dict.fromkeys(
                (event.post_id, event.message_ids, event.revision) for event in self.assembled_events
            )
        )

    async def forget(self) -> None:
        await self.redis.flushdb()
        self.states = AlbumStates(self.redis)

    async def rows(self) -> dict[tuple[int, str], Any]:
        query = "SELECT message_id, tier, data FROM post_enrichment WHERE channel_id = $1 AND kind = 'album'"
        return {
            (row["message_id"], row["tier"]): json.loads(row["data"])
            for row in await self.admin.fetch(query, self.channel_id)
        }


@pytest.fixture
async def redis(database: dict[str, str]) -> AsyncIterator[Redis]:
    client = Redis.from_url(database["REDIS_URL"])
    await client.flushdb()
    yield client
    await client.aclose()


@pytest.fixture
async def album(system: SystemStores, redis: Redis, admin: Admin) -> Album:
    return Album(system, redis, admin, await make_channel(system))


async def test_an_album_is_summed_up_once_when_its_last_item_was_looked_at(album: Album) -> None:
    await album.land(1, 2, 3)
    await album.hear(*await album.close(), await album.look(1), await album.look(2))
    assert album.assembled_events == []
    await album.hear(await album.look(3, Tier.LOCAL, Tier.PROVIDER))
    (event,) = album.assembled_events
    assert (event.post_id, event.message_ids, event.revision, event.grouped_id) == (
        f"{album.channel_id}/1",
        (1, 2, 3),
        1,
        7,
    )
    rows = await album.rows()
    assert set(rows) == {(1, "local"), (1, "provider")}
    assert rows[1, "local"] == {
        "status": "analyzed", "description": "local 1 local 2 local 3", "text": "words 1\nwords 0",
        "is_meme": True, "is_document": False, "message_ids": [1, 2, 3], "looked_at": [1, 2, 3],
    }  # fmt: skip
    assert rows[1, "provider"]["description"] == "local 1 local 2 provider 3"


async def test_a_summary_carries_the_trace_of_the_post_that_it_is_about_whoever_was_looked_at_last(
    album: Album,
) -> None:
    await album.land(1, 2)
    await album.hear(*await album.close(), await album.look(1), await album.look(2))
    assert {event.trace_id for event in album.assembled_events} == {
        trace_of(PostId(album.channel_id, MessageId(1)), 1)
    }


async def test_an_album_whose_items_were_all_looked_at_before_it_was_closed_is_summed_up_by_its_end(
    album: Album,
) -> None:
    await album.land(1, 2)
    await album.hear(await album.look(2), await album.look(1))
    assert album.assembled_events == []
    await album.hear(*await album.close())
    assert [event.message_ids for event in album.assembled_events] == [(1, 2)]


async def test_a_late_item_opens_it_again_and_a_new_summary_takes_the_place_of_the_old_one(
    album: Album,
) -> None:
    await album.land(2, 3)
    await album.hear(*await album.close(), await album.look(2), await album.look(3))
    await album.land(1)
    await album.hear(await album.look(1), *await album.close())
    assert album.ends() == [
        (f"{album.channel_id}/2", (2, 3), 1),
        (f"{album.channel_id}/1", (1, 2, 3), 2),
    ]
    assert set(await album.rows()) == {(1, "local")}


async def test_with_ai_off_albums_close_all_the_same(album: Album) -> None:
    await album.land(1, 2)
    await album.hear(
        *await album.close(), *[await album.look(item, status=VisionStatus.SKIPPED) for item in (1, 2)]
    )
    assert len(album.ends()) == 1
    assert (await album.rows())[1, "local"]["status"] == "skipped"


async def test_an_item_that_nobody_looks_at_keeps_its_album_for_a_quarter_of_an_hour(
    album: Album, system: SystemStores
) -> None:
    await album.land(1, 2)
    await album.hear(*await album.close(), await album.look(1))
    closed = datetime.now(UTC) + SETTLED
    await system.albums.announce_overdue(closed + OVERDUE - timedelta(seconds=5))
    assert [notice.is_overdue for notice in await album.notices()] == [False]
    for _ in range(2):
        await system.albums.announce_overdue(closed + OVERDUE + timedelta(seconds=5))
    (overdue,) = await album.notices()
    assert overdue.is_overdue
    await album.hear(overdue)
    assert (await album.rows())[1, "local"]["looked_at"] == [1]
    await album.forget()
    await album.hear(await album.look(2))
    assert (await album.rows())[1, "local"]["looked_at"] == [1, 2]
    assert [event.message_ids for event in album.assembled_events] == [(1, 2), (1, 2)]
    before = await album.notices()
    await system.albums.announce_overdue(closed + 2 * OVERDUE)
    assert await album.notices() == before


async def test_a_deleted_item_is_not_waited_for_once_it_is_known(album: Album, system: SystemStores) -> None:
    await album.land(1, 2)
    await make_deleted(system, album.channel_id, at=datetime.now(UTC))
    await album.land(3)
    await album.hear(*await album.close(), await album.look(3))
    await system.albums.announce_overdue(datetime.now(UTC) + SETTLED + OVERDUE + timedelta(seconds=5))
    await album.hear(*await album.notices())
    assert {event.message_ids for event in album.assembled_events} == {(3,)}


async def test_posts_that_are_no_album_are_passed_over(album: Album, redis: Redis) -> None:
    post = PostId(album.channel_id, MessageId(1))
    await album.hear(PostVisionAnalyzed.about(post, 1, occurred_at=POSTED))
    assert await redis.dbsize() == 0


async def test_while_redis_is_away_the_stage_waits(album: Album) -> None:
    away = AlbumStates(Redis.from_url("redis://127.0.0.1:9/0"))
    with pytest.raises(Busy):
        await album_assembler(
            await album.look(1), album_states=away, album_summaries=album.system.album_summaries
        )


async def test_a_state_outlives_its_process_and_expires(album: Album, redis: Redis) -> None:
    await album.land(1, 2)
    await album.hear(*await album.close(), await album.look(1))
    album.states = AlbumStates(redis)
    await album.hear(await album.look(2))
    assert len(album.assembled_events) == 1
    assert 86_000 < await redis.ttl(f"album:{album.channel_id}:7") <= 86_400


async def one_life(album: Album, rng: random.Random) -> None:
    """Items land, are looked at, are closed and told in any order, twice or late,
    while Redis forgets and processes end.
    """
    count = rng.randrange(2, 6)
    unlanded = rng.sample(range(1, count + 1), count)
    unlooked: list[int] = []
    waiting: list[Heard] = []
    delivered: list[Heard] = []
    while unlanded or unlooked or waiting:
        act = rng.choice(
            ("land", "land", "look", "look", "close", "hear", "hear", "hear", "again", "forget", "restart")
        )
        if act == "land" and unlanded:
            unlooked.append(unlanded.pop())
            await album.land(unlooked[-1])
        elif act == "look" and unlooked:
            item = unlooked.pop(rng.randrange(len(unlooked)))
            waiting.append(
                await album.look(item, *((Tier.LOCAL, Tier.PROVIDER) if item % 2 else (Tier.LOCAL,)))
            )
        elif act == "close":
            known = [*waiting, *delivered]
            waiting += [event for event in await album.close() if event not in known]
        elif act == "hear" and waiting:
            delivered.append(waiting.pop(rng.randrange(len(waiting))))
            await album.hear(delivered[-1])
        elif act == "again" and delivered:
            await album.hear(rng.choice(delivered))
        elif act == "forget":
            await album.forget()
        elif act == "restart":
            album.states = AlbumStates(album.redis)
        if not (unlanded or unlooked or waiting):
            waiting += [event for event in await album.close() if event not in delivered]
    items = tuple(range(1, count + 1))
    rows = await album.rows()
    assert album.assembled_events[-1].message_ids == items
    assert {key: row["looked_at"] for key, row in rows.items()} == {
        (1, "local"): list(items),
        (1, "provider"): list(items),
    }
    assert rows[1, "local"]["description"] == " ".join(f"local {item}" for item in items)
    assert rows[1, "provider"]["description"] == " ".join(
        f"{'provider' if item % 2 else 'local'} {item}" for item in items
    )


@settings(max_examples=25)
@given(rng=st.randoms(use_true_random=False))
async def test_whatever_the_order_the_summary_is_the_same(
    system: SystemStores, redis: Redis, admin: Admin, rng: random.Random
) -> None:
    await redis.flushdb()
    await one_life(Album(system, redis, admin, await make_channel(system)), rng)


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
async def test_one_image_and_one_video_are_an_album_with_and_without_ai(
    database: dict[str, str], tmp_path: Path, redis: Redis
) -> None:
    await redis.flushdb()
    async with looking_at(database, tmp_path) as looking:
        looking.server.says = saying(description="Мост", text="", is_meme=False)
        for policy, described in (
            (AiPolicy.PROVIDER, {"local": "", "provider": "Мост"}),
            (AiPolicy.OFF, {"local": ""}),
        ):
            assert await _assemble(looking, policy) == described


async def _assemble(looking: Looking, policy: AiPolicy) -> dict[str, str]:
    channel_id = await looking.channel(policy)
    film = {"kind": "video", "mime_type": "video/mp4", "data": b"film"}
    posts = [
        await looking.post(channel_id, draw_picture(), message_id=1, grouped_id=9),
        await looking.post(channel_id, film, message_id=2, grouped_id=9),
    ]
    album = Album(looking.app.system, looking.app.redis, looking.admin, channel_id, grouped_id=9)
    await album.hear(*[await looking.look(post) for post in posts], *await album.close())
    assert album.ends() == [(f"{channel_id}/1", (1, 2), 1)]
    return {tier: data["description"] for (_, tier), data in (await album.rows()).items()}
