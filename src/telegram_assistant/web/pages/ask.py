"""Ask: a question, answered with the posts that say it;
sentences of a provider appear as they are written.
"""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlencode

from starlette.responses import Response

from telegram_assistant.errors import Forbidden, Rejected
from telegram_assistant.features.ask.answers import SINCE_THEN, Answer
from telegram_assistant.features.ask.ask import (
    MAX_PREVIOUS,
    MAX_QUESTION_CHARACTERS,
    answer_question,
    final_answer,
)
from telegram_assistant.features.ask.days import write_dated
from telegram_assistant.features.ask.writing import offer_writing
from telegram_assistant.features.sharing.content import answer_content
from telegram_assistant.features.sharing.formats import ShareFormat, write_content
from telegram_assistant.web.access.forgery import is_same_site
from telegram_assistant.web.handling import FORM_FORGED
from telegram_assistant.web.live import stream as stream_events
from telegram_assistant.web.rendering import Reader, render
from telegram_assistant.web.views import Content, TenantView


async def show(view: TenantView) -> Content:
    """Shows the answer that needs no provider; `live` is where the page hears what a provider writes.

    Nothing is paid for a link on another site.
    """
    typed_text, previous = view.query("q").strip(), _previous(view)
    content: dict[str, object] = {
        "asked": typed_text,
        "previous": previous,
        "answer": None,
        "live": "",
        "offer": None,
    }
    offer = await offer_writing(view.app.questions, tenant_id=view.membership.tenant_id)
    if not typed_text:
        return {**content, "offer": offer}
    try:
        answer = await _answer(view, typed_text, previous)
    except Rejected as error:
        return {**content, "problem": error.reason}
    parameters = urlencode([("q", typed_text), *(("after", question) for question in previous)])
    live = f"{view.url('/ask/stream')}?{parameters}"
    thread = [*previous, typed_text][-MAX_PREVIOUS:]
    return {
        **content,
        **await _answer_content(view, answer),
        "thread": thread,
        "live": live if offer and answer.passages and is_same_site(view.request) else "",
    }


async def show_brief(view: TenantView) -> Content:
    """The answer above the results of a search; no provider is asked."""
    typed_text = view.query("q").strip()
    try:
        answer = await _answer(view, typed_text)
    except Rejected as error:
        return {"asked": typed_text, "answer": None, "problem": error.reason}
    return {"asked": typed_text, **await _answer_content(view, answer)}


async def stream(view: TenantView) -> Response:
    """Server-sent events: `answer` with the section of the page so far, `end` with the last one."""
    if not is_same_site(view.request):
        raise Forbidden(FORM_FORGED)
    live = answer_question(
        view.query("q").strip(),
        tenant_id=view.membership.tenant_id,
        stores=view.stores,
        index=view.app.meaning_search,
        now=view.now,
        zone=view.zone,
        language=view.language.value,
        own=view.own,
        previous=_previous(view),
        writer=view.app.questions,
    )
    return stream_events(_events(view, await anext(live), live))


async def _events(view: TenantView, first_answer: Answer, live: AsyncIterator[Answer]) -> AsyncIterator[str]:
    yield await _event(view, first_answer)
    async for answer in live:
        yield await _event(view, answer)


async def _event(view: TenantView, answer: Answer) -> str:
    reader = Reader(view.language, view.zone, view.now)
    content = {**await _answer_content(view, answer), "base": view.url("")}
    lines = render("ask_answer.html", content, reader=reader).splitlines()
    return "\n".join(
        (f"event: {'end' if answer.is_final else 'answer'}", *(f"data: {line}" for line in lines), "", "")
    )


async def _answer(view: TenantView, typed_text: str, previous: Sequence[str] = ()) -> Answer:
    """The answer without a provider."""
    growing = answer_question(
        typed_text,
        tenant_id=view.membership.tenant_id,
        stores=view.stores,
        index=view.app.meaning_search,
        now=view.now,
        zone=view.zone,
        language=view.language.value,
        own=view.own,
        previous=previous,
    )
    return await final_answer(growing)


def _previous(view: TenantView) -> list[str]:
    """The questions of the thread, the oldest first."""
    questions = (
        question.strip()[:MAX_QUESTION_CHARACTERS] for question in view.request.query_params.getlist("after")
    )
    return [question for question in questions if question][-MAX_PREVIOUS:]


async def _answer_content(view: TenantView, answer: Answer) -> dict[str, object]:
    sentences = [*answer.sentences, *([] if answer.newest is None else [answer.newest])]
    language = view.language.value
    return {
        "answer": answer,
        "newest_text": "" if answer.newest is None else write_dated(answer.newest, language),
        "sentence_texts": [write_dated(sentence, language) for sentence in answer.sentences],
        "passage_texts": [write_dated(passage, language) for passage in answer.passages],
        "since_then": SINCE_THEN,
        "cited": frozenset(passage_index for sentence in sentences for passage_index in sentence.passages),
        "left_out": Counter(answer.checks.reasons),
        "copies": await _copies(view, answer) if answer.is_final and answer.passages else {},
        "copied_posts": urlencode([("post", str(passage.post_id)) for passage in answer.passages]),
    }


async def _copies(view: TenantView, answer: Answer) -> dict[str, str]:
    """The answer as it is shown, to be copied: asking again could answer something else."""
    language = view.language.value
    content = await answer_content(answer, reading=view.own.reading, language=language)
    return {
        share_format.value: write_content(content, share_format, language=language)
        for share_format in (ShareFormat.TEXT, ShareFormat.MARKDOWN)
    }
