"""`tga search`."""

import asyncio
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from typer.testing import CliRunner, Result

from telegram_assistant.cli import app
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import fresh_number, make_channel, make_page, make_post, make_subscription
from testkit.models import MINILM
from testkit.stories import store_story
from tests.ai.conftest import minilm
from tests.conftest import Admin
from tests.vectors.indexed import index_of, open_with_vectors, vectors_in

__all__ = ["minilm"]


async def make_reader(system: SystemStores, *texts: str) -> tuple[str, int]:
    name, channel_id = (
        f"tenant {fresh_number()}",
        await make_channel(system, username=f"gorod_{fresh_number()}"),
    )
    tenant = await system.tenants.ensure(name)
    await system.channels.subscribe(tenant.tenant_id, make_subscription(channel_id))
    moment = datetime(2026, 11, 1, 12, tzinfo=UTC)
    posts = [
        make_post(channel_id=channel_id, message_id=1 + place, text=text, posted_at=moment)
        for place, text in enumerate(texts)
    ]
    await system.landing.land(make_page(*posts), Claim(channel_id, 0))
    await system.posts.save_derived([Derived(post, 1, "ru", ()) for post in posts])
    return name, channel_id


async def call(runner: CliRunner, arguments: list[str], **environ: str) -> Result:
    """A command has a loop of its own."""
    return await asyncio.to_thread(runner.invoke, app, arguments, env=environ)


async def test_posts_are_shown_with_where_they_are_and_what_was_counted(
    system: SystemStores, runner: CliRunner
) -> None:
    text = "В парке [b]выпал[/b] первый снег, 12 ноября его уберут"
    name, channel_id = await make_reader(system, text, text, "Дождь")
    result = await call(runner, ["search", "снега", "--tenant", name], TZ="Europe/Moscow")
    assert result.exit_code == 0
    assert f"Channel {channel_id}  2026-11-01 15:00  https://t.me/gorod_" in result.stdout
    assert "and 1 more like it" in result.stdout
    assert text in result.stdout
    assert f"2 posts; channels: Channel {channel_id} 2 · languages: ru 2 · days: 01.11 2" in result.stdout
    assert "search by words only: search by meaning is switched off" in result.stderr


async def test_a_story_is_shown_once_and_flat_shows_every_post(
    system: SystemStores, runner: CliRunner, admin: Admin
) -> None:
    name, channel_id = await make_reader(system, "Снег остановил трамваи", "Трамваи стоят: снег")
    first, second = (PostId(ChannelId(channel_id), MessageId(number)) for number in (1, 2))
    await store_story(admin, [first, second], [(second, first, LinkKind.REWRITE, 3.0, False)])
    result = await call(runner, ["search", "снег", "--tenant", name])
    assert f"and 1 more post of this story: Channel {channel_id}; tga stories {first}" in " ".join(
        result.stdout.split()
    )
    assert result.stdout.count("https://t.me/gorod_") == 1
    flat = await call(runner, ["search", "снег", "--tenant", name, "--flat"])
    assert flat.stdout.count("https://t.me/gorod_") == 2


async def test_words_are_found_while_redis_is_away(system: SystemStores, runner: CliRunner) -> None:
    name, _ = await make_reader(system, "Первый снег")
    result = await call(runner, ["search", "снег", "--tenant", name], REDIS_URL="redis://127.0.0.1:1/0")
    assert (result.exit_code, "Первый снег" in result.stdout) == (0, True), result.stderr


def test_what_a_search_does_not_use_is_not_loaded(environ: dict[str, str]) -> None:
    """Half of the time of a command is spent importing."""
    start = (
        "import sys; from telegram_assistant.cli import main; sys.argv[1:] = ['search', 'snow', '--tenant', "
        "'nobody']"
    )
    seen = "print([name for name in ('fastapi', 'neo4j', 'telethon', 'onnxruntime') if name in sys.modules])"
    program = f"import atexit; {start}; atexit.register(lambda: {seen}); main()"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False, timeout=60
    )
    assert "there is no tenant 'nobody'" in done.stderr
    assert done.stdout == "[]\n"


async def test_programs_get_json(system: SystemStores, runner: CliRunner) -> None:
    name, channel_id = await make_reader(system, "Первый снег")
    result = await call(runner, ["search", f"снег from:{channel_id}", "--tenant", name, "--json"])
    answer = json.loads(result.stdout)
    assert answer["query"] == f"снег from:{channel_id}"
    assert answer["items"][0]["snippet"] == {
        "text": "Первый снег",
        "marks": [[7, 11]],
        "is_cut_before": False,
        "is_cut_after": False,
    }
    assert answer["words_only"] == "off"


async def test_the_next_page_is_asked_for_with_the_cursor(system: SystemStores, runner: CliRunner) -> None:
    name, _ = await make_reader(system, "Снег в Казани", "Снег в Самаре")
    first = await call(runner, ["search", "снег", "--tenant", name, "--limit", "1"])
    cursor = first.stderr.split("--cursor ")[1].strip()
    second = await call(runner, ["search", "снег", "--tenant", name, "--limit", "1", "--cursor", cursor])
    assert "Казани" in first.stdout
    assert "Самаре" in second.stdout


async def test_what_cannot_be_found_or_understood_is_told_with_what_to_do(
    system: SystemStores, runner: CliRunner
) -> None:
    name, _ = await make_reader(system, "Снег")
    nothing = await call(runner, ["search", "дождь", "--tenant", name])
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert "Try fewer or other words" in nothing.stderr
    wrong = await call(runner, ["search", "has:cats", "--tenant", name])
    assert wrong.exit_code == 1
    assert "write has:image" in wrong.stderr
    nobody = await call(runner, ["search", "снег", "--tenant", "nobody at all"])
    assert "there is no tenant" in nobody.stderr


async def test_a_word_that_is_left_out_may_come_first(system: SystemStores, runner: CliRunner) -> None:
    name, _ = await make_reader(system, "Снег в Казани", "Снег и hail в Самаре")
    for words in (["-Казань", "снег"], ["-казань снег"], ["снег", "-казани"]):
        result = await call(runner, ["search", *words, "--tenant", name])
        assert result.exit_code == 0, result.stderr
        assert "Самаре" in result.stdout
        assert "Казани" not in result.stdout
    assert "Самаре" not in (await call(runner, ["search", "-hail", "снег", "--tenant", name])).stdout
    mistyped = await call(runner, ["search", "снег", "--tenatn", name])
    assert mistyped.exit_code == 2
    assert "there is no option --tenatn" in mistyped.stderr


async def test_meaning_is_asked_of_the_process_that_has_the_vectors(
    database: dict[str, str], system: SystemStores, runner: CliRunner, minilm: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "vectors"
    async with open_with_vectors(database, models=minilm, folder=folder) as running:
        name, channel_id = await make_reader(system, "A kitten sleeps on the sofa")
        await index_of(running).write([PostId(ChannelId(channel_id), MessageId(1))])
        variables = {"MODELS_DIR": str(minilm), "AI_EMBEDDINGS_MODEL": MINILM, **vectors_in(folder)}
        result = await call(runner, ["search", "cat", "--tenant", name], **variables)
    assert "A kitten sleeps on the sofa" in result.stdout
    assert "only words" not in result.stderr
