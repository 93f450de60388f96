"""Queries about the world: its events and its truth."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from telegram_simulator.simulator import Simulator
from telegram_simulator.world.channel import Channel
from telegram_simulator.world.files import make_file
from telegram_simulator.world.post import File
from telegram_simulator.world.world import World


def state(simulator: Simulator) -> dict[str, Any]:
    """Counters, for people and tests."""
    calls: dict[str, dict[str, int]] = {}
    for (phone, method), count in sorted(simulator.counters.calls.items()):
        calls.setdefault(phone, {})[method] = count
    connections = [
        {
            "peer": connection.peer,
            "dc": connection.dc_id,
            "phone": connection.record.phone if connection.record else None,
            "calls": connection.calls,
        }
        for connection in simulator.connections
    ]
    return {
        "calls": calls,
        "errors": dict(simulator.counters.errors),
        "crashes": simulator.counters.crashes,
        "connections_now": connections,
        "connections_ever": simulator.counters.connections,
        "double_use": sum(record.double_use for record in simulator.keys),
        "keys_used_twice": sorted({record.phone or "" for record in simulator.keys if record.double_use}),
        "punished": simulator.floods.punished,
        "waits": simulator.floods.waits(simulator.now()),
        "posts_served": simulator.counters.posts_served,
        "file_bytes": simulator.counters.file_bytes,
        "updates_sent": simulator.counters.updates_sent,
        "web_requests": simulator.counters.web_requests,
        "pages_served": simulator.counters.pages_served,
        "articles_served": dict(simulator.counters.articles_served),
        "posts_live": simulator.counters.posts_live,
    }


def trace(simulator: Simulator, limit: int = 100) -> list[dict[str, Any]]:
    """The last calls, oldest first."""
    return [asdict(call) for call in list(simulator.counters.trace)[-limit:]]


def channels(world: World) -> list[dict[str, Any]]:
    candidates = (world.channel(number) for number in world.channel_ids())
    return [
        {"channel_id": channel.channel_id, "title": channel.title, "username": channel.username}
        for channel in candidates
        if channel is not None
    ]


def truth(
    world: World, channel_id: int | None = None, *, with_files: bool = False
) -> Iterator[dict[str, Any]]:
    """Every post that ever was, with every text it had, and when it was deleted."""
    for number in [channel_id] if channel_id is not None else world.channel_ids():
        channel = world.channel(number)
        if channel is not None:
            for message_id in range(1, channel.newest_id + 1):
                yield _truth_of(channel, message_id, with_files=with_files)


def _truth_of(channel: Channel, message_id: int, *, with_files: bool) -> dict[str, Any]:
    versions = channel.versions(message_id)
    last_version = versions[-1]
    facts: dict[str, Any] = {
        "channel_id": channel.channel_id,
        "message_id": message_id,
        "date": last_version.date,
        "text": last_version.text,
        "service": last_version.service.value if last_version.service else None,
        "grouped_id": last_version.grouped_id,
        "deleted_at": channel.deleted_at(message_id),
        "versions": [
            {"at": version.edit_date or version.date, "text": version.text, "hidden": version.edit_hidden}
            for version in versions
        ],
    }
    facts |= channel.about(message_id)
    file = getattr(last_version.media, "file", None)
    if isinstance(file, File):
        facts["file"] = {"kind": file.kind.value, "size": file.size, "dc": file.dc_id}
        if with_files:
            facts["file"]["sha256"] = hashlib.sha256(make_file(file)).hexdigest()
    return facts
