"""`tga digest plan`, `tga digest set-plan` and `tga interests`."""

from typer.testing import CliRunner

from telegram_assistant.assembly import App
from telegram_assistant.cli import app
from tests.cli.channels.test_channels import make_tenant_name, run_in_app


def test_a_person_chooses_when_digests_come_and_what_interests_them(
    runner: CliRunner, database: dict[str, str]
) -> None:
    tenant = make_tenant_name(database)

    async def join(assembled: App) -> None:
        known = await assembled.system.tenants.ensure(tenant)
        await assembled.system.users.join(known.tenant_id, f"anna of {tenant}")

    def tga(*words: str) -> str:
        done = runner.invoke(app, [*words, "--tenant", tenant])
        return " ".join((done.stdout + done.stderr).split())

    assert "name a person" in tga("digest", "plan")
    run_in_app(database, join)
    assert "No digests come" in tga("digest", "plan")
    assert "come at 08:00 (Europe/Moscow), on days 1, 5, 5 stories" in tga(
        "digest",
        "set-plan",
        "--at",
        "08:00",
        "--day",
        "1",
        "--day",
        "5",
        "--length",
        "short",
        "--zone",
        "Europe/Moscow",
    )
    assert "no such receiver" in tga(
        "digest", "set-plan", "--at", "08:00", "--receiver", "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f12"
    )
    assert "Digest of" in tga("digest", "--markdown") or "Дайджест" in tga("digest", "--markdown")
    assert "next digest" in tga("interests", "add", "мосты", "--weight", "2")
    assert "мосты +2.0 written down" in tga("interests", "list")
    assert "removed" in tga("interests", "remove", "мосты")
    assert "no such topic" in tga("interests", "remove", "мосты")
    assert "forgotten" in tga("interests", "reset")
