"""Ask: a question, answered with the posts that say it;
sentences of a provider appear as they are written.
"""

from collections import Counter
from collections.abc import AsyncIterator
from urllib.parse import urlencode

from starlette.responses import Response

from telegram_assistant.errors import Forbidden, Rejected
from telegram_assistant.features.ask.answers import Answer
from telegram_assistant.features.ask.ask import (
    MAX_PREVIOUS,
    MAX_QUESTION_CHARACTERS,
    answer_question,
    final_answer,
)
from telegram_assistant.features.ask.writing import offered
from telegram_assistant.web.access.forgery import is_same_site
from telegram_assistant.web.handling import FOREIGN
from telegram_assistant.web.live import stream as stream_events
from telegram_assistant.web.rendering import Reader, render
from telegram_assistant.web.views import Content, TenantView


async def show(view: TenantView) -> Content:
    """What is found without a provider; `live` is where the page hears what a provider writes.

    Nothing is paid for a link on another site.
    """
    typed, previous = view.query("q").strip(), _previous(view)
    content: dict[str, object] = {
        "asked": typed,
        "previous": previous,
        "answer": None,
        "live": "",
        "offer": None,
    }
    offer = await offered(view.app.questions, tenant_id=view.membership.tenant_id)
    if not typed:
        return {**content, "offer": offer}
    try:
        growing = answer_question(
            typed,
            tenant_id=view.membership.tenant_id,
            stores=view.stores,
            index=view.app.meaning_search,
            now=view.now,
            zone=view.zone,
            previous=previous,
        )
        answer = await final_answer(growing)
    except Rejected as error:
        return {**content, "problem": error.reason}
    parameters = urlencode([("q", typed), *(("after", question) for question in previous)])
    live = f"{view.url('/ask/stream')}?{parameters}"
    thread = [*previous, typed][-MAX_PREVIOUS:]
    return {
        **content,
        **_shown(answer),
        "thread": thread,
        "live": live if offer and answer.passages and is_same_site(view.request) else "",
    }


async def stream(view: TenantView) -> Response:
    """Server-sent events: `answer` with the section of the page so far, `end` with the last one."""
    if not is_same_site(view.request):
        raise Forbidden(FOREIGN)
    live = answer_question(
        view.query("q").strip(),
        tenant_id=view.membership.tenant_id,
        stores=view.stores,
        index=view.app.meaning_search,
        now=view.now,
        zone=view.zone,
        previous=_previous(view),
        writer=view.app.questions,
    )
    return stream_events(_events(view, await anext(live), live))


async def _events(view: TenantView, first: Answer, live: AsyncIterator[Answer]) -> AsyncIterator[str]:
    yield _event(view, first)
    async for answer in live:
        yield _event(view, answer)


def _event(view: TenantView, answer: Answer) -> str:
    reader = Reader(view.language, view.zone, view.now)
    lines = render("ask_answer.html", {**_shown(answer), "base": view.url("")}, reader=reader).splitlines()
    return "\n".join(
        (f"event: {'end' if answer.is_final else 'answer'}", *(f"data: {line}" for line in lines), "", "")
    )


def _previous(view: TenantView) -> list[str]:
    """The questions of the thread, the oldest first."""
    questions = (
        question.strip()[:MAX_QUESTION_CHARACTERS] for question in view.request.query_params.getlist("after")
    )
    return [question for question in questions if question][-MAX_PREVIOUS:]


def _shown(answer: Answer) -> dict[str, object]:
    cited = frozenset(place for sentence in answer.sentences for place in sentence.passages)
    return {"answer": answer, "cited": cited, "left_out": Counter(answer.checks.reasons)}
