"""`tga processes`: the processes of the installation, by their own reports."""

from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.operations.processes import (
    ProcessesResponse,
    ProcessResponse,
    list_processes,
)
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.features.operations.overview import ProcessState
from telegram_assistant.telemetry.health import State

COLOURS = {ProcessState.RUNNING: "green", ProcessState.AWAY: "red", ProcessState.STOPPED: "dim"}


def processes(as_json: AsJson = False) -> None:
    """Show which processes run, when each was last heard, and its health with what is in trouble."""
    show_endpoint(list_processes, _print_processes, as_json=as_json, needs_redis=False)


def _print_processes(response: ProcessesResponse) -> None:
    table = Table("instance", "roles", "version", "state", "last heard", "health", pad_edge=False)
    for process in response.items:
        state, age = f"[{COLOURS[process.state]}]{process.state}[/]", f"{process.age_seconds:.0f} s ago"
        table.add_row(
            process.instance, " ".join(process.roles), process.version, state, age, _health(process)
        )
    if response.items:
        console.print(table)
    for role in response.missing_roles:
        console.print(f"[red]No process runs the role {role}.[/] Start it: tga run --roles {role}")


def _health(process: ProcessResponse) -> str:
    """The state of a running process, as its /health shows it, and what is in trouble.

    Of others it says nothing: it may be old.
    """
    if process.state is not ProcessState.RUNNING:
        return "–"
    troubles = [*process.failing, *process.servers_away]
    colour = "red" if process.health.is_trouble else "green" if process.health is State.OK else "yellow"
    return f"[{colour}]{process.health}[/]{': ' if troubles else ''}{escape(', '.join(troubles))}"
