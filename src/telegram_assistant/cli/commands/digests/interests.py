"""`tga interests`: what interests a person, with weights and reasons."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from telegram_assistant.api.endpoints.digests.interests import (
    InterestResponse,
    InterestsResponse,
    list_interests,
)
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import member_named, tenant_named, with_app
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.domain.digests.interests import ABOUT_STORIES, MAX_WEIGHT, OWN_WEIGHT, Feedback
from telegram_assistant.domain.ids import PostId
from telegram_assistant.errors import Missing
from telegram_assistant.features.digests import interests
from telegram_assistant.stores.postgres.digests.interests import PersonInterests
from telegram_assistant.stores.postgres.stores import TenantStores

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Interests of a person: topics, and what they said of stories.",
)

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant of the person.")]
PersonName = Annotated[
    str, typer.Option("--person", help="Name of the person. Empty: the only one of the tenant.")
]
Topic = Annotated[str, typer.Argument(help="Topic in a few words.")]
Story = Annotated[
    PostId,
    typer.Argument(
        parser=PostId.parse, metavar="STORY", help="Id of any post of the story, CHANNEL/MESSAGE."
    ),
]


@app.command("list")
def show_list(person: PersonName = "", tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List topics with their weights and reasons, and muted stories;
    --json exports everything that is known.
    """
    show_endpoint(
        list_interests, _print_interests, as_json=as_json, tenant=tenant, person=person, needs_redis=False
    )


def _print_interests(response: InterestsResponse) -> None:
    if not response.items:
        console.print("There are no interests. Start with: tga interests add TOPIC")
    else:
        table = Table("topic", "weight", "reason", box=None)
        for interest in response.items:
            table.add_row(Text(interest.topic), f"{interest.weight:+.1f}", Text(_why(interest)))
        console.print(table)
    for muted_response in (opinion for opinion in response.feedback if opinion.feedback is Feedback.MUTED):
        console.print(
            Text(f"muted: {muted_response.headline}  ").append(
                f"tga interests undo {muted_response.story_id}", style="dim"
            )
        )


@app.command()
def add(
    topic: Topic,
    weight: Annotated[
        float, typer.Option(min=-MAX_WEIGHT, max=MAX_WEIGHT, help="Below 0: such stories come later.")
    ] = OWN_WEIGHT,
    person: PersonName = "",
    tenant: TenantName = "default",
) -> None:
    """Add a topic, or change its weight."""
    _with_own(tenant, person, lambda _, own: interests.write_down(topic, interests=own, weight=weight))
    console.print("The next digest knows it.")


@app.command()
def remove(topic: Topic, person: PersonName = "", tenant: TenantName = "default") -> None:
    """Remove a topic."""
    _with_own(tenant, person, lambda _, own: interests.remove(topic, interests=own))
    console.print("The topic is removed.")


@app.command()
def reset(person: PersonName = "", tenant: TenantName = "default") -> None:
    """Forget all interests of the person, and what they said about stories."""
    _with_own(tenant, person, lambda _, own: interests.reset_interests(interests=own))
    console.print("All interests are forgotten.")


@app.command()
def more(story: Story, person: PersonName = "", tenant: TenantName = "default") -> None:
    """Ask for more like a story: the names in it gain weight."""
    _give_feedback(story, Feedback.MORE, tenant, person)


@app.command()
def less(story: Story, person: PersonName = "", tenant: TenantName = "default") -> None:
    """Ask for less like a story: the names in it lose weight."""
    _give_feedback(story, Feedback.LESS, tenant, person)


@app.command()
def mute(story: Story, person: PersonName = "", tenant: TenantName = "default") -> None:
    """Leave a story out of the person's Today, digests and trends."""
    _with_own(
        tenant, person, lambda stores, own: interests.say(story, Feedback.MUTED, stores=stores, interests=own)
    )
    console.print(f"The story is muted. Take it back with: tga interests undo {story}")


@app.command()
def undo(story: Story, person: PersonName = "", tenant: TenantName = "default") -> None:
    """Take back all that the person said about a story, with what was learnt from it."""
    withdrawn_feedback = _with_own(tenant, person, lambda stores, own: _take_all_back(story, stores, own))
    console.print(
        f"Taken back: {', '.join(withdrawn_feedback)}."
        if withdrawn_feedback
        else "The person has said nothing about this story."
    )


def _give_feedback(story_id: PostId, feedback: Feedback, tenant: str, person: str) -> None:
    topics = _with_own(
        tenant, person, lambda stores, own: interests.say(story_id, feedback, stores=stores, interests=own)
    )
    console.print(
        f"Learnt from it: {', '.join(topics)}."
        if topics
        else "No new name was found in it, so nothing has changed."
    )


async def _take_all_back(story_id: PostId, stores: TenantStores, own: PersonInterests) -> list[str]:
    withdrawn_feedback = []
    for feedback in ABOUT_STORIES:
        with suppress(Missing):
            await interests.take_back(story_id, feedback, stores=stores, interests=own)
            withdrawn_feedback.append(feedback.value)
    return withdrawn_feedback


def _why(interest: InterestResponse) -> str:
    if interest.reasons:
        return "; ".join(
            f"{reason.feedback} “{reason.headline}” {reason.said_at:%Y-%m-%d}" for reason in interest.reasons
        )
    return f"learnt from “{interest.why}”" if interest.why else "written down"


def _with_own[T](
    tenant: str, person: str, work: Callable[[TenantStores, PersonInterests], Awaitable[T]]
) -> T:
    async def run(assembled: App) -> T:
        chosen_tenant = await tenant_named(assembled, tenant)
        member = await member_named(assembled, chosen_tenant, person)
        return await work(
            assembled.tenant(chosen_tenant.tenant_id),
            assembled.person(chosen_tenant.tenant_id, member.user_id).interests,
        )

    return with_app(run, needs_redis=False)
