"""`tga stories`: what several channels tell of the same event."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.text import Text

from telegram_assistant.api.endpoints.stories.stories import (
    FullStoryResponse,
    StoriesResponse,
    get_story,
    list_stories,
)
from telegram_assistant.api.endpoints.stories.summaries import write_story_summary
from telegram_assistant.api.request_context import RequestContext
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.cli.wording import words_of as words_of_reason
from telegram_assistant.domain.ids import PostId
from telegram_assistant.features.stories.stories import (
    FullStory,
    ListedStory,
    StoryList,
    recent_stories,
    story_around,
)
from telegram_assistant.features.stories.telling import words_of
from telegram_assistant.features.stories.writing import SummaryWriter, offer_summary, write_summary
from telegram_assistant.features.understanding.spending import money_of
from telegram_assistant.stores.postgres.stores import TenantStores

MAX_NAMES = 4
WRITING_SECONDS = 60.0


def stories(
    story: Annotated[
        str | None,
        typer.Argument(help="Show one story in full: the id of any of its posts, CHANNEL/MESSAGE."),
    ] = None,
    tenant: Annotated[str, typer.Option(help="Tenant that follows the channels.")] = "default",
    folder: Annotated[
        str | None, typer.Option(help="Only stories with a post in a channel of this folder.")
    ] = None,
    days: Annotated[float, typer.Option(min=0, max=7, help="How many days back to look.")] = 3.0,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number of stories.")] = 20,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Let a provider sum up the story, if the owner has consented to one. It costs money.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List what at least two followed channels tell, the weightiest first; or show one story."""
    post_id = None if story is None else _post_id(story)

    async def answer(ask: RequestContext) -> StoriesResponse | FullStoryResponse:
        if post_id is not None:
            if write:
                await write_story_summary(ask, post_id.channel_id, post_id.message_id)
            return await get_story(ask, post_id.channel_id, post_id.message_id)
        return await list_stories(ask, since=ask.now - timedelta(days=days), folder=folder, limit=limit)

    if as_json:
        print_endpoint(answer, tenant=tenant)
        return

    async def look(app: App) -> tuple[StoryList | FullStory, ZoneInfo]:
        known = await tenant_named(app, tenant)
        stores, zone, now = (
            app.tenant(known.tenant_id),
            ZoneInfo(app.settings.telemetry.time_zone),
            datetime.now(UTC),
        )
        if post_id is not None:
            full = await story_around(post_id, stores=stores)
            return await _write(
                full, SummaryWriter(app.questions, known.tenant_id), stores
            ) if write else full, zone
        return await recent_stories(
            now - timedelta(days=days), stores=stores, now=now, folder=folder, limit=limit
        ), zone

    content, zone = with_app(look, needs_redis=False)
    if isinstance(content, FullStory):
        _show_full(content, zone)
        return
    if not content.stories:
        console.print(
            f"No two of your channels told the same in the last {days:g} days. Stories appear when they do."
        )
    for listed in content.stories:
        _show(listed, zone)


async def _write(full: FullStory, writer: SummaryWriter, stores: TenantStores) -> FullStory:
    """Says what it costs at most, and why nothing is written."""
    if full.written is None and (offer := await offer_summary(full.material, writer=writer)) is not None:
        complaints.print(
            f"{offer.model} is asked; it costs at most {money_of(offer.highest_micro)} {offer.unit}."
        )
    writing = await write_summary(
        full.material, writer=writer, stores=stores, patience_seconds=WRITING_SECONDS
    )
    if writing.fallback is not None:
        complaints.print(Text(words_of_reason(writing.fallback), style="yellow"))
    return replace(full, written=writing.written)


def _post_id(text: str) -> PostId:
    try:
        return PostId.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _show(listed: ListedStory, zone: ZoneInfo) -> None:
    story = listed.story
    console.print(Text(listed.telling.headline or "(no text)", style="bold"))
    names = [post.channel for post in story.first_of_channels]
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    console.print(Text(f"  {len(story.posts)} posts in {', '.join(names[:MAX_NAMES])}{more}"))
    first = f"  first seen {story.first.posted_at.astimezone(zone):%Y-%m-%d %H:%M} in {story.first.channel}"
    console.print(Text(f"{first}  tga stories {story.story_id}", style="dim"))
    console.print()


def _show_full(full: FullStory, zone: ZoneInfo) -> None:
    story = full.story
    console.print(Text(full.telling.headline or "(no text)", style="bold"))
    for sentence in full.written.sentences if full.written else ():
        console.print(
            Text(f"  {sentence.text} ").append(f"[{', '.join(map(str, sentence.posts))}]", style="dim")
        )
    if full.written is not None:
        checks = full.written.checks
        console.print(
            Text(
                f"  {full.written.model}: {len(checks.left_out)} sentences left out, "
                f"{checks.replaced} replaced\n",
                style="dim",
            )
        )
    for sentence in full.summary.known[1:] if full.summary else full.telling.sentences:
        console.print(
            Text(f"  {sentence.text} ").append(f"[{', '.join(map(str, sentence.posts))}]", style="dim")
        )
    for dispute in full.summary.disputed if full.summary else ():
        others = ", ".join(f"{other.number} ({len(other.posts)})" for other in dispute.others)
        console.print(
            Text(
                f"  disputed: {dispute.stands.number} ({len(dispute.stands.posts)} channels), "
                f"others say {others}",
                style="yellow",
            )
        )
    console.print()
    for post in story.posts:
        link = story.follows.get(post.post_id)
        line = Text(f"{post.posted_at.astimezone(zone):%Y-%m-%d %H:%M}  ").append(post.channel, style="bold")
        line.append(f"  {link.kind.value} of {link.other}" if link else "  in its own words", style="dim")
        line.append("  deleted", style="red") if post.deleted_at else line.append("")
        console.print(line.append(f"  {words_of(post)}"))
    if full.incomplete:
        names = ", ".join(incomplete.first.channel for incomplete in full.incomplete[:MAX_NAMES])
        console.print(
            Text(f"\nThe first that we have seen. Posts may still be missing from {names}.", style="yellow")
        )
