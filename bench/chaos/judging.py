"""Compares the stored posts, albums, files and counters with the truth after the faults of a schedule."""

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import asyncpg

from bench.chaos.ingest import CHANNELS, Scene
from bench.chaos.watches import judge_alerts
from telegram_assistant.assembly import assemble
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.settings import Settings
from telegram_simulator.world.load import FIRST_CHANNEL

POSTS = """
SELECT p.message_id, p.text, p.revision, p.deleted_at,
       ARRAY(SELECT text FROM post_versions v WHERE v.channel_id = p.channel_id
           AND v.message_id = p.message_id ORDER BY revision) AS earlier
FROM posts p WHERE channel_id = $1
"""


@dataclass
class Result:
    """The findings of one schedule; each count in `MISTAKES` must be zero."""

    seed: int
    posts: int = 0
    files: int = 0
    posts_counted: int = 0
    """The sum of `posts_parsed_total` at the last scrape of each process."""
    posts_inserted: int = 0
    left_out: int = 0
    """Inserted after the last scrape of processes that were killed or stopped."""
    alerts: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    lost: int = 0
    foreign: int = 0
    twice: int = 0
    undead: int = 0
    """Deleted, and no tombstone."""
    buried_alive: int = 0
    disordered: int = 0
    """Versions that the post never had, or had in another order."""
    albums_wrong: int = 0
    files_wrong: int = 0
    """Wanted and not stored, or not with the same bytes."""
    orphans: int = 0
    incomplete: int = 0
    budget_violations: int = 0
    double_use: int = 0
    counted_wrong: int = 0
    """Processes whose `posts_parsed_total` differs from the posts that they inserted."""
    alerts_lost: int = 0
    alerts_twice: int = 0
    """More than one alert of one watch about one story."""

    @property
    def faulty(self) -> dict[str, int]:
        return {name: number for name in MISTAKES if (number := getattr(self, name))}

    @property
    def right(self) -> bool:
        return not self.faulty

    def note(self, mistake: str, example: str) -> None:
        setattr(self, mistake, getattr(self, mistake) + 1)
        self.examples.append(f"{mistake}: {example}")


MISTAKES = tuple(attribute.name for attribute in fields(Result))[9:]


async def judge(scene: Scene, settings: Settings, result: Result) -> None:
    admin = await asyncpg.connect((settings.database.admin_url or settings.database.url).get_secret_value())
    async with assemble(settings) as app:
        for number in range(CHANNELS):
            channel_id = ChannelId(FIRST_CHANNEL + number)
            truth = {row["message_id"]: row for row in await asyncio.to_thread(_truth, scene, channel_id)}
            result.posts += len(truth)
            await _judge_posts(admin, channel_id, truth, result)
            await _judge_albums(admin, channel_id, truth, result)
            await _judge_files(admin, channel_id, truth, result)
            coverage = await app.system.coverage.load_coverage(channel_id)
            result.incomplete += coverage is None or not coverage.complete
        result.alerts, lost, twice = await judge_alerts(app, admin)
        for mistake, alerts in (("alerts_lost", lost), ("alerts_twice", twice)):
            for alert in alerts:
                result.note(mistake, str(alert))
    await _judge_folder(admin, settings, result)
    counted = await scene.fleet.counting.judge(admin, alive=scene.fleet.alive)
    result.posts_counted, result.posts_inserted, result.left_out = (
        counted.posts_counted,
        counted.posts_inserted,
        counted.left_out,
    )
    for life in counted.wrong:
        result.note("counted_wrong", life)
    await admin.close()
    state = await asyncio.to_thread(scene.control.state)
    trace = await asyncio.to_thread(scene.control.ask, "GET", "/trace?limit=5000")
    result.double_use = state["double_use"]
    result.budget_violations = state["punished"] + count_calls_during_waits(trace)


def _truth(scene: Scene, channel_id: int) -> list[dict[str, Any]]:
    return list(scene.control.truth(channel_id, files=True))


async def _judge_posts(
    admin: "asyncpg.Connection[asyncpg.Record]",
    channel_id: int,
    truth: dict[int, dict[str, Any]],
    result: Result,
) -> None:
    rows = {row["message_id"]: row for row in await admin.fetch(POSTS, channel_id)}
    result.foreign += len(rows.keys() - truth.keys())
    for message_id, row in truth.items():
        stored, where = rows.get(message_id), f"{channel_id}/{message_id}"
        texts = [""] if row["service"] else [version["text"] for version in row["versions"]]
        if row["deleted_at"] is None and (stored is None or stored["text"] != texts[-1]):
            result.note("lost", f"{where}: {texts[-1]!r} is {stored and stored['text']!r}")
        if stored is None:
            continue
        result.foreign += stored["text"] not in texts
        result.twice += max(0, stored["revision"] - len(texts))
        if not _in_order([*stored["earlier"], stored["text"]], texts):
            result.note("disordered", f"{where}: {[*stored['earlier'], stored['text']]} of {texts}")
        if (row["deleted_at"] is None) != (stored["deleted_at"] is None):
            result.note("undead" if row["deleted_at"] else "buried_alive", where)


def _in_order(seen: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether these are some of the texts, in their order."""
    left = iter(texts)
    return all(item in left for item in seen)


async def _judge_albums(
    admin: "asyncpg.Connection[asyncpg.Record]",
    channel_id: int,
    truth: dict[int, dict[str, Any]],
    result: Result,
) -> None:
    rows = {
        row["grouped_id"]: row
        for row in await admin.fetch("SELECT * FROM media_groups WHERE channel_id = $1", channel_id)
    }
    albums: dict[int, set[int]] = {}
    for message_id, row in truth.items():
        if row["grouped_id"] is not None and row["deleted_at"] is None:
            albums.setdefault(row["grouped_id"], set()).add(message_id)
    for grouped_id, items in albums.items():
        stored = rows.get(grouped_id)
        if stored is None or not items <= set(stored["message_ids"]) or stored["closed_at"] is None:
            result.note("albums_wrong", f"{channel_id}, {sorted(items)}: {stored and dict(stored)}")


async def _judge_files(
    admin: "asyncpg.Connection[asyncpg.Record]",
    channel_id: int,
    truth: dict[int, dict[str, Any]],
    result: Result,
) -> None:
    rows = await admin.fetch(
        "SELECT message_id, state, sha256, reason FROM post_media WHERE channel_id = $1 "
        "AND state <> 'skipped'",
        channel_id,
    )
    for row in rows:
        true = truth[row["message_id"]]
        if true["deleted_at"] is not None:
            continue
        result.files += 1
        if row["state"] != "stored" or row["sha256"].hex() != true["file"]["sha256"]:
            result.note("files_wrong", f"{channel_id}/{row['message_id']}: {row['state']} {row['reason']}")


async def _judge_folder(
    admin: "asyncpg.Connection[asyncpg.Record]", settings: Settings, result: Result
) -> None:
    """Every file is named by its bytes, so there cannot be a second copy under a right name;
    and each belongs to a post.
    """
    known = {
        row["sha256"]
        for row in await admin.fetch("SELECT DISTINCT sha256 FROM post_media WHERE sha256 IS NOT NULL")
    }
    for name, digest in await asyncio.to_thread(_files_in, settings.files.folder):
        if digest not in known or name != digest.hex():
            result.note("orphans", name)


def _files_in(folder: Path | None) -> list[tuple[str, bytes]]:
    paths = [] if folder is None else [path for path in folder.rglob("*") if path.is_file()]
    return [(path.name, hashlib.sha256(path.read_bytes()).digest()) for path in paths]


def count_calls_during_waits(trace: list[dict[str, Any]]) -> int:
    """Calls of a method that an account made although it had been told to wait."""
    blocked: dict[tuple[str, str], float] = {}
    violations = 0
    for call in trace:
        who = (str(call["phone"]), call["method"])
        violations += call["at"] < blocked.get(who, 0.0) - 0.1
        match = re.fullmatch(r"FLOOD_(?:PREMIUM_)?WAIT_(\d+)", call["answer"])
        if match:
            blocked[who] = call["at"] + int(match[1])
    return violations
