"""Lets a provider write the answer to a question from numbered posts,
and shows only those of its sentences that the posts support.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from telegram_assistant.ai.gate_results import Understood
from telegram_assistant.ai.outputs import Prose
from telegram_assistant.ai.prompting import prompt
from telegram_assistant.ai.tenant_questions import TenantQuestions, WritingOffer
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.understanding.policy import Tier, Urgency
from telegram_assistant.errors import Busy
from telegram_assistant.features.ask.answers import NOTHING_FOUND, Answer, AnswerSentence, Outcome, Passage
from telegram_assistant.features.search.results import SearchResult
from telegram_assistant.features.understanding.provider_texts import (
    MAX_HEADING_CHARACTERS,
    MAX_SENT,
    MAX_SENT_CHARACTERS,
    NOT_SENT,
    UNSUPPORTED,
    WritingPrice,
    cited_posts,
    passages_of,
    price_of,
    sendable_posts,
    why_not_written,
)
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.summaries.written_sentences import WrittenSentence, WrittenText

PROMPT = "answer"
MAX_QUESTIONS_CHARACTERS = 1_500
MAX_TOKENS = 700
MAX_CHARACTERS = MAX_SENT * (MAX_SENT_CHARACTERS + MAX_HEADING_CHARACTERS) + MAX_QUESTIONS_CHARACTERS


async def offer_writing(writer: TenantQuestions, *, tenant_id: TenantId) -> WritingOffer | None:
    """The provider that would answer, and the most that a question can cost.

    None if no provider may be asked.
    """
    return await writer.offer(
        len(prompt(PROMPT).text) + MAX_CHARACTERS, max_tokens=MAX_TOKENS, tenant_id=tenant_id
    )


async def write_answer(
    answer: Answer,
    thread: Sequence[str],
    about: Sequence[tuple[Passage, SearchResult]],
    *,
    writer: TenantQuestions,
    tenant_id: TenantId,
    stores: TenantStores,
    patience_seconds: float | None,
) -> AsyncIterator[Answer]:
    """Yields what was found without a provider, then the answer with each further sentence. `thread` ends
    with the question.

    Sends only posts whose channels may be sent, and none that speaks to a model. If nothing comes of it, what
    was found stands.
    """
    if not about:
        yield answer
        return
    passage_of = {result.post_id: passage for passage, result in about}
    sent_results = await sendable_posts([result for _, result in about], stores=stores)
    data = _data(thread, sent_results)
    offer = await writer.offer(
        len(prompt(PROMPT).text) + len(data), max_tokens=MAX_TOKENS, tenant_id=tenant_id
    )
    if offer is None or not sent_results:
        yield answer if offer is None else replace(answer, fallback=NOT_SENT)
        return
    price = price_of(offer)
    yield replace(answer, price=price, is_final=False)
    text = WrittenText(cited_posts(sent_results))
    passages = tuple(passage_of[result.post_id] for result in sent_results)
    writing = _Writing(writer, data, tenant_id, patience_seconds)
    async for piece in writing.pieces():
        for sentences in await asyncio.to_thread(_add_piece, text, piece):
            yield _answer(answer, sentences, passages, text, price, is_final=False)
    understood_answer = writing.understood
    if understood_answer is None or understood_answer.value is None:
        yield replace(
            answer,
            price=price,
            fallback=why_not_written(understood_answer.reason if understood_answer is not None else None),
        )
        return
    await asyncio.to_thread(list, text.end(understood_answer.value.text))
    price = replace(
        price,
        model=understood_answer.model,
        provider=understood_answer.provider,
        spent_micro=understood_answer.cost_micro,
    )
    if text.sentences:
        yield _answer(answer, text.sentences, passages, text, price, is_final=True)
    else:
        reason = NOTHING_FOUND if text.says_nothing and not text.checks.left_out else UNSUPPORTED
        yield replace(answer, price=price, fallback=reason, checks=text.checks)


class _Writing:
    """A call to a provider whose answer is heard while it is written."""

    def __init__(
        self, writer: TenantQuestions, data: str, tenant_id: TenantId, patience_seconds: float | None
    ) -> None:
        self._writer, self._data, self._tenant_id, self._patience_seconds = (
            writer,
            data,
            tenant_id,
            patience_seconds,
        )
        self._pieces: asyncio.Queue[str | None] = asyncio.Queue()
        self.understood: Understood[Prose] | None = None
        """None if nothing came in time, or our own stores are away."""

    async def pieces(self) -> AsyncIterator[str]:
        """The pieces as they come.

        Whoever stops listening ends the waiting, not the call: its answer is kept for the next time.
        """
        call = asyncio.create_task(self._call())
        try:
            while (piece := await self._pieces.get()) is not None:
                yield piece
        finally:
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)

    async def _call(self) -> None:
        try:
            async with asyncio.timeout(self._patience_seconds):
                self.understood = await self._writer.write(
                    prompt(PROMPT),
                    self._data,
                    tenant_id=self._tenant_id,
                    urgency=Urgency.QUESTION,
                    max_tokens=MAX_TOKENS,
                    hear=self._pieces.put_nowait,
                )
        except (TimeoutError, Busy):
            self.understood = None
        finally:
            self._pieces.put_nowait(None)


def _data(thread: Sequence[str], sent_results: Sequence[SearchResult]) -> str:
    earlier_questions = "".join(f"Asked before: {question}\n" for question in thread[:-1])[
        -MAX_QUESTIONS_CHARACTERS // 2 :
    ]
    return f"{earlier_questions}QUESTION: {thread[-1]}\n\nPASSAGES\n\n{passages_of(sent_results)}"


def _add_piece(text: WrittenText, piece: str) -> list[tuple[WrittenSentence, ...]]:
    """The sentences that may be shown after each sentence that is complete with this piece."""
    return [tuple(text.sentences) for _ in text.hear(piece)]


def _answer(
    answer: Answer,
    sentences: Sequence[WrittenSentence],
    passages: tuple[Passage, ...],
    text: WrittenText,
    price: WritingPrice,
    *,
    is_final: bool,
) -> Answer:
    return Answer(
        question=answer.question,
        outcome=Outcome.ANSWERED,
        sentences=tuple(AnswerSentence(sentence.text, sentence.posts) for sentence in sentences),
        passages=passages,
        written_by=Tier.PROVIDER,
        is_final=is_final,
        price=price,
        checks=text.checks,
    )
