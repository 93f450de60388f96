"""`tga digest`: what changed in the channels of a tenant, story by story; when digests of people come,
and where.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

import typer
from rich.text import Text

from telegram_assistant.api.endpoints.digests.digests import (
    DigestPlanResponse,
    get_digest,
    get_digest_plan,
    plan_response,
)
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_change
from telegram_assistant.cli.connected import member_named, tenant_named, with_app
from telegram_assistant.cli.endpoints import context_for, show_endpoint
from telegram_assistant.cli.environment import console, zone_here
from telegram_assistant.cli.output import AsJson, AsMarkdown, show_value
from telegram_assistant.cli.wording import language_here
from telegram_assistant.documents.telegram_markdown import write_messages
from telegram_assistant.domain.digests.digest import Digest
from telegram_assistant.domain.digests.plan import EVERY_DAY, DigestLength, parse_plan
from telegram_assistant.domain.digests.sections import has_folders, sections_of
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.features.channels.channels import all_followed
from telegram_assistant.features.digests import digests
from telegram_assistant.features.digests.composing import compose
from telegram_assistant.features.digests.digest_response import DigestResponse, DigestStoryResponse
from telegram_assistant.features.digests.document import digest_document
from telegram_assistant.features.receivers.receivers import list_receivers
from telegram_assistant.stores.postgres.channels.channels import FollowedChannel
from telegram_assistant.stores.postgres.stores import TenantStores

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
    if as_markdown:
        _print_messages(tenant, hours, length)
        return
    show_endpoint(
        lambda context: get_digest(context, since=context.now - timedelta(hours=hours), length=length),
        partial(_print_digest, hours=hours),
        as_json=as_json,
        tenant=tenant,
        needs_redis=False,
    )


def _print_digest(digest_response: DigestResponse, *, hours: int) -> None:
    zone = zone_here()
    if not digest_response.items:
        console.print(f"No story of two or more channels in the last {hours} hours.")
    sections = sections_of(digest_response.items, lambda story: story.folder)
    for section in sections:
        if has_folders(sections):
            console.print(Text(section.folder or "Other channels", style="bold underline"))
        for story in section.entries:
            _print_story(story, zone)
    if digest_response.items:
        console.print(f"{digest_response.minutes} min to read.")
    if digest_response.more_count:
        console.print(f"{digest_response.more_count} more of less weight: --length long shows more.")


def _print_story(story: DigestStoryResponse, zone: ZoneInfo) -> None:
    heading = Text(story.headline, style="bold")
    heading.append(f"  {story.first_posted_at.astimezone(zone):%Y-%m-%d %H:%M}", style="not bold dim")
    console.print(heading)
    if story.before:
        console.print(Text(f"  before: {story.before}", style="dim"))
    for sentence in story.sentences:
        console.print(Text(f"  {sentence.text}  ").append(" ".join(sentence.post_ids[:3]), style="blue"))
    console.print(Text(f"  {', '.join(story.channels)}", style="dim"))


def _print_messages(tenant: str, hours: int, length: DigestLength) -> None:
    async def look(assembled: App) -> tuple[Digest, tuple[FollowedChannel, ...]]:
        chosen_tenant = await tenant_named(assembled, tenant)
        stores, now = assembled.tenant(chosen_tenant.tenant_id), datetime.now(UTC)
        composed_digest = await compose(now - timedelta(hours=hours), stores=stores, now=now, length=length)
        return composed_digest, await all_followed(followed=stores.followed)

    composed_digest, channels = with_app(look, needs_redis=False)
    names = {channel.channel_id: channel.username for channel in channels}

    def link(post_id: PostId) -> str:
        return link_to(post_id, names.get(post_id.channel_id))

    document = digest_document(
        composed_digest, language=language_here(), zone=zone_here(), story_link=link, post_link=link
    )
    typer.echo("\n\n".join(write_messages(document)))


@app.command()
def plan(person: PersonName = "", tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """Show when the digests of a person come, and which receivers get them."""

    async def look(assembled: App) -> tuple[DigestPlanResponse, dict[UUID, str]]:
        context = await context_for(assembled, tenant, person=person)
        return await get_digest_plan(context), await _receiver_names(context.stores)

    chosen_response, names = with_app(look, needs_redis=False)
    show_value(chosen_response, partial(_print_plan, names=names), as_json=as_json)


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

    async def choose(assembled: App) -> tuple[DigestPlanResponse, dict[UUID, str]]:
        chosen_tenant = await tenant_named(assembled, tenant)
        member, stores = (
            await member_named(assembled, chosen_tenant, person),
            assembled.tenant(chosen_tenant.tenant_id),
        )
        typed_plan = parse_plan(
            at or (),
            weekdays=day or EVERY_DAY,
            length=length,
            zone=zone or assembled.settings.telemetry.time_zone,
            receivers=receiver or (),
        )
        own = assembled.person(chosen_tenant.tenant_id, member.user_id)
        saved_plan = await digests.set_plan(typed_plan, stores=stores, digests=own.digests)
        await record_change(
            assembled,
            chosen_tenant.tenant_id,
            "set_digest_plan",
            "/digest/plan",
            person=member.name,
            receivers=len(saved_plan.receivers),
        )
        return plan_response(saved_plan), await _receiver_names(stores)

    saved_plan, names = with_app(choose)
    _print_plan(saved_plan, names=names)


async def _receiver_names(stores: TenantStores) -> dict[UUID, str]:
    return {receiver.receiver_id: receiver.name for receiver in await list_receivers(stores=stores)}


def _print_plan(plan_response: DigestPlanResponse, *, names: Mapping[UUID, str]) -> None:
    if not plan_response.times:
        console.print("No digests come. Choose times with: tga digest set-plan --at 08:00")
        return
    days = (
        "every day"
        if EVERY_DAY.issubset(plan_response.weekdays)
        else "on days " + ", ".join(map(str, plan_response.weekdays))
    )
    console.print(
        f"Digests come at {', '.join(plan_response.times)} ({plan_response.zone}), {days}, "
        f"{plan_response.length.stories} stories at most."
    )
    receivers = ", ".join(
        names[receiver_id] for receiver_id in plan_response.receivers if receiver_id in names
    )
    console.print(
        Text(f"They wait on the page and go to {receivers}." if receivers else "They wait on the page.")
    )
