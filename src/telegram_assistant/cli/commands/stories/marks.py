"""`tga marks`: stories that a person saved, is done with or follows."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from telegram_assistant.api.endpoints.stories.marks import StoryMarksResponse, list_story_marks
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import member_named, tenant_named, with_app
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import console, zone_here
from telegram_assistant.cli.output import AsJson
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.marks import Mark
from telegram_assistant.features.stories import marks
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.stories.marks import PersonStoryMarks

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Stories that a person saved, is done with or follows.",
)

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant of the person.")]
PersonName = Annotated[
    str, typer.Option("--person", help="Name of the person. Empty: the only one of the tenant.")
]
Story = Annotated[
    PostId,
    typer.Argument(
        parser=PostId.parse, metavar="STORY", help="Id of any post of the story, CHANNEL/MESSAGE."
    ),
]


@app.command("list")
def show_list(person: PersonName = "", tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List the person's marks on stories, the newest first."""
    show_endpoint(
        list_story_marks, _print_marks, as_json=as_json, tenant=tenant, person=person, needs_redis=False
    )


@app.command()
def save(story: Story, person: PersonName = "", tenant: TenantName = "default") -> None:
    """Put a story on the person's page Saved."""
    _mark(story, Mark.SAVED, tenant, person)


@app.command("done")
def end_story(story: Story, person: PersonName = "", tenant: TenantName = "default") -> None:
    """Grey a story on the person's Today until something new comes."""
    _mark(story, Mark.DONE, tenant, person)


@app.command()
def follow(story: Story, person: PersonName = "", tenant: TenantName = "default") -> None:
    """Alert the person to each new post of a story that is no copy."""
    _mark(story, Mark.FOLLOWED, tenant, person)


@app.command()
def remove(
    story: Story,
    mark: Annotated[Mark, typer.Argument(help="The mark to take off.")],
    person: PersonName = "",
    tenant: TenantName = "default",
) -> None:
    """Take a mark off a story."""
    _with_own(tenant, person, lambda stores, own: marks.unmark_story(story, mark, stores=stores, marks=own))
    console.print("The mark is removed.")


def _mark(story_id: PostId, mark: Mark, tenant: str, person: str) -> None:
    _with_own(tenant, person, lambda stores, own: marks.mark_story(story_id, mark, stores=stores, marks=own))
    console.print(f"The story is marked. Take it back with: tga marks remove {story_id} {mark.value}")


def _print_marks(response: StoryMarksResponse) -> None:
    if not response.items:
        console.print("There are no marks. Start with: tga marks save STORY")
        return
    table = Table("mark", "since", "story", "headline", box=None)
    for mark in response.items:
        table.add_row(
            mark.mark.value,
            f"{mark.marked_at.astimezone(zone_here()):%Y-%m-%d %H:%M}",
            mark.story_id,
            Text(mark.headline),
        )
    console.print(table)


def _with_own(
    tenant: str, person: str, work: Callable[[TenantStores, PersonStoryMarks], Awaitable[None]]
) -> None:
    async def run(assembled: App) -> None:
        chosen_tenant = await tenant_named(assembled, tenant)
        member = await member_named(assembled, chosen_tenant, person)
        await work(
            assembled.tenant(chosen_tenant.tenant_id),
            assembled.person(chosen_tenant.tenant_id, member.user_id).story_marks,
        )

    with_app(run, needs_redis=False)
