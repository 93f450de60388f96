"""Questions about posts, answered with the posts that say it."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import RequestModel, ResponseModel, Storable
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.ask.ask import MAX_QUESTION_CHARACTERS, Answer, Outcome, Passage, ask
from telegram_assistant.reasons import Reason

area = Area("Ask", "Ask questions about the posts of the followed channels.")

QUESTION = "How long will Stone Bridge in Solntsebor be closed?"
EXAMPLE = {
    "question": QUESTION,
    "outcome": "answered",
    "notice": "this is what your channels say, in their own words",
    "sentences": [{"text": "Stone Bridge in Solntsebor is closed for 16 days.", "passages": [0]}],
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
        }
    ],
}
QuestionText = Annotated[Storable, Field(max_length=MAX_QUESTION_CHARACTERS)]


class AskRequest(RequestModel):
    """A question. If it has no names, it goes on about the names of the previous one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"question": QUESTION}, {"question": "Why?", "previous": QUESTION}]})

    question: Annotated[QuestionText, Field(min_length=1)]
    previous: QuestionText = ""


class AnswerSentenceResponse(ResponseModel):
    """A sentence of the answer. `passages` are the places of the passages that say it."""

    text: str
    passages: list[int]


class PassageResponse(ResponseModel):
    """The sentence of a post that fits the question best. `copies`: how many more posts have the same text."""

    post_id: str
    channel_id: int
    message_id: int
    channel: str
    link: str
    posted_at: datetime
    text: str
    copies: int


class AskResponse(ResponseModel):
    """`answered`: `sentences` answer it. `nearest`: nothing exact was found. `nothing`: the channels do not write about it."""

    question: str
    outcome: Outcome
    notice: str = Field(description="`outcome` as a sentence.")
    sentences: list[AnswerSentenceResponse]
    passages: list[PassageResponse]


@area.post("/ask", scope=KeyScope.READ, example=EXAMPLE)
async def ask_question(context: Context, body: AskRequest) -> AskResponse:
    """Ask a question about the posts of the followed channels.

    The answer consists of sentences of posts, each with the posts that say it. No model writes it. Questions that the posts do not answer
    are refused rather than guessed.
    """
    answer = await ask(
        body.question,
        tenant_id=context.caller.tenant_id,
        stores=context.stores,
        index=context.app.meaning_search,
        now=context.now,
        previous=body.previous,
    )
    return ask_response(answer, context.say)


def ask_response(answer: Answer, say: Callable[[Reason], str]) -> AskResponse:
    return AskResponse(
        question=answer.question,
        outcome=answer.outcome,
        notice=say(answer.words),
        sentences=[AnswerSentenceResponse(text=one.text, passages=list(one.passages)) for one in answer.sentences],
        passages=[_passage(one) for one in answer.passages],
    )


def _passage(one: Passage) -> PassageResponse:
    return PassageResponse(
        post_id=str(one.post_id),
        channel_id=one.post_id.channel_id,
        message_id=one.post_id.message_id,
        channel=one.channel,
        link=one.link,
        posted_at=one.posted_at,
        text=one.text,
        copies=one.copies,
    )
