"""`tga ask`: answer a question from the posts of a tenant's channels."""

import os
from collections import Counter
from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.text import Text

from telegram_assistant.assembly import App, open_meaning_search
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.cli.output import AsJson, AsMarkdown, print_json
from telegram_assistant.cli.wording import words_of
from telegram_assistant.documents.telegram_markdown import write_messages
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.features.ask.answers import SINCE_THEN, Answer, AnswerSentence, Outcome
from telegram_assistant.features.ask.ask import answer_question
from telegram_assistant.features.ask.days import write_dated
from telegram_assistant.features.ask.document import answer_document
from telegram_assistant.features.understanding.spending import money_of
from telegram_assistant.reasons import Reason
from telegram_assistant.translation import terminal_language


def ask(
    question: Annotated[list[str], typer.Argument(help="The question, in Russian or English.")],
    tenant: Annotated[str, typer.Option(help="Tenant that follows the channels.")] = "default",
    previous: Annotated[
        list[str] | None,
        typer.Option(
            help="A question before this one, the oldest first; one without names goes on about its names."
        ),
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="Ask no provider: the answer costs nothing.")
    ] = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question with the sentences of posts that say it, or with a provider's sentences that were
    checked against posts.

    Sentences appear as they are written. Without an exact answer the nearest passages are shown; exit code 1
    if the channels do not write about it.
    """

    async def ask_question(app: App) -> tuple[Answer, ZoneInfo]:
        chosen_tenant = await tenant_named(app, tenant)
        zone = ZoneInfo(app.settings.telemetry.time_zone)
        printer = _Printer(zone)
        async with open_meaning_search(app.settings, questions=app.questions) as index:
            live = answer_question(
                " ".join(question),
                tenant_id=chosen_tenant.tenant_id,
                stores=app.tenant(chosen_tenant.tenant_id),
                index=index,
                now=datetime.now(UTC),
                zone=zone,
                language=terminal_language(os.environ),
                previous=previous or (),
                writer=None if local else app.questions,
            )
            async for answer in live:
                if not as_json and not as_markdown:
                    printer.grow(answer)
        return answer, zone

    answer, zone = with_app(ask_question, needs_redis=False)
    if as_json:
        from telegram_assistant.api.endpoints.ask import ask_response  # noqa: PLC0415 -- loads FastAPI

        print_json(ask_response(answer, str))
    elif as_markdown:
        document = answer_document(answer, language=terminal_language(os.environ), zone=zone)
        typer.echo("\n\n".join(write_messages(document)))
    if answer.outcome is Outcome.NOTHING:
        raise typer.Exit(1)


class _Printer:
    """Prints an answer as it grows. It counts the sentences that are on the terminal already."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone, self._language = zone, terminal_language(os.environ)
        self._sentences = 0

    def grow(self, answer: Answer) -> None:
        if not answer.is_final and answer.written_by is Tier.LOCAL:
            if answer.price is not None:
                model, price, unit = (
                    answer.price.model,
                    money_of(answer.price.highest_micro),
                    answer.price.unit,
                )
                _print_reason(
                    Reason(
                        "ask_price_before",
                        "asking {model}, for at most {price} {unit}",
                        model=model,
                        price=price,
                        unit=unit,
                    )
                )
            return
        if answer.written_by is Tier.PROVIDER:
            self._print(answer)
        if not answer.is_final:
            return
        for reason in (answer.fallback, answer.words):
            if reason is not None:
                _print_reason(
                    reason,
                    "yellow" if reason is answer.fallback or answer.outcome is not Outcome.ANSWERED else "",
                )
        if answer.written_by is Tier.LOCAL:
            self._sentences = 0
            self._print(answer)
        if answer.newest is not None:
            _print_reason(SINCE_THEN, "yellow")
            self._print_sentence(answer.newest)
        for passage_number, passage in enumerate(answer.passages, start=1):
            console.print()
            passage_time = f"  {passage.posted_at.astimezone(self._zone):%Y-%m-%d %H:%M}  "
            console.print(
                Text.assemble(
                    (f"[{passage_number}] ", "bold"), passage.channel, passage_time, (passage.link, "blue")
                )
            )
            console.print(Text(write_dated(passage, self._language), "dim"))
        _show_checks(answer)

    def _print(self, answer: Answer) -> None:
        for sentence in answer.sentences[self._sentences :]:
            self._print_sentence(sentence)
        self._sentences = len(answer.sentences)

    def _print_sentence(self, sentence: AnswerSentence) -> None:
        reference_marks = " ".join(f"[{passage_index + 1}]" for passage_index in sentence.passages)
        console.print(Text.assemble(write_dated(sentence, self._language), (f"  {reference_marks}", "bold")))


def _show_checks(answer: Answer) -> None:
    for reason, times in Counter(answer.checks.reasons).items():
        _print_reason(
            Reason(
                "ask_left_out",
                "{count} sentence left out: {why}",
                "{count} sentences left out: {why}",
                count=times,
                why=words_of(reason),
            ),
            "yellow",
        )
    if answer.checks.replaced:
        _print_reason(
            Reason(
                "ask_replaced",
                "{count} doubtful sentence was replaced by the post's own words",
                "{count} doubtful sentences were replaced by the posts' own words",
                count=answer.checks.replaced,
            ),
            "yellow",
        )
    if answer.price is not None and answer.price.spent_micro is not None:
        model, price, unit = answer.price.model, money_of(answer.price.spent_micro), answer.price.unit
        _print_reason(
            Reason("ask_price_after", "{model} cost {price} {unit}", model=model, price=price, unit=unit)
        )


def _print_reason(reason: Reason, style: str = "") -> None:
    words = words_of(reason)
    complaints.print(Text(f"{words[:1].upper()}{words[1:]}.", style))
