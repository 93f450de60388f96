"""`tga ask`: answer a question from the posts of a tenant's channels."""

from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.text import Text

from telegram_assistant.assembly import App, open_meaning_search
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.cli.output import AsJson, print_json
from telegram_assistant.cli.wording import words_of
from telegram_assistant.features.ask.ask import Answer, Outcome
from telegram_assistant.features.ask.ask import ask as answer_question


def ask(
    question: Annotated[list[str], typer.Argument(help="The question, in Russian or English.")],
    tenant: Annotated[str, typer.Option(help="Tenant that follows the channels.")] = "default",
    previous: Annotated[str, typer.Option(help="The question before: one without names goes on about its names.")] = "",
    as_json: AsJson = False,
) -> None:
    """Answer a question with the sentences of posts that say it.

    No model writes it. Without an exact answer the nearest passages are shown; exit code 1 if the channels do not write about it.
    """

    async def look(app: App) -> tuple[Answer, ZoneInfo]:
        known = await tenant_named(app, tenant)
        async with open_meaning_search(app.settings, questions=app.questions) as index:
            found = await answer_question(
                " ".join(question),
                tenant_id=known.tenant_id,
                stores=app.tenant(known.tenant_id),
                index=index,
                now=datetime.now(UTC),
                previous=previous,
            )
            return found, ZoneInfo(app.settings.telemetry.time_zone)

    answer, zone = with_app(look, needs_redis=False)
    if as_json:
        from telegram_assistant.api.endpoints.ask import ask_response  # noqa: PLC0415 -- FastAPI takes longer to load than a search

        print_json(ask_response(answer, str))
    else:
        _show(answer, zone)
    if answer.outcome is Outcome.NOTHING:
        raise typer.Exit(1)


def _show(answer: Answer, zone: ZoneInfo) -> None:
    words = words_of(answer.words)
    complaints.print(Text(f"{words[:1].upper()}{words[1:]}.", "yellow" if answer.outcome is not Outcome.ANSWERED else ""))
    for sentence in answer.sentences:
        console.print(Text.assemble(sentence.text, (f"  {' '.join(f'[{place + 1}]' for place in sentence.passages)}", "bold")))
    for place, one in enumerate(answer.passages, start=1):
        console.print()
        console.print(Text.assemble((f"[{place}] ", "bold"), one.channel, f"  {one.posted_at.astimezone(zone):%Y-%m-%d %H:%M}  ", (one.link, "blue")))
        console.print(Text(one.text, "dim"))
