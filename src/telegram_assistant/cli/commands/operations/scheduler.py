"""`tga scheduler`: shows the status of the scheduler, and resets it."""

from dataclasses import asdict
from datetime import UTC, datetime

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_operation
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson, show_value
from telegram_assistant.cli.response_models import ParkedChannelResponse, SchedulerResponse
from telegram_assistant.cli.wording import say_here, words_of
from telegram_assistant.features.channels.parked import all_parked_channels
from telegram_assistant.features.channels.polling import pull_forward_channels
from telegram_assistant.ingest.scheduler import scheduler_status
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.redis.marks import delete_all_high_water
from telegram_assistant.stores.redis.scheduler import SchedulerLock
from telegram_assistant.telemetry.health import State

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="The scheduler: status, reset."
)

COLOURS = {"ok": "green", "stale": "yellow", "down": "red"}


@app.command()
def status(as_json: AsJson = False) -> None:
    """Show which instance runs the scheduler, its last tick, and whether channels are being read.

    Exits with 1 unless the status is ok.
    """

    async def look(assembled: App) -> SchedulerResponse:
        parser, words = assembled.settings.parser, str if as_json else say_here
        scheduler = await scheduler_status(
            lock=SchedulerLock(assembled.redis, assembled.instance),
            planning=assembled.system.planning,
            settings=parser,
            now=datetime.now(UTC),
        )
        parked_channels = [
            ParkedChannelResponse.model_validate({**asdict(parked), "reason": words(parked.reason)})
            for parked in await all_parked_channels(schedule=assembled.system.schedule)
        ]
        facts = {
            **scheduler.as_json(parser.interval_seconds),
            "policy": parser.policy.value,
            "parked": parked_channels,
        }
        return SchedulerResponse.model_validate(facts)

    response = with_app(look)
    show_value(response, _print_status, as_json=as_json)
    if response.status != State.OK:
        raise typer.Exit(1)


def _print_status(response: SchedulerResponse) -> None:
    table = Table(pad_edge=False, show_header=False)
    for name, value in response.model_dump(exclude={"parked"}).items():
        cell = (
            f"[{COLOURS[response.status]}]{value}[/]"
            if name == "status"
            else str(value if value is not None else "–")
        )
        table.add_row(name, cell)
    console.print(table)
    for parked_channel in response.parked:
        pause_text = (
            f"until {parked_channel.until:%Y-%m-%d %H:%M} UTC after {parked_channel.failures} failures"
        )
        console.print(
            f"[yellow]parked[/] {escape(parked_channel.title)} {pause_text}: {escape(parked_channel.reason)}"
        )


@app.command()
def reset() -> None:
    """Delete scheduler:lock, scheduler:facts and every parse_hwm:* from Redis. Nothing is lost: PostgreSQL
    holds the coverage ledger.

    Channels that wait for the end of a flood which is over become due.
    """

    async def clear(assembled: App) -> tuple[bool, int, int]:
        had_lock = await SchedulerLock(assembled.redis, assembled.instance).clear()
        marks, pulled_count = (
            await delete_all_high_water(assembled.redis),
            await pull_forward_channels(planning=assembled.system.planning),
        )
        await record_operation(
            assembled, "reset_scheduler", "/scheduler", marks=marks, pulled_forward=pulled_count
        )
        return had_lock, marks, pulled_count

    had_lock, marks, pulled_count = with_app(clear)
    console.print(
        f"{'The lock was deleted' if had_lock else 'There was no lock'}, and {marks} high-water marks."
    )
    if pulled_count:
        console.print(
            words_of(
                Reason(
                    "channels_pulled_forward",
                    "{count} channel that waited for the end of a flood wait is due now.",
                    "{count} channels that waited for the end of a flood wait are due now.",
                    count=pulled_count,
                )
            )
        )
