"""`tga processes`: the processes of the installation, by their own reports."""

from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.operations.processes import list_processes
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.features.operations.overview import ProcessState, known_processes, missing_roles, troubles_of

COLOURS = {ProcessState.RUNNING: "green", ProcessState.AWAY: "red", ProcessState.STOPPED: "dim"}


def processes(as_json: AsJson = False) -> None:
    """Show which processes run, when each was last heard, and what fails in them."""
    if as_json:
        print_endpoint(list_processes)
        return
    found = with_app(lambda assembled: known_processes(processes=assembled.api.processes), needs_redis=False)
    table = Table("instance", "roles", "version", "state", "last heard", "failing", pad_edge=False)
    for one in found:
        process = one.process
        failing = ", ".join([*(trouble.part for trouble in troubles_of(process)), *sorted(process.servers_away)])
        state = f"[{COLOURS[one.state]}]{one.state}[/]"
        table.add_row(process.instance, " ".join(process.roles), process.version, state, f"{process.age_seconds:.0f} s ago", escape(failing) or "–")
    if found:
        console.print(table)
    for role in missing_roles(found):
        console.print(f"[red]No process runs the role {role}.[/] Start it: tga run --roles {role}")
