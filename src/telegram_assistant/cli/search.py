"""`tga search`: find posts by words."""

from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.markup import escape

from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.errors import Rejected
from telegram_assistant.features.search import Found, find


def search(
    words: Annotated[list[str], typer.Argument(help='Words as you would write them; "a phrase", or, -without.')],
    tenant: Annotated[str, typer.Option(help="Whose channels.")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 20,
) -> None:
    """Find posts by words, newest first, among the channels that a tenant follows."""

    async def look(app: App) -> tuple[tuple[Found, ...], ZoneInfo]:
        known = await app.system.tenants.by_name(tenant)
        if known is None:
            raise Rejected(f"there is no tenant {tenant!r}")
        return await find(" ".join(words), stores=app.tenant(known.tenant_id), limit=limit), ZoneInfo(app.settings.telemetry.time_zone)

    found, zone = with_app(look)
    for one in found:
        moment = one.stored.post.posted_at.astimezone(zone)
        console.print(f"[bold]{escape(one.channel)}[/]  {moment:%Y-%m-%d %H:%M}  [blue]{one.link}[/]")
        console.print(f"{escape(one.stored.post.text.strip())}\n")
    if not found:
        complaints.print("Nothing was found. Try fewer words, or other forms of them.")
        raise typer.Exit(1)
