"""Answers questions about the posts of a tenant's channels, with the posts that say it.

    question -> names and words -> search -> posts that have all names and enough of the words
                                             -> their sentences, cited
                                             -> a provider's sentences, checked

Three outcomes: an answer; nothing exact, with the nearest passages; nothing in these channels. Every sentence
of an answer stands in the post that it cites, or is dropped: docs/ask.md.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from itertools import combinations

from telegram_assistant.ai.tenant_questions import TenantQuestions
from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.errors import Rejected
from telegram_assistant.features.ask.answers import Answer, AnswerSentence, Outcome, Passage
from telegram_assistant.features.ask.writing import write_answer
from telegram_assistant.features.search.results import SearchResult
from telegram_assistant.features.search.search import search
from telegram_assistant.features.understanding.provider_texts import MAX_SENT
from telegram_assistant.language.parsed_text import ParsedText, parse_text
from telegram_assistant.language.quantities import quantities_in
from telegram_assistant.language.questions.matching import (
    ParsedQuestion,
    PostMatch,
    match_post,
    parse_question,
)
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.vectors.index import MeaningSearch

MAX_QUESTION_CHARACTERS = 500
MAX_PREVIOUS = 5
"""Questions of a thread that are remembered."""
MAX_SEARCHED_WORDS = 6
MAX_SEARCHED_NAMES = 4
SEARCHED = 25
MAX_PASSAGES = 5
MAX_SENTENCES = 3
SAME_SHARE = 0.6
ALMOST = 0.7
"""A further sentence must fit the question nearly as well as the first."""
AS_NEAR = 0.8
"""An answer has so much of the question's words as the post that has most of them,
or it is about something else.
"""
MIN_NEAREST = 0.5
"""The share of a question's words that a nearest passage has at least, where it has none of its names."""


async def answer_question(  # noqa: PLR0913 -- the question, its thread, its tenant and what answers it
    typed: str,
    *,
    tenant_id: TenantId,
    stores: TenantStores,
    index: MeaningSearch | None,
    now: datetime,
    zone: tzinfo = UTC,
    previous: Sequence[str] = (),
    writer: TenantQuestions | None = None,
    patience_seconds: float | None = None,
) -> AsyncIterator[Answer]:
    """Yields the answer as it grows: what was found without a provider, then each checked sentence that a
    provider writes, then the end.

    `writer` asks a provider if the tenant's owner has consented to it; one that takes longer than
    `patience_seconds` is not waited for. `previous` are the questions before this one, the oldest first: a
    question without names goes on about theirs. Raises Rejected if there is no word in it to look for; Busy
    if PostgreSQL is unavailable.
    """
    thread = [_tidy(text) for text in (*previous[-MAX_PREVIOUS:], typed)]
    question = _continued(thread)
    if not question.names and not question.words:
        raise Rejected(
            Reason("question_empty", "there is nothing to look for in this question; name what it is about")
        )
    results: dict[PostId, SearchResult] = {}
    answer = answer_from(question, ())
    for query in _queries(question):
        page = await search(
            query, tenant_id=tenant_id, stores=stores, index=index, now=now, zone=zone, limit=SEARCHED
        )
        results |= {result.post_id: result for result in page.found if result.post_id not in results}
        answer = await asyncio.to_thread(answer_from, question, list(results.values()))
        if answer.outcome is Outcome.ANSWERED:
            break
    if writer is None or not writer.has_writers:
        yield answer
        return
    about = await asyncio.to_thread(posts_about, question, list(results.values()))
    written = write_answer(
        answer,
        thread,
        about,
        writer=writer,
        tenant_id=tenant_id,
        stores=stores,
        patience_seconds=patience_seconds,
    )
    async for written_answer in written:
        yield written_answer


async def final_answer(
    growing: AsyncIterator[Answer], *, before_waiting: Callable[[], None] = lambda: None
) -> Answer:
    """What `answer_question` yields last.

    Calls `before_waiting` when our own work is done and a provider's begins.
    """
    answer = await anext(growing)
    before_waiting()
    async for answer in growing:  # noqa: B007 -- the last one counts
        pass
    return answer


def posts_about(
    question: ParsedQuestion, results: Sequence[SearchResult]
) -> list[tuple[Passage, SearchResult]]:
    """What a provider is asked about: posts about the question, one of those that say the same.

    Without any it is not asked.
    """
    exact = [pair for pair in _matches(question, results) if pair[0].is_about(question)]
    best = [pair for pair in exact if pair[0].coverage >= ALMOST * exact[0][0].coverage]
    return [(_passage(match, result), result) for match, result in _different(best, most=MAX_SENT)]


def answer_from(question: ParsedQuestion, results: Sequence[SearchResult]) -> Answer:
    """Makes the answer from what a search has found. Pure: equal results give an equal answer."""
    matches = _matches(question, results)
    nearest = max((match.coverage for match, _ in matches if match.is_about(question)), default=0.0)
    exact = [pair for pair in matches if pair[0].answers(question) and pair[0].coverage >= AS_NEAR * nearest]
    if exact:
        different = _different(sorted(exact, key=lambda pair: -pair[0].coverage))
        best = different[0][0]
        sure = [
            place
            for place, (match, _) in enumerate(different)
            if match.coverage >= best.coverage and match.fit >= ALMOST * best.fit
        ]
        sentences = tuple(
            AnswerSentence(different[place][0].sentence, (place,)) for place in sure[:MAX_SENTENCES]
        )
        return Answer(
            question=question.text,
            outcome=Outcome.ANSWERED,
            sentences=sentences,
            passages=tuple(_passage(*pair) for pair in different),
        )
    near = [pair for pair in matches if pair[0].names or pair[0].coverage >= MIN_NEAREST]
    passages = tuple(_passage(*pair) for pair in _different(near)[:MAX_PASSAGES])
    return Answer(
        question=question.text,
        outcome=Outcome.NEAREST if passages else Outcome.NOTHING,
        sentences=(),
        passages=passages,
    )


def _tidy(typed: str) -> str:
    return " ".join(storable(typed).split())[:MAX_QUESTION_CHARACTERS]


def _continued(thread: Sequence[str]) -> ParsedQuestion:
    """The last question.

    One without names is about the names before it; one without any word asks the question before it again.
    """
    question = parse_question(thread[-1])
    for earlier in map(parse_question, reversed(thread[:-1])):
        if question.names:
            break
        question = replace(
            question,
            names=earlier.names,
            places=earlier.places,
            roles=earlier.roles,
            words=question.words or earlier.words,
        )
    return question


def _queries(question: ParsedQuestion) -> list[str]:
    """In the language of search: all names beside one other word; then the names; without names,
    two words at a time, then one.
    """
    names = [word.folded for word in question.names][:MAX_SEARCHED_NAMES]
    words = [word.folded for word in question.words][:MAX_SEARCHED_WORDS]
    beside = (
        [" ".join((*names, word)) for word in words]
        if names
        else [" ".join(pair) for pair in combinations(words, 2)]
    )
    alone = [" ".join(names), *(names if len(names) > 1 else ())] if names else words
    return [query for alternatives in (beside, alone) if (query := " or ".join(dict.fromkeys(alternatives)))]


def _matches(
    question: ParsedQuestion, results: Sequence[SearchResult]
) -> list[tuple[PostMatch, SearchResult]]:
    """How each post fits the question, the best first."""
    matches = [(match_post(question, result.text), result) for result in results]
    return sorted(matches, key=lambda pair: (-_rank(question, pair[0]), pair[1].posted_at, pair[1].post_id))


def _rank(question: ParsedQuestion, match: PostMatch) -> float:
    return 2 * match.names + match.coverage + match.fit if question.names else match.coverage + match.fit


def _different(
    pairs: Sequence[tuple[PostMatch, SearchResult]], most: int = MAX_PASSAGES
) -> list[tuple[PostMatch, SearchResult]]:
    """One passage of those that say the same, at the place of the best: the oldest,
    which nobody can push aside afterwards.
    """
    different: list[tuple[PostMatch, SearchResult]] = []
    for match, result in pairs:
        sentence = parse_text(match.sentence)
        same = next(
            (
                place
                for place, (other, _) in enumerate(different)
                if other.names == match.names and _say_the_same(sentence, parse_text(other.sentence))
            ),
            None,
        )
        if same is None:
            different.append((match, result))
        elif result.posted_at < different[same][1].posted_at:
            different[same] = match, result
    return different[:most]


def _say_the_same(first: ParsedText, other: ParsedText) -> bool:
    """Most words in common, and the same numbers: who gives another number is not left out."""
    if {number.value for number in quantities_in(first.text).all} != {
        number.value for number in quantities_in(other.text).all
    }:
        return False
    shorter, longer = sorted((first, other), key=lambda sentence: len(sentence.content))
    content = shorter.content
    return bool(content) and sum(
        bool(word.readings & longer.readings) for word in content
    ) >= SAME_SHARE * len(content)


def _passage(match: PostMatch, result: SearchResult) -> Passage:
    return Passage(
        post_id=result.post_id,
        channel=result.channel,
        link=result.link,
        posted_at=result.posted_at,
        text=match.sentence,
        copies=len(result.copies),
    )
