"""`tga watches`."""

from datetime import UTC, datetime, timedelta

from typer.testing import CliRunner

from telegram_assistant.assembly import App
from telegram_assistant.cli import app
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from testkit.factories import make_page, make_post, make_subscription
from tests.cli.channels.test_channels import make_known_channel, make_tenant_name, run_in_app


def test_a_watch_is_previewed_added_seen_paused_and_removed(
    runner: CliRunner, database: dict[str, str]
) -> None:
    name, tenant = make_known_channel(database), make_tenant_name(database)

    async def live(assembled: App) -> None:
        channel_id, known = (
            ChannelId(int(name.removeprefix("name"))),
            await assembled.system.tenants.ensure(tenant),
        )
        await assembled.system.channels.subscribe(known.tenant_id, make_subscription(channel_id))
        for number, at in enumerate(
            (datetime.now(UTC) - timedelta(days=1), datetime.now(UTC) + timedelta(seconds=5)), 1
        ):
            post = make_post(channel_id=channel_id, message_id=number, text="Снег идёт", posted_at=at)
            await assembled.system.landing.land(make_page(post), Claim(channel_id, 0))
            await assembled.system.posts.save_derived([Derived(post, 1, "ru", ())])
            await assembled.system.watch_matching.raise_alerts([Derived(post, 1, "ru", ())])

    def tga(*words: str) -> str:
        done = runner.invoke(app, ["watches", *words, "--tenant", tenant])
        return done.stdout + done.stderr

    assert "There are no watches" in tga("list")
    assert "looks at what happens from now on" in tga("add", "snow", "снег -дождь", "--quiet", "22:00-07:00")
    assert "already has this name" in tga("add", "snow", "снег")
    assert "write it like 22:00-07:00" in tga("add", "rain", "дождь", "--quiet", "night")
    run_in_app(database, live)
    assert "fired 2 times in the last 30 days" in tga("preview", "снег")
    assert f"https://t.me/{name}/2" in tga("alerts", "--unread")
    assert "seen: 1" in tga("seen")
    assert "no alerts" in tga("alerts", "--unread")
    watch_id = next(word for word in tga("list").split() if word.count("-") == 4)
    assert "is paused" in tga("pause", watch_id)
    assert "paused" in tga("list")
    assert "from now on" in tga("resume", watch_id)
    assert "is deleted" in tga("remove", watch_id)
    assert "no such watch" in tga("remove", watch_id)
