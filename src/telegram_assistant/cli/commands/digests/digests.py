"""`tga digest`: what changed in the channels of a tenant, story by story; when digests of people come,
and where.
"""

import os
from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

import typer
from rich.text import Text

from telegram_assistant.api.endpoints.digests.digests import get_digest, get_digest_plan
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_change
from telegram_assistant.cli.connected import member_named, tenant_named, with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson, AsMarkdown
from telegram_assistant.documents.telegram_markdown import write_messages
from telegram_assistant.domain.digests.digest import Digest
from telegram_assistant.domain.digests.plan import EVERY_DAY, DigestLength, DigestPlan
from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.features.digests import digests
from telegram_assistant.features.digests.composing import compose
from telegram_assistant.features.digests.document import digest_document
from telegram_assistant.translation import terminal_language

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Print what changed; say when digests of people come, and where.",
)

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant that follows the channels.")]
PersonName = Annotated[
    str, typer.Option("--person", help="Name of the person. Empty: the only one of the tenant.")
]


@app.callback(invoke_without_command=True)
def digest(
    context: typer.Context,
    tenant: TenantName = "default",
    hours: Annotated[int, typer.Option(min=1, max=168, help="How many hours back it reaches.")] = 24,
    length: Annotated[
        DigestLength, typer.Option(help="short: 5 stories. normal: 12. long: 25.")
    ] = DigestLength.NORMAL,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Print a digest of the last hours: stories, what they say, and which posts say it."""
    if context.invoked_subcommand is not None:
        return
    if as_json:
        print_endpoint(
            lambda context: get_digest(context, since=context.now - timedelta(hours=hours), length=length),
            tenant=tenant,
        )
        return

    async def look(app: App) -> tuple[Digest, ZoneInfo, dict[ChannelId, str | None]]:
        known = await tenant_named(app, tenant)
        stores, now = app.tenant(known.tenant_id), datetime.now(UTC)
        made = await compose(now - timedelta(hours=hours), stores=stores, now=now, length=length)
        names = (
            {channel.channel_id: channel.username for channel in await stores.followed.channels()}
            if as_markdown
            else {}
        )
        return made, ZoneInfo(app.settings.telemetry.time_zone), names

    made, zone, names = with_app(look, needs_redis=False)
    if as_markdown:
        _print_messages(made, zone, names)
        return
    if not made.stories:
        console.print(f"No story of two or more channels in the last {hours} hours.")
    for story in made.stories:
        head = Text(story.headline, style="bold")
        head.append(f"  {story.first_posted_at.astimezone(zone):%Y-%m-%d %H:%M}", style="not bold dim")
        console.print(head)
        for sentence in story.sentences:
            console.print(
                Text(f"  {sentence.text}  ").append(
                    " ".join(str(post) for post in sentence.posts[:3]), style="blue"
                )
            )
        console.print(Text(f"  {', '.join(story.channels)}", style="dim"))
    if made.beyond:
        console.print(f"{made.beyond} more of less weight: --length long shows more.")


def _print_messages(made: Digest, zone: ZoneInfo, names: dict[ChannelId, str | None]) -> None:
    def link(post_id: PostId) -> str:
        return link_to(post_id, names.get(post_id.channel_id))

    document = digest_document(
        made, language=terminal_language(os.environ), zone=zone, story_link=link, post_link=link
    )
    typer.echo("\n\n".join(write_messages(document)))


@app.command()
def plan(person: PersonName = "", tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """Show when the digests of a person come, and which receivers get them."""
    if as_json:
        print_endpoint(get_digest_plan, tenant=tenant, person=person)
        return

    async def look(assembled: App) -> tuple[DigestPlan, dict[UUID, str]]:
        known = await tenant_named(assembled, tenant)
        member = await member_named(assembled, known, person)
        names = {
            receiver.receiver_id: receiver.name
            for receiver in await assembled.tenant(known.tenant_id).receivers.all()
        }
        return await assembled.person(known.tenant_id, member.user_id).digests.plan(), names

    chosen, names = with_app(look, needs_redis=False)
    _show_plan(chosen, names)


@app.command("set-plan")
def set_plan(
    person: PersonName = "",
    tenant: TenantName = "default",
    at: Annotated[
        list[str] | None,
        typer.Option(help="Time of day, like 08:00; several are possible. Without any, no digests come."),
    ] = None,
    day: Annotated[
        list[int] | None,
        typer.Option(min=1, max=7, help="Day of the week, 1 is Monday; several are possible. Default: all."),
    ] = None,
    length: Annotated[
        DigestLength, typer.Option(help="short: 5 stories. normal: 12. long: 25.")
    ] = DigestLength.NORMAL,
    zone: Annotated[str, typer.Option(help="Time zone of the times. Default: TZ.")] = "",
    receiver: Annotated[
        list[UUID] | None, typer.Option(help="Id of a receiver that gets the digests; several are possible.")
    ] = None,
) -> None:
    """Say when the digests of a person come, and which receivers get them."""

    async def choose(assembled: App) -> tuple[DigestPlan, dict[UUID, str]]:
        known = await tenant_named(assembled, tenant)
        member, stores = await member_named(assembled, known, person), assembled.tenant(known.tenant_id)
        chosen = await digests.set_plan(
            at or (),
            [str(weekday) for weekday in day or sorted(EVERY_DAY)],
            length,
            zone=zone or assembled.settings.telemetry.time_zone,
            stores=stores,
            digests=assembled.person(known.tenant_id, member.user_id).digests,
            receivers=receiver or (),
        )
        await record_change(
            assembled,
            known.tenant_id,
            "set_digest_plan",
            "/digest/plan",
            person=member.name,
            receivers=len(chosen.receivers),
        )
        return chosen, {receiver.receiver_id: receiver.name for receiver in await stores.receivers.all()}

    _show_plan(*with_app(choose))


def _show_plan(chosen: DigestPlan, names: dict[UUID, str]) -> None:
    if not chosen.times:
        console.print("No digests come. Choose times with: tga digest set-plan --at 08:00")
        return
    days = (
        "every day"
        if chosen.weekdays == EVERY_DAY
        else "on days " + ", ".join(map(str, sorted(chosen.weekdays)))
    )
    times = ", ".join(f"{time:%H:%M}" for time in chosen.times)
    console.print(
        f"Digests come at {times} ({chosen.zone}), {days}, {chosen.length.stories} stories at most."
    )
    receivers = ", ".join(names[receiver] for receiver in chosen.receivers if receiver in names)
    console.print(
        Text(f"They wait on the page and go to {receivers}." if receivers else "They wait on the page.")
    )
