"""`tga search`: search posts by words and meaning."""

from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.text import Span, Text

from telegram_assistant.assembly import App, open_meaning_search
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.cli.output import AsJson, print_json
from telegram_assistant.cli.wording import words_of
from telegram_assistant.domain.search.facets import Facet, Facets
from telegram_assistant.domain.search.query import SearchOrder
from telegram_assistant.domain.search.snippets import Snippet
from telegram_assistant.features.search.results import FoundStory, SearchPage, SearchResult
from telegram_assistant.features.search.search import search as find

SHOWN_VALUES = 5
MARK = "bold yellow"


def search(
    words: Annotated[
        list[str],
        typer.Argument(
            help="The query. Quote a phrase twice: '\"a phrase\"'. -word excludes posts with that word."
        ),
    ],
    tenant: Annotated[str, typer.Option(help="Tenant that follows the channels.")] = "default",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of results.")] = 20,
    cursor: Annotated[
        str | None, typer.Option(help="Cursor of the next page, printed at the end of the previous page.")
    ] = None,
    by_story: Annotated[
        bool, typer.Option("--by-story/--flat", help="Show a story once, or every post that matches.")
    ] = True,
    order: Annotated[SearchOrder, typer.Option(help="Which results come first.")] = SearchOrder.BEST,
    as_json: AsJson = False,
) -> None:
    """Search the posts of a tenant's channels by words and meaning.

    Words match in any form. Operators: "a phrase", -without, or. Filters: from:@channel
    has:image|video|link|file lang:ru tag:NAME kind:news since:2026-11-01 until:yesterday on:2026-11
    after:2026-10 before:7d edited:yes deleted:yes ads:yes
    """
    unknown = next((word for word in words if word.startswith("--")), None)
    if unknown is not None:
        raise typer.BadParameter(
            f"there is no option {unknown}; to exclude a word, write a single minus", param_hint="words"
        )
    typed_text = " ".join(words)

    async def look(app: App) -> tuple[SearchPage, ZoneInfo]:
        chosen_tenant = await tenant_named(app, tenant)
        zone = ZoneInfo(app.settings.telemetry.time_zone)
        async with open_meaning_search(app.settings, questions=app.questions) as index:
            return await find(
                typed_text,
                tenant_id=chosen_tenant.tenant_id,
                stores=app.tenant(chosen_tenant.tenant_id),
                index=index,
                now=datetime.now(UTC),
                zone=zone,
                limit=limit,
                cursor=cursor,
                by_story=by_story,
                order=order,
            ), zone

    answer, zone = with_app(look, needs_redis=False)
    if as_json:
        from telegram_assistant.api.endpoints.search import search_response  # noqa: PLC0415 -- loads FastAPI

        print_json(search_response(answer, str))
    else:
        _show(answer, zone)
    if not answer.results:
        raise typer.Exit(1)


def _show(answer: SearchPage, zone: ZoneInfo) -> None:
    for note in answer.notes:
        complaints.print(f"[yellow]note[/] {words_of(note)}.")
    for result in answer.results:
        _show_post(result, zone)
    if answer.results:
        console.print(_facets(answer.facets))
    if answer.words_only is not None:
        complaints.print(f"[yellow]note[/] {words_of(answer.words_only.words)}.")
    if answer.searched_back_to is not None:
        complaints.print(
            f"[yellow]note[/] searched back to {answer.searched_back_to.astimezone(zone):%Y-%m-%d %H:%M}; "
            "older posts may match too."
        )
    if answer.cursor is not None:
        complaints.print(f"More: tga search … --cursor {answer.cursor}")
    if not answer.results:
        complaints.print(
            "Nothing was found. Try fewer or other words, or fewer filters; ads:yes includes advertising."
        )


def _show_post(result: SearchResult, zone: ZoneInfo) -> None:
    heading = Text.assemble(
        (result.channel, "bold"),
        f"  {result.posted_at.astimezone(zone):%Y-%m-%d %H:%M}  ",
        (result.link, "blue"),
    )
    if result.by_names:
        heading.append("  related", "dim")
    if result.deleted_at:
        heading.append("  deleted", "red")
    elif result.is_edited:
        heading.append("  edited", "yellow")
    if result.copies:
        heading.append(f"  and {len(result.copies)} more like it", "dim")
    console.print(heading)
    console.print(_highlight(result.snippet))
    if result.story:
        console.print(_story_line(result.story))
    if result.tags:
        console.print(Text("  ".join(f"#{tag.replace(' ', '_')}" for tag in result.tags), "dim"))
    console.print()


def _story_line(story: FoundStory) -> Text:
    count = len(story.more)
    channels = ", ".join(dict.fromkeys(post.channel for post in story.more[:SHOWN_VALUES]))
    return Text(
        f"and {count} more post{'' if count == 1 else 's'} of this story: {channels}; "
        f"tga stories {story.story_id}",
        "dim",
    )


def _highlight(snippet: Snippet) -> Text:
    text = Text("…" if snippet.is_cut_before else "")
    text.append(Text(snippet.text, spans=[Span(begin, end, MARK) for begin, end in snippet.marks]))
    return text.append("…") if snippet.is_cut_after else text


def _facets(facets: Facets) -> Text:
    lines = (
        ("channels", [(facet.name or str(facet.value), facet.posts) for facet in facets.channels]),
        ("languages", _pairs(facets.languages)),
        ("kinds", _pairs(facets.kinds)),
        ("tags", _pairs(facets.tags)),
        ("days", [(f"{facet.value:%d.%m}", facet.posts) for facet in facets.days]),
    )
    parts = [
        f"{name}: " + ", ".join(f"{value} {count}" for value, count in pairs[:SHOWN_VALUES])
        for name, pairs in lines
        if pairs
    ]
    return Text(f"{facets.posts} posts; " + " · ".join(parts), "dim")


def _pairs(facets: tuple[Facet[str], ...]) -> list[tuple[str, int]]:
    return [(facet.value, facet.posts) for facet in facets]
