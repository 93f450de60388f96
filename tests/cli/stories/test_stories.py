"""`tga stories`."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
from typer.testing import CliRunner

from telegram_assistant.assembly import App
from telegram_assistant.cli import app
from telegram_assistant.domain.ids import MessageId, PostId
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.stores.postgres.posts.landing import Claim
from testkit.factories import follow_long_ago, make_channel, make_page, make_post
from testkit.programs import tga
from testkit.stories import store_story
from tests.cli.channels.test_channels import make_tenant_name, run_in_app


def tell_story(tenant: str, database: dict[str, str]) -> list[PostId]:
    """Two channels of the tenant tell the same event, and a person may read it. Returns their posts."""
    posts, now = list[PostId](), datetime.now(UTC).replace(microsecond=0)

    async def tell(assembled: App) -> None:
        admin = await asyncpg.connect(database["DATABASE_ADMIN_URL"])
        known = await assembled.system.tenants.ensure(tenant)
        await assembled.system.users.join(known.tenant_id, f"anna of {tenant}")
        for number, title in enumerate(("Городские новости", "Harbour Lines")):
            channel_id = await make_channel(assembled.system, title=title)
            await follow_long_ago(assembled.system, admin, known.tenant_id, channel_id)
            post = make_post(
                channel_id=channel_id,
                text="Мост в Самаре закрыли для грузовиков до апреля. Осмотр опор нашёл 12 трещин.",
                posted_at=now - timedelta(minutes=9 - number),
            )
            await assembled.system.landing.land(make_page(post), Claim(channel_id, 0))
            posts.append(PostId(channel_id, MessageId(1)))
        await store_story(admin, posts, [(posts[1], posts[0], LinkKind.COPY, 9.0, False)])
        await admin.close()

    run_in_app(database, tell)
    return posts


def test_commands_about_stories_write_nothing_beside_their_answer(
    database: dict[str, str], tmp_path: Path
) -> None:
    tenant = make_tenant_name(database)
    post = tell_story(tenant, database)[0]
    commands = (("stories", str(post)), ("digest",), ("trends",))
    assert {
        tga(*command, "--tenant", tenant, environ=database, folder=tmp_path).stderr for command in commands
    } == {""}


def test_a_story_is_listed_once_and_shown_with_who_told_it_when(
    runner: CliRunner, database: dict[str, str]
) -> None:
    tenant = make_tenant_name(database)
    assert "No two of your channels" in runner.invoke(app, ["stories", "--tenant", tenant]).stdout
    posts = tell_story(tenant, database)
    listed = runner.invoke(app, ["stories", "--tenant", tenant]).stdout
    assert "Мост в Самаре закрыли для грузовиков до апреля" in listed
    assert "Городские новости, Harbour Lines" in listed
    assert listed.count("tga stories") == 1
    output = runner.invoke(
        app, ["stories", str(posts[1]), "--tenant", tenant], env={"NO_COLOR": "1", "COLUMNS": "200"}
    ).stdout
    assert "Осмотр опор нашёл 12 трещин." in output
    assert f"copy of {posts[0]}" in output
    assert runner.invoke(app, ["stories", "1/1", "--tenant", tenant]).exit_code != 0

    taken_out = runner.invoke(app, ["stories", str(posts[1]), "--take-out", "--tenant", tenant]).stdout
    assert "Городские новости" not in taken_out
    assert "No two of your channels" in runner.invoke(app, ["stories", "--tenant", tenant]).stdout
    back = runner.invoke(app, ["stories", str(posts[1]), "--put-back", "--tenant", tenant]).stdout
    assert "Городские новости" in back
    assert runner.invoke(app, ["stories", "--take-out", "--tenant", tenant]).exit_code != 0

    def interests(*words: str) -> str:
        done = runner.invoke(
            app, ["interests", *words, "--tenant", tenant], env={"NO_COLOR": "1", "COLUMNS": "200"}
        )
        return " ".join((done.stdout + done.stderr).split())

    assert "Learnt from it: Самара." in interests("more", str(posts[1]))
    assert "Самара +0.5 more “Мост в Самаре" in interests("list")
    assert "muted" in interests("mute", str(posts[0]))
    assert f"tga interests undo {posts[0]}" in interests("list")
    assert "Taken back: more, muted." in interests("undo", str(posts[0]))
    assert "There are no interests" in interests("list")
    assert "said nothing" in interests("undo", str(posts[0]))
    assert "Learnt from it: Самара." in interests("less", str(posts[0]))
    assert "no story" in interests("less", "1/1")
    assert "CHANNEL/MESSAGE" in interests("less", "--help")
