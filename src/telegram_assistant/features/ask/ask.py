"""Answers questions about the posts of a tenant's channels, with the posts that say it.

    question -> names and words -> search -> posts that have all names and enough of the words -> their sentences, cited

Three outcomes: an answer; nothing exact, with the nearest passages; nothing in these channels. Every sentence of an answer stands in the
post that it cites, or is dropped: docs/ask.md.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from itertools import combinations

from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.errors import Rejected
from telegram_assistant.features.search.search import SearchResult, search
from telegram_assistant.language.parsed_text import ParsedText, parse_text
from telegram_assistant.language.quantities import quantities_in
from telegram_assistant.language.questions import ParsedQuestion, PostMatch, match_post, parse_question
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.vectors.index import MeaningSearch

MAX_QUESTION_CHARACTERS = 500
MAX_SEARCHED_WORDS = 6
MAX_SEARCHED_NAMES = 4
SEARCHED = 25
MAX_PASSAGES = 5
MAX_SENTENCES = 3
SAME_SHARE = 0.6
ALMOST = 0.7
"""A further sentence must fit the question nearly as well as the first."""
MIN_NEAREST = 0.3
"""The share of a question's words that a nearest passage has at least, where it has none of its names."""


class Outcome(StrEnum):
    """What became of a question."""

    ANSWERED = "answered"
    NEAREST = "nearest"
    """Nothing exact was found."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The sentence of a post that fits the question best."""

    post_id: PostId
    channel: str
    link: str
    posted_at: datetime
    text: str
    copies: int


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of an answer. `passages` are the places of the passages it cites."""

    text: str
    passages: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a question: its sentences, which are empty unless it was answered, and the passages, best first."""

    question: str
    outcome: Outcome
    sentences: tuple[AnswerSentence, ...]
    passages: tuple[Passage, ...]

    @property
    def words(self) -> Reason:
        """The outcome as a sentence, with what to do."""
        return _SAYS[self.outcome]


_SAYS = {
    Outcome.ANSWERED: Reason("ask_answered", "this is what your channels say, in their own words"),
    Outcome.NEAREST: Reason("ask_nearest", "your channels say nothing exact about this; these passages are the nearest"),
    Outcome.NOTHING: Reason("ask_nothing", "this is not in your channels; ask in other words, or follow a channel that writes about it"),
}


async def ask(
    typed: str,
    *,
    tenant_id: TenantId,
    stores: TenantStores,
    index: MeaningSearch | None,
    now: datetime,
    zone: tzinfo = UTC,
    previous: str = "",
) -> Answer:
    """Answers a question. One without names goes on about the names of the previous question.

    Raises Rejected if there is no word in it to look for; Busy if PostgreSQL is unavailable.
    """
    text = " ".join(storable(typed).split())[:MAX_QUESTION_CHARACTERS]
    question = _continued(parse_question(text), parse_question(" ".join(storable(previous).split())[:MAX_QUESTION_CHARACTERS]))
    if not question.names and not question.words:
        raise Rejected(Reason("question_empty", "there is nothing to look for in this question; name what it is about"))
    found: dict[PostId, SearchResult] = {}
    answer = answer_from(question, ())
    for query in _queries(question):
        page = await search(query, tenant_id=tenant_id, stores=stores, index=index, now=now, zone=zone, limit=SEARCHED)
        found |= {one.post_id: one for one in page.found if one.post_id not in found}
        answer = await asyncio.to_thread(answer_from, question, list(found.values()))
        if answer.outcome is Outcome.ANSWERED:
            break
    return answer


def answer_from(question: ParsedQuestion, results: Sequence[SearchResult]) -> Answer:
    """Makes the answer from what a search has found. Pure: equal results give an equal answer."""
    matches = [(match_post(question, one.text), one) for one in results]
    matches.sort(key=lambda pair: (-_rank(question, pair[0]), pair[1].posted_at, pair[1].post_id))
    exact = [pair for pair in matches if pair[0].answers(question)]
    if exact:
        kept = _different(exact)
        best = kept[0][0]
        sure = [place for place, (match, _) in enumerate(kept) if match.coverage >= best.coverage and match.fit >= ALMOST * best.fit]
        sentences = tuple(AnswerSentence(kept[place][0].sentence, (place,)) for place in sure[:MAX_SENTENCES])
        return Answer(question=question.text, outcome=Outcome.ANSWERED, sentences=sentences, passages=tuple(_passage(*pair) for pair in kept))
    near = [pair for pair in matches if pair[0].names or pair[0].coverage >= MIN_NEAREST]
    passages = tuple(_passage(*pair) for pair in _different(near)[:MAX_PASSAGES])
    return Answer(question=question.text, outcome=Outcome.NEAREST if passages else Outcome.NOTHING, sentences=(), passages=passages)


def _continued(question: ParsedQuestion, previous: ParsedQuestion) -> ParsedQuestion:
    if question.names or not previous.names:
        return question
    return replace(question, names=previous.names, places=previous.places)


def _queries(question: ParsedQuestion) -> list[str]:
    """In the language of search: all names beside one other word; then the names; without names, two words at a time, then one."""
    names = [word.folded for word in question.names][:MAX_SEARCHED_NAMES]
    words = [word.folded for word in question.words][:MAX_SEARCHED_WORDS]
    beside = [" ".join((*names, word)) for word in words] if names else [" ".join(pair) for pair in combinations(words, 2)]
    alone = [" ".join(names), *(names if len(names) > 1 else ())] if names else words
    return [query for alternatives in (beside, alone) if (query := " or ".join(dict.fromkeys(alternatives)))]


def _rank(question: ParsedQuestion, match: PostMatch) -> float:
    return 2 * match.names + match.coverage + match.fit if question.names else match.coverage + match.fit


def _different(pairs: Sequence[tuple[PostMatch, SearchResult]]) -> list[tuple[PostMatch, SearchResult]]:
    """One passage of those that say the same, at the place of the best: the oldest, which nobody can push aside afterwards."""
    kept: list[tuple[PostMatch, SearchResult]] = []
    for match, result in pairs:
        said = parse_text(match.sentence)
        same = next((place for place, (other, _) in enumerate(kept) if _say_the_same(said, parse_text(other.sentence))), None)
        if same is None:
            kept.append((match, result))
        elif result.posted_at < kept[same][1].posted_at:
            kept[same] = match, result
    return kept[:MAX_PASSAGES]


def _say_the_same(one: ParsedText, other: ParsedText) -> bool:
    """Most words in common, and the same numbers: who gives another number is not left out."""
    if {number.value for number in quantities_in(one.text).all} != {number.value for number in quantities_in(other.text).all}:
        return False
    shorter, longer = sorted((one, other), key=lambda sentence: len(sentence.content))
    content = shorter.content
    return bool(content) and sum(bool(word.readings & longer.readings) for word in content) >= SAME_SHARE * len(content)


def _passage(match: PostMatch, result: SearchResult) -> Passage:
    return Passage(
        post_id=result.post_id,
        channel=result.channel,
        link=result.link,
        posted_at=result.posted_at,
        text=match.sentence,
        copies=len(result.copies),
    )
