"""`tga lists`."""

from datetime import UTC, datetime

from typer.testing import CliRunner

from telegram_assistant.assembly import App
from telegram_assistant.cli import app
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.stores.postgres.posts.landing import Claim
from testkit.factories import make_page, make_post, make_subscription
from tests.cli.channels.test_channels import make_known_channel, make_tenant_name, run_in_app


def test_a_list_is_begun_filled_noted_ordered_and_deleted(
    runner: CliRunner, database: dict[str, str]
) -> None:
    name, tenant = make_known_channel(database), make_tenant_name(database)
    channel_id = ChannelId(int(name.removeprefix("name")))

    async def live(assembled: App) -> None:
        known = await assembled.system.tenants.ensure(tenant)
        await assembled.system.channels.subscribe(known.tenant_id, make_subscription(channel_id))
        posts = [
            make_post(
                channel_id=channel_id, message_id=number, text=f"Snow {number}", posted_at=datetime.now(UTC)
            )
            for number in (1, 2)
        ]
        await assembled.system.landing.land(make_page(*posts), Claim(channel_id, 0))

    def tga(*words: str) -> str:
        done = runner.invoke(app, ["lists", *words, "--tenant", tenant])
        return done.stdout + done.stderr

    def id_in(output: str) -> str:
        return next(word for word in output.split() if word.count("-") == 4)

    run_in_app(database, live)
    assert "There are no lists" in tga("list")
    list_id = id_in(tga("create", "Snow"))
    assert "another list has this name" in tga("create", "Snow")
    first = id_in(tga("add", list_id, f"{channel_id}/1", "--note", "ask them"))
    assert "on the list" in tga("add", list_id, f"{channel_id}/2")
    assert "no such post or story" in tga("add", list_id, f"{channel_id}/9")
    assert "is moved" in tga("move", list_id, first, "2")
    page = tga("show", list_id)
    assert page.index("Snow 2") < page.index("Snow 1") < page.index("ask them")
    assert "is written" in tga("note", list_id, first, "they answered")
    assert "off the list" in tga("remove", list_id, first)
    assert "Snow 1" not in tga("show", list_id)
    assert "is back" in tga("restore", list_id, first)
    assert "they answered" in tga("show", list_id)
    assert "renamed" in tga("rename", list_id, "Winter")
    assert "Winter" in tga("list")
    assert "is deleted" in tga("delete", list_id)
    assert "no such list" in tga("show", list_id)
