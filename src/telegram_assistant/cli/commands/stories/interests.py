"""`tga interests`: what interests a person, with weights and reasons."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from telegram_assistant.api.endpoints.stories.interests import list_interests
from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import member_named, tenant_named, with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.domain.people.interests import MAX_WEIGHT, OWN_WEIGHT
from telegram_assistant.features.digests import interests
from telegram_assistant.stores.postgres.people.interests import PersonInterests

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Interests of a person: list, add, remove, reset.")

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant of the person.")]
PersonName = Annotated[str, typer.Option("--person", help="Name of the person. Empty: the only one of the tenant.")]
Topic = Annotated[str, typer.Argument(help="Topic in a few words.")]


@app.command("list")
def show_list(person: PersonName = "", tenant: TenantName = "default", as_json: AsJson = False) -> None:
    """List topics with their weights and reasons; --json exports everything that is known."""
    if as_json:
        print_endpoint(list_interests, tenant=tenant, person=person)
        return
    found = _with_interests(tenant, person, lambda own: own.all())
    if not found:
        console.print("There are no interests. Start with: tga interests add TOPIC")
        return
    table = Table("topic", "weight", "reason", box=None)
    for one in found:
        table.add_row(Text(one.topic), f"{one.weight:+.1f}", Text(f"learnt from “{one.why}”" if one.why else "written down"))
    console.print(table)


@app.command()
def add(
    topic: Topic,
    weight: Annotated[float, typer.Option(min=-MAX_WEIGHT, max=MAX_WEIGHT, help="Below 0: such stories come later.")] = OWN_WEIGHT,
    person: PersonName = "",
    tenant: TenantName = "default",
) -> None:
    """Add a topic, or change its weight."""
    _with_interests(tenant, person, lambda own: interests.write_down(topic, interests=own, weight=weight))
    console.print("The next digest knows it.")


@app.command()
def remove(topic: Topic, person: PersonName = "", tenant: TenantName = "default") -> None:
    """Remove a topic."""
    _with_interests(tenant, person, lambda own: interests.remove(topic, interests=own))
    console.print("The topic is removed.")


@app.command()
def reset(person: PersonName = "", tenant: TenantName = "default") -> None:
    """Forget all interests of the person."""
    _with_interests(tenant, person, lambda own: own.reset())
    console.print("All interests are forgotten.")


def _with_interests[T](tenant: str, person: str, work: Callable[[PersonInterests], Awaitable[T]]) -> T:
    async def run(assembled: App) -> T:
        known = await tenant_named(assembled, tenant)
        member = await member_named(assembled, known, person)
        return await work(assembled.person(known.tenant_id, member.user_id).interests)

    return with_app(run, needs_redis=False)
