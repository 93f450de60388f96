"""`tga dead-letters`: events that a stage could not process."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.operations.dead_letters import (
    DeadLetterDetailsResponse,
    DeadLettersResponse,
    get_dead_letter,
    list_dead_letters,
)
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_operation
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.features.operations import dead_letters

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Events that a stage could not process.",
)

MAX_LETTERS = 10_000
Numbers = Annotated[
    list[int] | None, typer.Argument(help="Numbers from `tga dead-letters list`.", show_default=False)
]
OfStage = Annotated[
    str | None, typer.Option(help="All dead letters of this stage, instead of numbers.", show_default=False)
]


@app.command(name="list")
def show_list(
    stage: Annotated[
        str | None, typer.Option(help="Only dead letters of this stage.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_LETTERS, help="Maximum number of dead letters.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List dead letters, newest first."""
    show_endpoint(
        lambda context: list_dead_letters(context, stage=stage, limit=limit), _print_letters, as_json=as_json
    )


def _print_letters(response: DeadLettersResponse) -> None:
    if not response.items:
        console.print("There are no dead letters.")
        return
    table = Table(pad_edge=False)
    for name in ("number", "when (UTC)", "stage", "post", "attempts", "reason"):
        table.add_column(name, justify="right" if name in {"number", "attempts"} else "left")
    for letter in response.items:
        table.add_row(
            str(letter.number),
            f"{letter.created_at:%m-%d %H:%M:%S}",
            letter.stage,
            letter.post_id or "–",
            str(letter.attempts),
            escape(letter.reason),
        )
    console.print(table)


@app.command()
def show(
    number: Annotated[int, typer.Argument(help="A number from `tga dead-letters list`.")],
    as_json: AsJson = False,
) -> None:
    """Show a dead letter with its payload and traceback."""
    show_endpoint(lambda context: get_dead_letter(context, number), _print_letter, as_json=as_json)


def _print_letter(details: DeadLetterDetailsResponse) -> None:
    letter = details.letter
    console.print(
        f"[bold]{letter.stage}[/] could not process post {letter.post_id or '–'} "
        f"after {letter.attempts} attempts: {escape(letter.reason)}\n"
    )
    console.print(
        f"from {letter.stream}, entry {details.entry_id}, {letter.created_at:%Y-%m-%d %H:%M:%S} UTC\n"
    )
    console.print(escape(details.payload))
    if details.traceback:
        console.print(f"\n{escape(details.traceback.rstrip())}")


@app.command()
def replay(numbers: Numbers = None, stage: OfStage = None) -> None:
    """Send dead letters back to the stage that failed, and to no other."""

    async def send(assembled: App) -> int:
        chosen_numbers = await _choose_letters(assembled, numbers, stage)
        for number in chosen_numbers:
            partition_count = assembled.settings.streams.partitions
            await dead_letters.replay(
                number,
                letters=assembled.api.dead_letters,
                redis=assembled.redis,
                partition_count=partition_count,
            )
            await record_operation(assembled, "replay_dead_letter", f"/dead-letters/{number}")
        return len(chosen_numbers)

    console.print(f"{with_app(send)} sent back to their stage.")


@app.command()
def discard(numbers: Numbers = None, stage: OfStage = None) -> None:
    """Discard dead letters. Their posts stay as they are and are not announced again."""

    async def discard_all(assembled: App) -> int:
        chosen_numbers = await _choose_letters(assembled, numbers, stage)
        for number in chosen_numbers:
            await dead_letters.discard(number, letters=assembled.api.dead_letters, redis=assembled.redis)
            await record_operation(assembled, "discard_dead_letter", f"/dead-letters/{number}")
        return len(chosen_numbers)

    console.print(f"{with_app(discard_all)} discarded.")


async def _choose_letters(app: App, numbers: list[int] | None, stage: str | None) -> list[int]:
    if bool(numbers) == bool(stage):
        complaints.print("Give numbers from `tga dead-letters list`, or --stage.")
        raise typer.Exit(2)
    if numbers:
        return numbers
    page = await dead_letters.list_letters(letters=app.api.dead_letters, stage=stage, limit=MAX_LETTERS)
    return [letter.dead_letter_id for letter in page.letters]
