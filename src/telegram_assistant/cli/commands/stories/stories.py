"""`tga stories`: what several channels tell of the same event."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Annotated

import typer
from rich.text import Text

from telegram_assistant.api.endpoints.sharing import export_story
from telegram_assistant.api.endpoints.stories.stories import (
    FullStoryResponse,
    StoriesResponse,
    StoryPostResponse,
    StoryResponse,
    full_response,
    list_stories,
)
from telegram_assistant.api.request_context import RequestContext
from telegram_assistant.api.story_summaries import (
    CitedSentenceResponse,
    StorySummaryResponse,
    WordedSentenceResponse,
)
from telegram_assistant.cli.auditing import record_change
from telegram_assistant.cli.commands.sharing import print_copy
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import complaints, console, zone_here
from telegram_assistant.cli.output import AsJson
from telegram_assistant.cli.wording import say_here
from telegram_assistant.domain.channels.coverage import CoverageState
from telegram_assistant.domain.ids import PostId
from telegram_assistant.features.sharing.formats import ShareFormat
from telegram_assistant.features.stories.stories import FullStory, put_back, story_around, take_out
from telegram_assistant.features.stories.telling import first_sentence
from telegram_assistant.features.stories.writing import SummaryWriter, offer_summary, write_summary
from telegram_assistant.features.understanding.spending import money_of

MAX_NAMES = 4
WRITING_SECONDS = 60.0


def stories(  # noqa: PLR0913, PLR0917 -- its options
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
    apart: Annotated[
        bool | None,
        typer.Option(
            "--take-out/--put-back",
            help="Take this post out of its story for the whole tenant, or let it join the story again.",
        ),
    ] = None,
    copy_as: Annotated[
        ShareFormat | None,
        typer.Option("--as", help="Print the story as a copy with its sources: text, markdown, csv or json."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what at least two followed channels tell, the weightiest first; or show one story."""
    post_id = None if story is None else _post_id(story)
    if apart is not None and post_id is None:
        raise typer.BadParameter("name the post that is taken out or put back")
    if copy_as is not None:
        if post_id is None:
            raise typer.BadParameter("name a post of the story that is copied")
        print_copy(lambda context: export_story(context, *post_id, share_format=copy_as), tenant=tenant)
        return

    if post_id is None:
        show_endpoint(
            lambda context: list_stories(
                context, since=context.now - timedelta(days=days), folder=folder, limit=limit
            ),
            partial(_print_stories, days=days),
            as_json=as_json,
            tenant=tenant,
            needs_redis=False,
        )
        return

    async def look(context: RequestContext) -> FullStoryResponse:
        if apart is not None:
            await (take_out if apart else put_back)(post_id, stores=context.stores)
            action = "take_post_out" if apart else "put_post_back"
            await record_change(context.app, context.caller.tenant_id, action, str(post_id))
        full_story = await story_around(post_id, stores=context.stores)
        return full_response(await _write(full_story, context) if write else full_story, context.translate)

    show_endpoint(look, _print_story, as_json=as_json, tenant=tenant, needs_redis=False)


async def _write(full: FullStory, context: RequestContext) -> FullStory:
    """Says what it costs at most, and why nothing is written."""
    writer = SummaryWriter(context.app.questions, context.caller.tenant_id)
    if full.written is None and (offer := await offer_summary(full.material, writer=writer)) is not None:
        complaints.print(
            f"{offer.model} is asked; it costs at most {money_of(offer.highest_micro)} {offer.unit}."
        )
    writing = await write_summary(
        full.material, writer=writer, stores=context.stores, patience_seconds=WRITING_SECONDS
    )
    if writing.fallback is not None:
        complaints.print(Text(say_here(writing.fallback), style="yellow"))
    return replace(full, written=writing.written)


def _post_id(text: str) -> PostId:
    try:
        return PostId.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _headline(story: StoryResponse) -> Text:
    """After one word for what became of the story, if its posts say so."""
    state = f"[{story.state.replace('_', ' ')}] " if story.state else ""
    return Text.assemble((state, "green"), (story.headline or "(no text)", "bold"))


def _print_stories(stories_response: StoriesResponse, *, days: float) -> None:
    zone = zone_here()
    if not stories_response.items:
        console.print(
            f"No two of your channels told the same in the last {days:g} days. Stories appear when they do."
        )
    for story in stories_response.items:
        console.print(_headline(story))
        if story.state_at is not None:
            change_note = (
                f"  changed {story.state_at.astimezone(zone):%Y-%m-%d %H:%M}; before: {story.before}"
            )
            console.print(Text(change_note, style="dim"))
        names = story.channels
        more_channels = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        console.print(Text(f"  {story.posts} posts in {', '.join(names[:MAX_NAMES])}{more_channels}"))
        first_seen_text = (
            f"  first seen {story.first_posted_at.astimezone(zone):%Y-%m-%d %H:%M} in {names[0]}"
        )
        console.print(Text(f"{first_seen_text}  tga stories {story.story_id}", style="dim"))
        console.print()


def _print_story(full: FullStoryResponse) -> None:
    console.print(_headline(full.story))
    if full.written is not None:
        _print_sentences(full.written.sentences, story=full.story)
        console.print(
            Text(
                f"  {full.written.model}: {len(full.written.rejected_reasons)} sentences left out, "
                f"{full.written.replaced_count} replaced\n",
                style="dim",
            )
        )
    if full.summary is not None:
        _print_state(full.summary)
    _print_sentences(
        full.summary.in_own_words[1:] if full.summary else full.story.sentences, story=full.story
    )
    for dispute in full.summary.disputed if full.summary else ():
        other_numbers = ", ".join(f"{other.number} ({len(other.post_ids)})" for other in dispute.others)
        console.print(
            Text(
                f"  disputed: {dispute.stands.number} ({len(dispute.stands.post_ids)} channels), "
                f"others say {other_numbers}",
                style="yellow",
            )
        )
    console.print()
    _print_posts(full.posts)
    incomplete = [source for source in full.sources if source.coverage is not CoverageState.COMPLETE]
    if incomplete:
        names = ", ".join(source.channel for source in incomplete[:MAX_NAMES])
        console.print(
            Text(f"\nThe first that we have seen. Posts may still be missing from {names}.", style="yellow")
        )


def _print_state(summary: StorySummaryResponse) -> None:
    zone = zone_here()
    if summary.state_at is not None and summary.before is not None:
        state = summary.in_own_words[0].text
        console.print(Text(f"  {summary.state_at.astimezone(zone):%Y-%m-%d %H:%M}  {state}", style="green"))
        console.print(Text(f"  before: {summary.before.text}", style="dim"))
    if (latest := summary.latest) is not None:
        latest_at = f"{latest.posted_at.astimezone(zone):%Y-%m-%d %H:%M}"
        console.print(Text(f"  latest ({latest_at}, {latest.channel}): {latest.text}", style="green"))


def _print_sentences(sentences: Sequence[CitedSentenceResponse], *, story: StoryResponse) -> None:
    for sentence in sentences:
        support = _describe_support(sentence, language_count=len(story.languages))
        console.print(
            Text(f"  {sentence.text} ").append(f"[{', '.join(sentence.post_ids)}]{support}", style="dim")
        )


def _describe_support(sentence: CitedSentenceResponse, *, language_count: int) -> str:
    """Posts in other languages are not compared with a sentence, so nothing is said of them."""
    if not isinstance(sentence, WordedSentenceResponse):
        return ""
    repeated_count = len(sentence.post_ids) - sentence.wordings
    if sentence.wordings > 1:
        source = f", all after {sentence.source}" if sentence.source else ""
        repeats = f", {repeated_count} repeat" if repeated_count else ""
        return f" {sentence.wordings} in their own words{source}{repeats}"
    if repeated_count:
        return f" one wording, {repeated_count} repeat it"
    return " one channel in its language so far" if language_count > 1 else " one channel so far"


def _print_posts(posts: Sequence[StoryPostResponse]) -> None:
    zone = zone_here()
    for post in posts:
        line = Text(f"{post.posted_at.astimezone(zone):%Y-%m-%d %H:%M}  ").append(post.channel, style="bold")
        line.append(
            f"  {post.how.value} of {post.follows}" if post.how else "  in its own words", style="dim"
        )
        line.append("  deleted", style="red") if post.deleted_at else line.append("")
        console.print(line.append(f"  {first_sentence(post.text)}"))
