"""`tga today`: what is new for a person since their last visit."""

from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from telegram_assistant.api.endpoints.stories.today import PostTallyResponse, TodayResponse, get_today
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import console, zone_here
from telegram_assistant.cli.output import AsJson


def today(
    tenant: Annotated[str, typer.Option(help="Tenant that follows the channels.")] = "default",
    person: Annotated[str, typer.Option(help="Name of the person. Empty: the only one of the tenant.")] = "",
    folder: Annotated[
        str | None, typer.Option(help="Only stories with a post in a channel of this folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the stories since a person's last visit, and how much was read for them."""
    show_endpoint(
        lambda context: get_today(context, folder=folder),
        _print_today,
        as_json=as_json,
        tenant=tenant,
        person=person,
        needs_redis=False,
    )


def _print_today(response: TodayResponse) -> None:
    new_stories = [story for story in response.items if story.new_posts]
    console.print(
        Text(
            f"{_count(len(new_stories or response.items), 'story', 'stories')}, {_minutes(response.minutes)}"
        )
    )
    console.print(Text(_describe_tally(response.tally), style="dim"))
    if response.unread_alerts:
        console.print(
            Text(f"{_count(response.unread_alerts, 'new alert', 'new alerts')}: tga watches alerts")
        )
    console.print()
    if response.catch_up is not None and response.catch_up.items:
        away = _count(response.catch_up.days_away, "day", "days")
        ended_stories = _count(len(response.catch_up.items), "story", "stories")
        console.print(
            Text(f"{away} away: {ended_stories} ended, {_minutes(response.catch_up.minutes)}", style="bold")
        )
        for story in response.catch_up.items:
            console.print(Text(f"  {_when(story.last_posted_at)}  {story.headline or '(no text)'}"))
        console.print()
    for item in response.items:
        mark = f"  {_count(item.new_posts, 'new post', 'new posts')}" if item.new_posts else ""
        line = Text(f"{_when(item.last_posted_at)}  ").append(item.headline or "(no text)", style="bold")
        console.print(line.append(mark, style="green"))
        console.print(Text(f"  {', '.join(item.channels)}  tga stories {item.story_id}", style="dim"))
    ending = f" Next digest {_when(response.next_digest_at)}." if response.next_digest_at else ""
    console.print(Text(f"That is all.{ending}"))


def _describe_tally(tally: PostTallyResponse) -> str:
    if tally.is_partial:
        return f"More than {tally.posts:,} posts read for you."
    parts = [
        *([_count(tally.copies, "copy folded", "copies folded")] if tally.copies else []),
        *([_count(tally.ads, "ad left out", "ads left out")] if tally.ads else []),
    ]
    posts = _count(tally.posts, "post", "posts")
    return f"{posts} read for you{': ' if parts else ''}{', '.join(parts)}."


def _minutes(count: int) -> str:
    return _count(count, "minute", "minutes")


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def _when(moment: datetime) -> str:
    return f"{moment.astimezone(zone_here()):%Y-%m-%d %H:%M}"
