"""`tga streams`: shows the pipeline stages, announces posts again, and resumes stopped stages."""

import asyncio
from typing import Annotated

import typer
from rich.live import Live
from rich.table import Table

from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_operation
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.cli.output import AsJson, show_value
from telegram_assistant.cli.response_models import StageResponse, StagesResponse, UnknownGroupResponse
from telegram_assistant.cli.wording import words_of
from telegram_assistant.features.operations.overview import count_waiting_revisions
from telegram_assistant.pipeline import PIPELINE, WITH_GRAPH, stages_of
from telegram_assistant.streams.groups import UnknownGroup, find_unknown_groups, readers_of
from telegram_assistant.streams.monitoring import measure_stages, resume
from telegram_assistant.telemetry.health import Health
from telegram_assistant.worker_role import build_relay

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Watch the pipeline stages; refill, resume."
)


@app.callback(invoke_without_command=True)
def show(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Print the table once and exit.")] = False,
    as_json: AsJson = False,
) -> None:
    """Watch the pipeline stages. Ctrl+C ends it."""
    if context.invoked_subcommand is not None:
        return

    async def watch(assembled: App) -> None:
        response = await _measure(assembled)
        if as_json or once or not console.is_terminal:
            show_value(response, _print_stages, as_json=as_json)
            return
        with Live(_table(response), console=console, screen=True) as live:
            while True:
                await asyncio.sleep(1)
                live.update(_table(await _measure(assembled)))

    try:
        with_app(watch)
    except KeyboardInterrupt:
        return


@app.command()
def refill() -> None:
    """Announce again every post that has not passed through the pipeline,
    for example after Redis has lost its data. Safe to repeat.
    """

    async def announce_again(assembled: App) -> int:
        count = await build_relay(PIPELINE, assembled, Health(probes={})).refill()
        await record_operation(assembled, "refill_streams", "/streams", posts=count)
        return count

    count = with_app(announce_again)
    console.print(f"{count} posts will be announced again.")


@app.command(name="resume")
def resume_stage(stage: Annotated[str, typer.Argument(help="Name of the stopped stage.")]) -> None:
    """Resume a stage that stopped after too many consecutive dead letters."""
    if stage not in {definition.name for definition in WITH_GRAPH}:
        complaints.print(
            f"[red]There is no stage {stage!r}.[/] There are: "
            f"{', '.join(definition.name for definition in WITH_GRAPH)}."
        )
        raise typer.Exit(1)

    async def resume_it(assembled: App) -> bool:
        is_stopped = await resume(assembled.redis, stage)
        await record_operation(assembled, "resume_stage", f"/streams/{stage}")
        return is_stopped

    is_stopped = with_app(resume_it)
    console.print(f"{stage} resumes within seconds." if is_stopped else f"{stage} was not stopped.")


async def _measure(app: App) -> StagesResponse:
    partition_count = app.settings.streams.partitions
    states = await measure_stages(app.redis, stages_of(app.settings), partition_count)
    unknown_groups = await find_unknown_groups(app.redis, readers_of(WITH_GRAPH, partition_count))
    return StagesResponse(
        items=[StageResponse.model_validate(state, from_attributes=True) for state in states],
        on_their_way=await count_waiting_revisions(outbox=app.system.outbox),
        unknown_groups=[
            UnknownGroupResponse.model_validate(group, from_attributes=True) for group in unknown_groups
        ],
    )


def _print_stages(response: StagesResponse) -> None:
    console.print(_table(response))
    for unknown_group in response.unknown_groups:
        group = UnknownGroup(unknown_group.stream, unknown_group.group)
        console.print(f"[yellow]![/] {words_of(group.what)} → {words_of(group.remedy)}", soft_wrap=True)


def _table(response: StagesResponse) -> Table:
    title = f"{response.on_their_way} post revisions in the pipeline"
    table = Table(title=title, title_justify="left", pad_edge=False)
    for name in ("stage", "lane", "waiting", "running", "delayed", "oldest", "consumers", "state"):
        table.add_column(name, justify="left" if name in {"stage", "lane", "state"} else "right")
    for state in response.items:
        state_cell = "[green]ok[/]" if state.stopped is None else f"[red]stopped: {state.stopped}[/]"
        numbers = (state.lag, state.pending - state.resting, state.resting)
        age = f"{state.oldest_seconds:.0f} s" if state.lag or state.pending else "–"
        table.add_row(
            state.stage,
            state.lane,
            *(str(number) for number in numbers),
            age,
            str(state.consumers),
            state_cell,
        )
    return table
