"""`tga digest`: what changed in the channels of a tenant, story by story."""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.text import Text

from telegram_assistant.api.endpoints.stories.digest import get_digest
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.domain.people.digest import Digest
from telegram_assistant.domain.people.digest_plan import DigestLength
from telegram_assistant.features.digests.composing import compose


def digest(
    tenant: Annotated[str, typer.Option(help="Tenant that follows the channels.")] = "default",
    hours: Annotated[int, typer.Option(min=1, max=168, help="How many hours back it reaches.")] = 24,
    length: Annotated[DigestLength, typer.Option(help="short: 5 stories. normal: 12. long: 25.")] = DigestLength.NORMAL,
    as_json: AsJson = False,
) -> None:
    """Print a digest of the last hours: stories, what they say, and which posts say it."""
    if as_json:
        print_endpoint(lambda context: get_digest(context, since=context.now - timedelta(hours=hours), length=length), tenant=tenant)
        return

    async def look(app: App) -> tuple[Digest, ZoneInfo]:
        known = await tenant_named(app, tenant)
        now = datetime.now(UTC)
        made = await compose(now - timedelta(hours=hours), stores=app.tenant(known.tenant_id), now=now, length=length)
        return made, ZoneInfo(app.settings.telemetry.time_zone)

    made, zone = with_app(look, needs_redis=False)
    if not made.stories:
        console.print(f"No story of two or more channels in the last {hours} hours.")
    for story in made.stories:
        head = Text(story.headline, style="bold")
        head.append(f"  {story.first_posted_at.astimezone(zone):%Y-%m-%d %H:%M}", style="not bold dim")
        console.print(head)
        for one in story.sentences:
            console.print(Text(f"  {one.text}  ").append(" ".join(str(post) for post in one.posts[:3]), style="blue"))
        console.print(Text(f"  {', '.join(story.channels)}", style="dim"))
    if made.beyond:
        console.print(f"{made.beyond} more of less weight: --length long shows more.")
