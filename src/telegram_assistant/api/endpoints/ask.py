"""Questions about posts, answered with the posts that say it: at once, or sentence by sentence."""

from collections.abc import AsyncIterator, Callable
from datetime import date
from typing import Annotated

from fastapi import Query
from pydantic import ConfigDict, Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area, EventStream
from telegram_assistant.api.schemas import PostReferenceResponse, RequestModel, ResponseModel, Storable
from telegram_assistant.api.writing_prices import (
    OFFER_EXAMPLE,
    OfferResponse,
    WritingPriceResponse,
    offer_response,
    price_response,
)
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.features.ask.answers import Answer, AnswerSentence, Outcome, Passage
from telegram_assistant.features.ask.ask import (
    MAX_PREVIOUS,
    MAX_QUESTION_CHARACTERS,
    answer_question,
    final_answer,
)
from telegram_assistant.features.ask.writing import offer_writing
from telegram_assistant.features.understanding.provider_texts import PATIENCE
from telegram_assistant.reasons import Reason

area = Area("Ask", "Ask questions about the posts of the followed channels.")

QUESTION = "How long will Stone Bridge in Solntsebor be closed?"
EXAMPLE = {
    "question": QUESTION,
    "outcome": "answered",
    "notice": "this is what your channels say, in their own words",
    "sentences": [
        {"text": "Stone Bridge in Solntsebor is closed for 16 days.", "passages": [0], "dated_words": []}
    ],
    "newest": None,
    "passages": [
        {
            "post_id": "1234567890/42",
            "channel_id": 1234567890,
            "message_id": 42,
            "channel": "City news",
            "link": "https://t.me/citynews/42",
            "posted_at": "2026-11-15T08:00:00Z",
            "text": "Stone Bridge in Solntsebor is closed for 16 days.",
            "copies": 2,
            "dated_words": [],
        }
    ],
    "written_by": "provider",
    "is_final": True,
    "price": {
        "provider": "gigachat",
        "model": "GigaChat-2",
        "unit": "RUB",
        "highest_micro": 884000,
        "spent_micro": 121400,
    },
    "replaced_count": 0,
    "rejected_reasons": ["a number that no cited post has"],
    "fallback": None,
}
QuestionText = Annotated[Storable, Field(max_length=MAX_QUESTION_CHARACTERS)]


class AskRequest(RequestModel):
    """A question.

    `previous` are the questions before it, the oldest first: one without names goes on about theirs.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"question": QUESTION}, {"question": "Why?", "previous": [QUESTION]}]}
    )

    question: Annotated[QuestionText, Field(min_length=1)]
    previous: Annotated[list[QuestionText], Field(max_length=MAX_PREVIOUS, default_factory=list)]
    provider: Annotated[
        bool,
        Field(description="Whether a provider may write the answer, where the owner has consented to one."),
    ] = True


class DatedWordResponse(ResponseModel):
    """A word such as "today" between two places of a text, and the day that it means."""

    start: int
    end: int
    day: date


class AnswerSentenceResponse(ResponseModel):
    """A sentence of the answer. `passages` are the places of the passages that say it."""

    text: str
    passages: list[int]
    dated_words: list[DatedWordResponse] = Field(description="Empty if the post is of today.")


class PassageResponse(PostReferenceResponse):
    """The sentence of a post that fits the question best.

    `copies`: how many more posts have the same text.
    """

    text: str
    copies: int
    dated_words: list[DatedWordResponse] = Field(description="Empty if the post is of today.")


class AskResponse(ResponseModel):
    """`answered`: `sentences` answer it.

    `nearest`: nothing exact was found. `nothing`: the channels do not write about it.
    """

    question: str
    outcome: Outcome
    notice: str = Field(description="`outcome` as a sentence.")
    sentences: list[AnswerSentenceResponse]
    newest: AnswerSentenceResponse | None = Field(
        description="The newest state of the story, if a later post changed it."
    )
    passages: list[PassageResponse]
    written_by: Tier = Field(description="`local`: the sentences stand in the posts word for word.")
    is_final: bool = Field(description="False while a provider writes.")
    price: WritingPriceResponse | None = Field(description="Null if no provider was asked.")
    replaced_count: int = Field(
        description="Doubtful sentences of the provider, shown as the sentence of the post."
    )
    rejected_reasons: list[str] = Field(
        description="Why sentences of the provider are not shown, one reason each."
    )
    fallback: str | None = Field(description="Why a provider that could have written the answer did not.")


@area.get("/ask/price", scope=KeyScope.READ, example=OFFER_EXAMPLE)
async def get_ask_price(context: Context) -> OfferResponse:
    """Get the highest price of a question."""
    return offer_response(await offer_writing(context.app.questions, tenant_id=context.caller.tenant_id))


@area.post("/ask", scope=KeyScope.READ, example=EXAMPLE, is_expensive=True)
async def ask_question(context: Context, body: AskRequest) -> AskResponse:
    """Ask a question about the posts of the followed channels.

    The answer consists of sentences of posts, each with the posts that say it, or of sentences that a
    provider has written from such posts and that were compared with them. Questions that the posts do not
    answer are refused rather than guessed. A provider that does not answer in time is left out of this
    response; asked again, its answer is known.
    """
    growing = answer_question(
        body.question,
        tenant_id=context.caller.tenant_id,
        stores=context.stores,
        index=context.app.meaning_search,
        now=context.now,
        language=context.language,
        own=context.own if context.caller.user_id is not None else None,
        previous=body.previous,
        writer=context.app.questions if body.provider else None,
        patience_seconds=PATIENCE * context.app.settings.api.timeout_seconds,
    )
    answer = await final_answer(growing, before_waiting=context.leave_queue)
    return ask_response(answer, context.translate)


@area.events("/ask/stream", scope=KeyScope.READ, example=EXAMPLE, data=AskResponse, is_expensive=True)
async def stream_answer(
    context: Context,
    question: Annotated[QuestionText, Query(min_length=1, description="The question.")],
    previous: Annotated[
        list[QuestionText],
        Query(max_length=MAX_PREVIOUS, description="The questions before it, the oldest first."),
    ] = [],  # noqa: B006 -- FastAPI copies defaults
) -> EventStream:
    """Ask a question, and read the answer while it is written.

    Server-sent events: each `data` is the answer so far, of the same form as the response of `POST /ask`. The
    first has what was found without a provider, and the highest price; each further one has a checked
    sentence more; the last has `is_final`.
    """
    live = answer_question(
        question,
        tenant_id=context.caller.tenant_id,
        stores=context.stores,
        index=context.app.meaning_search,
        now=context.now,
        language=context.language,
        own=context.own if context.caller.user_id is not None else None,
        previous=previous,
        writer=context.app.questions,
    )
    return EventStream(_events(await anext(live), live, context.translate))


async def _events(
    first_answer: Answer, live: AsyncIterator[Answer], translate: Callable[[Reason], str]
) -> AsyncIterator[str]:
    """The first answer has come: what refuses the question is told before the stream begins."""
    yield f"data: {ask_response(first_answer, translate).model_dump_json()}\n\n"
    async for answer in live:
        yield f"data: {ask_response(answer, translate).model_dump_json()}\n\n"


def ask_response(answer: Answer, translate: Callable[[Reason], str]) -> AskResponse:
    return AskResponse(
        question=answer.question,
        outcome=answer.outcome,
        notice=translate(answer.words),
        sentences=[_sentence(sentence) for sentence in answer.sentences],
        newest=None if answer.newest is None else _sentence(answer.newest),
        passages=[_passage(passage) for passage in answer.passages],
        written_by=answer.written_by,
        is_final=answer.is_final,
        price=None if answer.price is None else price_response(answer.price),
        replaced_count=answer.checks.replaced,
        rejected_reasons=[translate(reason) for reason in answer.checks.reasons],
        fallback=None if answer.fallback is None else translate(answer.fallback),
    )


def _sentence(sentence: AnswerSentence) -> AnswerSentenceResponse:
    return AnswerSentenceResponse(
        text=sentence.text,
        passages=list(sentence.passages),
        dated_words=_dated_words(sentence),
    )


def _dated_words(quotation: AnswerSentence | Passage) -> list[DatedWordResponse]:
    return [DatedWordResponse(start=word.start, end=word.end, day=word.day) for word in quotation.dated_words]


def _passage(passage: Passage) -> PassageResponse:
    return PassageResponse(
        post_id=str(passage.post_id),
        channel_id=passage.post_id.channel_id,
        message_id=passage.post_id.message_id,
        channel=passage.channel,
        link=passage.link,
        posted_at=passage.posted_at,
        text=passage.text,
        copies=passage.copies,
        dated_words=_dated_words(passage),
    )
