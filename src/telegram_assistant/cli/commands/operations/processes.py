"""`tga processes`: the processes of the installation, by their own reports."""

from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.operations.processes import list_processes
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.features.operations.overview import (
    ProcessOverview,
    ProcessState,
    known_processes,
    missing_roles,
    troubles_of,
)
from telegram_assistant.telemetry.health import State

COLOURS = {ProcessState.RUNNING: "green", ProcessState.AWAY: "red", ProcessState.STOPPED: "dim"}


def processes(as_json: AsJson = False) -> None:
    """Show which processes run, when each was last heard, and its health with what is in trouble."""
    if as_json:
        print_endpoint(list_processes)
        return
    known = with_app(lambda assembled: known_processes(processes=assembled.api.processes), needs_redis=False)
    table = Table("instance", "roles", "version", "state", "last heard", "health", pad_edge=False)
    for overview in known:
        process, state = overview.process, f"[{COLOURS[overview.state]}]{overview.state}[/]"
        age = f"{process.age_seconds:.0f} s ago"
        table.add_row(
            process.instance, " ".join(process.roles), process.version, state, age, _health(overview)
        )
    if known:
        console.print(table)
    for role in missing_roles(known):
        console.print(f"[red]No process runs the role {role}.[/] Start it: tga run --roles {role}")


def _health(overview: ProcessOverview) -> str:
    """The state of a running process, as its /health shows it, and what is in trouble.

    Of others it says nothing: it may be old.
    """
    if overview.state is not ProcessState.RUNNING:
        return "–"
    troubles = [
        *(trouble.part for trouble in troubles_of(overview.process)),
        *sorted(overview.process.servers_away),
    ]
    colour = "red" if overview.health.is_trouble else "green" if overview.health is State.OK else "yellow"
    return f"[{colour}]{overview.health}[/]{': ' if troubles else ''}{escape(', '.join(troubles))}"
