"""People who read pages, in a process of their own: what they open, how long each answer takes,
and the CPU that a page costs.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

import httpx

from bench.workloads.web_world import WATCHED_WORDS, WORDS, World
from telegram_assistant.interpreter import collect_seldom
from telegram_assistant.web.cookies import SESSION
from testkit.harness import cpu_seconds

EVERY_SECONDS = 10.0
OFTEN = 0.75
"""The share of pages that show stories, posts or channels."""
OPENINGS = 8
"""How often each page is opened, one at a time, to measure its cost."""
TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ReadingPerson:
    """Somebody with a session, and digests of their own."""

    token: str
    base: str
    language: str
    digests: tuple[UUID, ...]
    public_id: UUID
    """As the list of members names them."""
    link: str
    """The path of a public link to a story."""

    @property
    def headers(self) -> dict[str, str]:
        return {"Accept-Language": self.language, "Cookie": f"{SESSION}={self.token}"}

    def pages(self, world: World, rng: random.Random) -> tuple[dict[str, str], dict[str, str]]:
        """An address for each page that shows stories, posts or channels, and for each of the others."""
        often, seldom = _pages(world, self.digests, rng)
        seldom["members.show_one"] = f"/members/{self.public_id}"
        outside = {
            "person.show": "/me",
            "public_link.show": self.link,
            "feed_file.show": f"/feeds/{world.feed}.atom",
            "feed_file.show_picture": world.feed_picture,
        }
        return (
            {"person.home": "/", **{name: self.base + path for name, path in often.items()}},
            {**outside, **{name: self.base + path for name, path in seldom.items()}},
        )


@dataclass(slots=True)
class Load:
    """The answers that the readers got: the seconds of each, by page, and how many pages failed with which
    status.
    """

    times: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class PageCost:
    """CPU seconds of one opening."""

    api: float
    postgres: float


def read_together(address: str, world: World, people: Sequence[ReadingPerson], seconds: float) -> Load:
    """Everybody opens a page every ten seconds.

    Runs in a process of its own: the server's has nothing to do but answer.
    """
    collect_seldom()  # a pause of the reader's is not the server's
    return asyncio.run(_read_together(address, world, people, seconds))


async def _read_together(address: str, world: World, people: Sequence[ReadingPerson], seconds: float) -> Load:
    load = Load()
    async with open_client(address) as client:
        hands = (random.Random(number) for number in range(len(people)))
        await asyncio.gather(
            *(
                _read_as_person(client, world, person, rng, seconds, load)
                for person, rng in zip(people, hands, strict=False)
            )
        )
    return load


async def _read_as_person(
    client: httpx.AsyncClient,
    world: World,
    person: ReadingPerson,
    rng: random.Random,
    seconds: float,
    load: Load,
) -> None:
    await asyncio.sleep(rng.random() * EVERY_SECONDS)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        often, seldom = person.pages(world, rng)
        name, path = rng.choice(list((often if rng.random() < OFTEN else seldom).items()))
        began = time.perf_counter()
        answer = await client.get(path, headers=person.headers)
        took = time.perf_counter() - began
        load.times.setdefault(name, []).append(took)
        if not answer.is_success:
            load.errors[f"{name} {answer.status_code}"] += 1
        await asyncio.sleep(max(0.0, EVERY_SECONDS - took))


def measure_costs(
    address: str, world: World, person: ReadingPerson, server: int, backends: Sequence[int]
) -> dict[str, list[PageCost]]:
    """Opens pages one after another, and reads how much CPU the server and its connections used meanwhile."""
    return asyncio.run(_measure_costs(address, world, person, server, backends))


async def _measure_costs(
    address: str, world: World, person: ReadingPerson, server: int, backends: Sequence[int]
) -> dict[str, list[PageCost]]:
    costs: dict[str, list[PageCost]] = {}
    async with open_client(address) as client:
        for number in range(OPENINGS):
            often, seldom = person.pages(world, random.Random(number))
            for name, path in (often | seldom).items():
                api, postgres = cpu_seconds(server), _read_cpu_seconds(backends)
                await client.get(path, headers=person.headers)
                costs.setdefault(name, []).append(
                    PageCost(cpu_seconds(server) - api, _read_cpu_seconds(backends) - postgres)
                )
    return costs


def _read_cpu_seconds(processes: Iterable[int]) -> float:
    return sum(map(cpu_seconds, processes))


def open_client(address: str) -> httpx.AsyncClient:
    """One for everybody, with as many connections as there are people: it keeps no cookies,
    each request brings its own.
    """
    return httpx.AsyncClient(
        base_url=address, timeout=TIMEOUT_SECONDS, limits=httpx.Limits(max_connections=None)
    )


def _pages(
    world: World, digests: Sequence[UUID], rng: random.Random
) -> tuple[dict[str, str], dict[str, str]]:
    """Paths below the tenant's."""
    channel, story, pictured, word = (
        rng.choice(world.channels),
        rng.choice(world.story_posts),
        rng.choice(world.pictured),
        rng.choice(WORDS),
    )
    often = {
        "today.show": rng.choice(
            [
                "/today",
                "/today?window=3days",
                "/today?window=week",
                f"/today?folder=Folder+{rng.randrange(5)}",
            ]
        ),
        "story.show": f"/story/{story}",
        "feed.show": rng.choice(
            [
                "/feed",
                "/feed?order=oldest",
                f"/feed?folder=Folder+{rng.randrange(5)}",
                f"/feed?channel={channel}",
            ]
        ),
        "post.show": f"/post/{rng.choice([story, f'{channel}/1'])}",
        "search.show": f"/search?q={word}",
        "changes.show": "/changes",
        "changes.show_caught": "/changes/caught",
        "changes.show_caught_week": f"/changes/caught/{datetime.now(UTC).date()}",
        "tags.show": "/tags",
        "feed.show_saved": "/saved",
        "channels.show": rng.choice(["/channels", "/channels?order=posts", "/channels?order=health&page=3"]),
        "channel.show": f"/channels/{channel}",
    }
    seldom = {
        "alerts.show": rng.choice(["/alerts", "/alerts?show=all"]),
        "watches.show": "/watches",
        "watches.show_new": "/watches/new",
        "watches.show_one": f"/watches/{rng.choice(world.watches)}",
        "watches.preview": f"/watches/preview?kind=words&query={rng.choice(WATCHED_WORDS)}",
        "receivers.show": "/receivers",
        "ask.show": f"/ask?q={word}%3F",
        "ask.stream": f"/ask/stream?q={word}%3F",
        "media.show": f"/media/{pictured}/0/{rng.choice('sm')}",
        "feed.show_mutes": "/mutes",
        "lists.show": "/lists",
        "lists.show_one": f"/lists/{rng.choice(world.lists)}",
        "lists.show_add": f"/lists/add?kind=story&post={story}",
        "digests.show": "/digest",
        "digests.show_one": f"/digest/{rng.choice(digests)}",
        "digests.show_plan": "/digest/plan",
        "links.show": f"/links?kind=story&subject={story}",
        "copies.copy_story": f"/story/{story}/copy?format=markdown",
        "copies.copy_post": f"/post/{story}/copy?format=markdown",
        "copies.copy_posts": f"/copy?post={story}&format=json",
        "copies.copy_caught": f"/changes/caught/{datetime.now(UTC).date()}/copy?format=markdown",
        "changes.draw_caught_week": f"/changes/caught/{datetime.now(UTC).date()}/picture",
        "copies.copy_digest": f"/digest/{rng.choice(digests)}/copy?format=markdown",
        "interests.show": "/interests",
        "trends.show": "/trends",
        "search.suggest": "/search/suggest?q=from:",
        "search.export": f"/search/file/csv?q={word}",
        "ask.show_brief": f"/ask/brief?q={word}%3F",
        "tags.show_posts": f"/tags/tag%20{rng.randrange(40)}",
        "destinations.show": "/go",
        "destinations.find": f"/go/found?q={word}",
        "graph.show": f"/spread/{channel}",
        "record.show": f"/channels/{channel}/record/{rng.choice(('first', 'taken', 'edited'))}",
        "channels.export": "/channels/export/opml",
        "adding.show": "/channels/add",
        "adding.show_requests": "/channels/requests",
        "members.show": "/members",
        "setup.show": "/setup",
        "setup.show_login": "/setup/login",
        "overview.show": "/operations",
        "overview.refresh": "/operations/numbers",
        "dead_letters.show": "/operations/dead-letters",
        "tenants.show": "/operations/tenants",
        "accounts.show": "/accounts",
        "ai.show": "/ai",
        "keys.show": "/keys",
        "audit.show": "/audit",
    }
    return often, seldom
