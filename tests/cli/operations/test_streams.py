"""`tga streams`, `tga dead-letters` and `tga search`."""

import asyncio
import json
from typing import Any

from typer.testing import CliRunner

from telegram_assistant.assembly import App, assemble
from telegram_assistant.cli import app
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import PostParsed
from telegram_assistant.settings import read_settings
from telegram_assistant.stages.graph_indexing import graph_indexing
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.streams.entries import PAYLOAD, DeadLettered, Entry, StreamSource
from telegram_assistant.streams.keys import stopped_key, stream_key
from telegram_assistant.streams.stage import bind
from testkit.factories import fresh_number, make_channel, make_page, make_post, make_subscription
from tests.streams.conftest import parsed_event

KEY = stream_key(PostParsed, Lane.LIVE)


def prepare(database: dict[str, str], work: Any) -> Any:
    async def run() -> Any:
        async with assemble(read_settings(database)) as assembled:
            await assembled.redis.flushdb()
            for letter in await assembled.system.dead_letters.newest(limit=10_000):
                await assembled.system.dead_letters.remove(letter.dead_letter_id)
            return await work(assembled)

    return asyncio.run(run())


def add_dead_letters(database: dict[str, str], *numbers: int) -> list[int]:
    async def work(assembled: App) -> list[int]:
        source = StreamSource(KEY, Lane.LIVE, 0, PostParsed)
        letters = [
            DeadLettered(
                Entry(
                    source, f"{number}-0".encode(), parsed_event(number).model_dump_json().encode(), None, 5
                ),
                f"ValueError: {number}",
                "Traceback …",
            )
            for number in numbers
        ]
        await assembled.system.dead_letters.add("post_persistence", letters)
        return sorted(
            letter.dead_letter_id for letter in await assembled.system.dead_letters.newest("post_persistence")
        )

    buried: list[int] = prepare(database, work)
    return buried


def entries(database: dict[str, str]) -> list[dict[bytes, bytes]]:
    async def run() -> list[dict[bytes, bytes]]:
        async with assemble(read_settings(database)) as assembled:
            stream_entries: Any = await assembled.redis.xrange(KEY)
            return [fields for _, fields in stream_entries]

    return asyncio.run(run())


def test_dead_letters_are_listed_shown_replayed_and_discarded(
    runner: CliRunner, database: dict[str, str]
) -> None:
    first, second, third = add_dead_letters(database, 7, 8, 9)
    listed = runner.invoke(app, ["dead-letters", "list"]).stdout
    assert all(text in listed for text in (str(first), "post_persistence", "1/7", "ValueError: 7"))
    output = runner.invoke(app, ["dead-letters", "show", str(first)]).stdout
    assert "after 5 attempts: ValueError: 7" in output
    assert '"post_id":"1/7"' in output
    assert "Traceback …" in output

    assert (
        runner.invoke(app, ["dead-letters", "replay", str(first)]).stdout == "1 sent back to their stage.\n"
    )
    assert [fields[b"only"] for fields in entries(database)] == [b"post_persistence"]
    assert b'"1/7"' in entries(database)[0][PAYLOAD]
    assert runner.invoke(app, ["dead-letters", "discard", str(second)]).stdout == "1 discarded.\n"
    assert (
        runner.invoke(app, ["dead-letters", "replay", "--stage", "post_persistence"]).stdout
        == "1 sent back to their stage.\n"
    )
    assert runner.invoke(app, ["dead-letters", "list"]).stdout == "There are no dead letters.\n"
    unknown = runner.invoke(app, ["dead-letters", "show", str(third)])
    assert (unknown.exit_code, unknown.stderr) == (1, f"there is no dead letter {third}.\n")


def test_dead_letters_must_be_named(runner: CliRunner, database: dict[str, str]) -> None:
    add_dead_letters(database, 7)
    result = runner.invoke(app, ["dead-letters", "discard"])
    assert result.exit_code == 2
    assert "--stage" in result.stderr


def test_the_table_of_stages_is_printed_once_where_nobody_watches(
    runner: CliRunner, database: dict[str, str]
) -> None:
    async def work(assembled: App) -> None:
        await assembled.redis.xgroup_create(KEY, "post_persistence", id="0", mkstream=True)
        for number in range(3):
            await assembled.redis.xadd(KEY, {PAYLOAD: parsed_event(number + 1).model_dump_json()})

    prepare(database, work)
    result = runner.invoke(app, ["streams"])
    assert result.exit_code == 0
    line = next(line for line in result.stdout.splitlines() if "post_persistence" in line and "live" in line)
    assert [cell.strip() for cell in line.split("│")][3:5] == ["3", "0"]
    assert "ok" in line


def test_a_consumer_group_of_another_program_is_named_with_what_to_do(
    runner: CliRunner, database: dict[str, str]
) -> None:
    async def work(assembled: App) -> None:
        of_a_stage_that_is_off = stream_key(graph_indexing.consumes[0], Lane.LIVE)
        for stream, group in (
            (KEY, "post_persistence"),
            (of_a_stage_that_is_off, "graph_indexing"),
            (KEY, "old [workers]"),
        ):
            await assembled.redis.xgroup_create(stream, group, id="0", mkstream=True)

    prepare(database, work)
    output = runner.invoke(app, ["streams", "--once"]).stdout
    (line,) = [line for line in output.splitlines() if "old [workers]" in line]
    assert "belongs to no stage of this program" in line
    assert f"redis-cli XGROUP DESTROY {KEY} 'old [workers]'" in line
    assert json.loads(runner.invoke(app, ["streams", "--json"]).stdout)["unknown_groups"] == [
        {"stream": KEY, "group": "old [workers]"}
    ]
    checked = runner.invoke(app, ["doctor"]).stdout
    (line,) = [line for line in checked.splitlines() if "old [workers]" in line]
    assert line.startswith("! redis groups")
    prepare(database, nothing)
    assert (
        "belongs to no stage"
        not in runner.invoke(app, ["streams", "--once"]).stdout + runner.invoke(app, ["doctor"]).stdout
    )


async def nothing(_assembled: App) -> None:
    """Redis is empty, and stays so."""


def test_a_stopped_stage_is_shown_and_resumed(runner: CliRunner, database: dict[str, str]) -> None:
    async def work(assembled: App) -> None:
        await assembled.redis.set(stopped_key(post_persistence.name), "10 dead letters in a row")

    prepare(database, work)
    assert "stopped: 10 dead letters in a row" in runner.invoke(app, ["streams", "--once"]).stdout
    assert (
        runner.invoke(app, ["streams", "resume", "post_persistence"]).stdout
        == "post_persistence resumes within seconds.\n"
    )
    assert (
        runner.invoke(app, ["streams", "resume", "post_persistence"]).stdout
        == "post_persistence was not stopped.\n"
    )
    assert "There are: post_persistence" in runner.invoke(app, ["streams", "resume", "nothing"]).stderr


def test_refilling_announces_everything_again(runner: CliRunner, database: dict[str, str]) -> None:
    async def work(assembled: App) -> int:
        channel_id = await make_channel(assembled.system)
        await assembled.system.landing.land(make_page(make_post(channel_id=channel_id)), Claim(channel_id, 0))
        announced = 0

        async def publish(announcements: object) -> None:
            del announcements

        while some := await assembled.system.outbox.announce(Lane.LIVE, publish, limit=500):
            announced += some
        return announced

    count = prepare(database, work)
    output = runner.invoke(app, ["streams", "refill"]).stdout
    assert int(output.split()[0]) >= count > 0


def test_search_prints_the_posts_of_the_tenants_channels_only(
    runner: CliRunner, database: dict[str, str]
) -> None:
    tenant, other = f"A{fresh_number()}", f"B{fresh_number()}"

    async def work(assembled: App) -> ChannelId:
        tenant_id = (await assembled.system.tenants.ensure(tenant)).tenant_id
        await assembled.system.tenants.ensure(other)
        channel_id = await make_channel(assembled.system)
        await assembled.system.channels.subscribe(tenant_id, make_subscription(channel_id))
        post = make_post(channel_id=channel_id, message_id=5, text="Мосты разводят ночью [ремонт]")
        await assembled.system.landing.land(make_page(post), Claim(channel_id, 0))
        await post_persistence(
            [parsed_event(5, channel_id=channel_id)], **bind(post_persistence, assembled.collaborators)
        )
        return channel_id

    channel_id = prepare(database, work)
    result = runner.invoke(app, ["search", "мост", "ночь", "--tenant", tenant])
    assert result.exit_code == 0
    assert f"Channel {channel_id}" in result.stdout
    assert f"https://t.me/c/{channel_id}/5" in result.stdout
    assert "Мосты разводят ночью [ремонт]" in result.stdout
    nothing = runner.invoke(app, ["search", "мост", "--tenant", other])
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert "Nothing was found" in nothing.stderr
    assert "there is no tenant 'X'" in runner.invoke(app, ["search", "мост", "--tenant", "X"]).stderr
