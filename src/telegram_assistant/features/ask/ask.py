"""Answers questions about the posts of a tenant's channels, with the posts that say it.

    question -> names and words -> search -> posts that have all names and enough of the words
                                             -> their sentences, cited
                                             -> a provider's sentences, checked

Three outcomes: an answer; nothing exact, with the nearest passages; nothing in these channels. Every sentence
of an answer stands in the post that it cites, or is dropped: docs/ask.md.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, tzinfo
from itertools import combinations

from telegram_assistant.ai.tenant_questions import TenantQuestions
from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.errors import Rejected
from telegram_assistant.features.ask.answers import Answer, AnswerSentence, Outcome, Passage
from telegram_assistant.features.ask.days import date_quotations, tell_days
from telegram_assistant.features.ask.story_answers import (
    add_newest,
    answer_with_first,
    answer_with_news,
    asks_for_news,
    cut_first,
)
from telegram_assistant.features.ask.writing import write_answer
from telegram_assistant.features.search.results import SearchPage, SearchResult
from telegram_assistant.features.search.search import MAX_FOUND, search
from telegram_assistant.features.search.tenant_search import SearchBasis
from telegram_assistant.features.understanding.provider_texts import MAX_SENT
from telegram_assistant.language.parsed_text import ParsedText, count_shared, parse_text
from telegram_assistant.language.quantities import quantities_in
from telegram_assistant.language.questions.matching import (
    ParsedQuestion,
    PostMatch,
    match_post,
    parse_question,
)
from telegram_assistant.language.questions.periods import Period, cut_period
from telegram_assistant.language.questions.wanted import asks_itself
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores
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
MIN_COVERAGE_TO_SEND = 0.75
"""The share of a question's words that a post has that does not answer it by rule, and that a provider may
read all the same: less tempts it to answer beside the point.
"""
MIN_NEAREST = 0.5
"""The share of a question's words that a nearest passage has at least, where it has none of its names."""


async def answer_question(  # noqa: PLR0913 -- the question, its thread, its reader and what answers it
    typed_text: str,
    *,
    tenant_id: TenantId,
    stores: TenantStores,
    index: MeaningSearch | None,
    now: datetime,
    zone: tzinfo = UTC,
    language: str | None = None,
    own: PersonStores | None = None,
    previous: Sequence[str] = (),
    writer: TenantQuestions | None = None,
    patience_seconds: float | None = None,
) -> AsyncIterator[Answer]:
    """Yields the answer as it grows: what was found without a provider, then each checked sentence that a
    provider writes, then the end.

    `writer` asks a provider if the tenant's owner has consented to it; one that takes longer than
    `patience_seconds` is not waited for. `previous` are the questions before this one, the oldest first: a
    question without names goes on about theirs. News are in `language` if a post is, and leave out what the
    person of `own` has muted. Raises Rejected if there is no word in it to look for; Busy if PostgreSQL is
    unavailable.
    """
    thread = [_tidy(text) for text in (*previous[-MAX_PREVIOUS:], typed_text)]
    posts = _Posts(tenant_id, stores, index, now, zone)
    remaining_question, period = cut_period(thread[-1], posts.today)
    if asks_for_news(remaining_question) and not any(map(_has_subject, thread[:-1])):
        news = await answer_with_news(
            thread[-1], period, stores=stores, own=own, now=now, zone=zone, language=language
        )
        yield posts.date_quotations(await posts.tell_days(news, None if news.passages else period))
        return
    about_first = cut_first(thread[-1])
    if about_first is not None:
        thread[-1] = about_first
    question, period = _parse_thread(thread, posts.today)
    if not question.names and not question.words:
        raise Rejected(Reason("question_empty", "the question has no words to search for; name its subject"))
    results: dict[PostId, SearchResult] = {}
    answer, is_whole = answer_from(question, ()), True
    for query in _queries(question):
        page = await posts.search(query, period, limit=SEARCHED if about_first is None else MAX_FOUND)
        is_whole = page.cursor is None
        results |= {result.post_id: result for result in page.results if result.post_id not in results}
        answer = await asyncio.to_thread(answer_from, question, list(results.values()))
        if answer.outcome is Outcome.ANSWERED:
            break
    if about_first is not None:
        answer = replace(answer, question=_tidy(typed_text))
        answer_with_first = (
            await _answer_with_first(answer.question, question, results, stores) if is_whole else None
        )
        yield posts.date_quotations(answer_with_first or await posts.tell_days(_refuse(answer), period))
        return
    if answer.outcome is Outcome.ANSWERED and period is None:
        answer = await add_newest(answer, stores=stores, language=language)
    answer = posts.date_quotations(await posts.tell_days(answer, period))
    if writer is None or not writer.has_writers:
        yield answer
        return
    about = await asyncio.to_thread(
        posts_about, question, list(results.values()), min_coverage=MIN_COVERAGE_TO_SEND
    )
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
        yield posts.date_quotations(written_answer)


@dataclass(slots=True)
class _Posts:
    """Searches for posts that answer, as of `now`. The data that all searches need are read once."""

    tenant_id: TenantId
    stores: TenantStores
    index: MeaningSearch | None
    now: datetime
    zone: tzinfo
    basis: SearchBasis | None = None

    @property
    def today(self) -> date:
        return self.now.astimezone(self.zone).date()

    async def search(self, query: str, period: Period | None, *, limit: int = SEARCHED) -> SearchPage:
        if self.basis is None:
            scope = await self.stores.words.scope(with_policies=self.index is not None)
            self.basis = SearchBasis(scope)
        days = f" since:{period.since} until:{period.until}" if period else ""
        return await search(
            f"{query}{days}",
            tenant_id=self.tenant_id,
            stores=self.stores,
            index=self.index,
            now=self.now,
            zone=self.zone,
            limit=limit,
            basis=self.basis,
            with_marks=False,
        )

    def date_quotations(self, answer: Answer) -> Answer:
        return date_quotations(answer, self.today, self.zone)

    async def tell_days(self, answer: Answer, period: Period | None) -> Answer:
        """Says of which days the question is, and whether there are posts of them, if nothing answers it."""
        if period is None or answer.outcome is Outcome.ANSWERED:
            return answer
        has_posts = bool(answer.passages) or bool((await self.search("", period, limit=1)).results)
        return tell_days(answer, period, self.zone, has_posts=has_posts)


async def final_answer(
    growing: AsyncIterator[Answer], *, before_waiting: Callable[[], None] = lambda: None
) -> Answer:
    """The last answer that `answer_question` yields.

    Calls `before_waiting` when our own work is done and a provider's begins.
    """
    answer = await anext(growing)
    before_waiting()
    async for answer in growing:  # noqa: B007 -- the last one counts
        pass
    return answer


async def _answer_with_first(
    typed_text: str, question: ParsedQuestion, results: Mapping[PostId, SearchResult], stores: TenantStores
) -> Answer | None:
    def list_posts() -> tuple[list[Passage], list[Passage]]:
        """The best posts about the question, one of those that say the same; and every post about it."""
        all_passages = [
            _passage(match, result)
            for match, result in _matches(question, list(results.values()))
            if match.is_about(question) and match.has_roles
        ]
        return [passage for passage, _ in posts_about(question, list(results.values()))], all_passages

    about, all_passages = await asyncio.to_thread(list_posts)
    return await answer_with_first(typed_text, about, all_passages, stores=stores)


def posts_about(
    question: ParsedQuestion, results: Sequence[SearchResult], *, min_coverage: float = 0.0
) -> list[tuple[Passage, SearchResult]]:
    """Posts that answer the question, or else those about it that have so much of its words; one of those
    that say the same.
    """
    about = [pair for pair in _matches(question, results) if pair[0].is_about(question) and pair[0].has_roles]
    exact_matches = [pair for pair in about if pair[0].answers(question)] or [
        pair for pair in about if pair[0].coverage >= min_coverage
    ]
    pairs = [pair for pair in exact_matches if pair[0].coverage >= ALMOST * exact_matches[0][0].coverage]
    return [(_passage(match, result), result) for match, result in _different(pairs, max_results=MAX_SENT)]


def answer_from(question: ParsedQuestion, results: Sequence[SearchResult]) -> Answer:
    """Makes the answer from what a search has found. Pure: equal results give an equal answer."""
    matches = _matches(question, results)
    nearest = max((match.coverage for match, _ in matches if match.is_about(question)), default=0.0)
    exact_matches = [
        pair for pair in matches if pair[0].answers(question) and pair[0].coverage >= AS_NEAR * nearest
    ]
    if exact_matches:
        distinct_matches = _different(sorted(exact_matches, key=lambda pair: -pair[0].coverage))
        best_match = distinct_matches[0][0]
        sure_places = [
            match_index
            for match_index, (match, _) in enumerate(distinct_matches)
            if match.coverage >= best_match.coverage and match.fit >= ALMOST * best_match.fit
        ]
        sentences = tuple(
            AnswerSentence(distinct_matches[match_index][0].sentence, (match_index,))
            for match_index in sure_places[:MAX_SENTENCES]
        )
        return Answer(
            question=question.text,
            outcome=Outcome.ANSWERED,
            sentences=sentences,
            passages=tuple(_passage(*pair) for pair in distinct_matches),
        )
    near_matches = [pair for pair in matches if pair[0].names or pair[0].coverage >= MIN_NEAREST]
    passages = tuple(_passage(*pair) for pair in _different(near_matches)[:MAX_PASSAGES])
    return Answer(
        question=question.text,
        outcome=Outcome.NEAREST if passages else Outcome.NOTHING,
        sentences=(),
        passages=passages,
    )


def _refuse(answer: Answer) -> Answer:
    """The passages of an answer, without its sentences: they do not say what stories could have said."""
    outcome = Outcome.NEAREST if answer.passages else Outcome.NOTHING
    return replace(answer, outcome=outcome, sentences=())


def _tidy(typed_text: str) -> str:
    return " ".join(storable(typed_text).split())[:MAX_QUESTION_CHARACTERS]


def _has_subject(typed_text: str) -> bool:
    question = parse_question(typed_text)
    return bool(question.names or question.words)


def _parse_thread(thread: Sequence[str], today: date) -> tuple[ParsedQuestion, Period | None]:
    """The last question, and the days that it is about.

    One without names is about the names and days before it. One without any word asks the question before it
    again, in its own days and place if it has some.
    """
    remaining_question, period = cut_period(thread[-1], today)
    question, asks = parse_question(remaining_question), asks_itself(remaining_question)
    for typed_text in reversed(thread[:-1]):
        is_other_place = not asks and not question.words and bool(question.places)
        if question.names and not is_other_place:
            break
        earlier_rest, earlier_period = cut_period(typed_text, today)
        earlier_question = parse_question(earlier_rest)
        kept_names = [
            name
            for name in earlier_question.names
            if not is_other_place or name.folded not in earlier_question.places
        ]
        question = replace(
            question,
            names=(*kept_names, *question.names),
            places=question.places or earlier_question.places,
            roles=None if is_other_place else earlier_question.roles,
            words=question.words or earlier_question.words,
            wanted=question.wanted if asks else earlier_question.wanted,
        )
        asks, period = asks or asks_itself(earlier_rest), period or earlier_period
    return replace(question, text=thread[-1], is_dated=period is not None), period


def _queries(question: ParsedQuestion) -> list[str]:
    """In the language of search: all names beside one other word; then the names; without names,
    two words at a time, then one.
    """
    names = [word.folded for word in question.names][:MAX_SEARCHED_NAMES]
    words = [word.folded for word in question.words][:MAX_SEARCHED_WORDS]
    strict_alternatives = (
        [" ".join((*names, word)) for word in words]
        if names
        else [" ".join(pair) for pair in combinations(words, 2)]
    )
    loose_alternatives = [" ".join(names), *(names if len(names) > 1 else ())] if names else words
    return [
        query
        for alternatives in (strict_alternatives, loose_alternatives)
        if (query := " or ".join(dict.fromkeys(alternatives)))
    ]


def _matches(
    question: ParsedQuestion, results: Sequence[SearchResult]
) -> list[tuple[PostMatch, SearchResult]]:
    """How each post fits the question, the best first.

    Of equal ones the oldest, or the newest if the question is about certain days.
    """
    matches = [(match_post(question, result.text), result) for result in results]
    order = -1 if question.is_dated else 1
    return sorted(
        matches,
        key=lambda pair: (
            -_rank(question, pair[0]),
            order * pair[1].posted_at.timestamp(),
            pair[1].post_id,
        ),
    )


def _rank(question: ParsedQuestion, match: PostMatch) -> float:
    return 2 * match.names + match.coverage + match.fit if question.names else match.coverage + match.fit


def _different(
    pairs: Sequence[tuple[PostMatch, SearchResult]], max_results: int = MAX_PASSAGES
) -> list[tuple[PostMatch, SearchResult]]:
    """One passage of those that say the same, at the place of the best: the oldest,
    which nobody can push aside afterwards.
    """
    distinct_pairs: list[tuple[PostMatch, SearchResult]] = []
    for match, result in pairs:
        sentence = parse_text(match.sentence)
        same_place = next(
            (
                pair_index
                for pair_index, (other, _) in enumerate(distinct_pairs)
                if other.names == match.names and _say_the_same(sentence, parse_text(other.sentence))
            ),
            None,
        )
        if same_place is None:
            distinct_pairs.append((match, result))
        elif result.posted_at < distinct_pairs[same_place][1].posted_at:
            distinct_pairs[same_place] = match, result
    return distinct_pairs[:max_results]


def _say_the_same(one_text: ParsedText, other: ParsedText) -> bool:
    """Most words in common, and the same numbers: who gives another number is not left out."""
    if {number.value for number in quantities_in(one_text.text).all} != {
        number.value for number in quantities_in(other.text).all
    }:
        return False
    shared, words = count_shared(one_text, other)
    return words > 0 and shared >= SAME_SHARE * words


def _passage(match: PostMatch, result: SearchResult) -> Passage:
    return Passage(
        post_id=result.post_id,
        channel=result.channel,
        link=result.link,
        posted_at=result.posted_at,
        text=match.sentence,
        copies=len(result.copies),
    )
