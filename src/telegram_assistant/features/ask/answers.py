"""The answer to a question: its outcome, sentences with their passages, and what it has cost."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.domain.understanding.sentence_checks import NO_CHECKS, SentenceChecks
from telegram_assistant.features.understanding.provider_texts import WritingPrice
from telegram_assistant.reasons import Reason


class Outcome(StrEnum):
    """The outcome of a question."""

    ANSWERED = "answered"
    NEAREST = "nearest"
    """Nothing exact was found."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class DatedWord:
    """A word of a text such as «сегодня», and the day that it means."""

    start: int
    end: int
    day: date
    is_other_year: bool = False
    """Whether the day is not of the reader's year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The sentence of a post that fits the question best,
    with the one before it where it cannot stand alone.
    """

    post_id: PostId
    channel: str
    link: str
    posted_at: datetime
    text: str
    copies: int
    dated_words: tuple[DatedWord, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of an answer. `passages` are the places of the passages it cites."""

    text: str
    passages: tuple[int, ...]
    dated_words: tuple[DatedWord, ...] = ()
    """None if the post is of the day on which it is quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a question: its sentences, which are empty unless it was answered, and the passages,
    best first.
    """

    question: str
    outcome: Outcome
    sentences: tuple[AnswerSentence, ...]
    passages: tuple[Passage, ...]
    written_by: Tier = Tier.LOCAL
    """LOCAL: the sentences stand in the posts word for word."""
    is_final: bool = True
    """False while a provider writes: more sentences may follow."""
    price: WritingPrice | None = None
    checks: SentenceChecks = NO_CHECKS
    fallback: Reason | None = None
    """Why a provider that could have written it did not."""
    notice: Reason | None = None
    """The introduction of an answer from a story, instead of the outcome's own sentence."""
    newest: AnswerSentence | None = None
    """The latest change since the sentences were written, if their story tells one."""

    @property
    def words(self) -> Reason:
        """The outcome as a sentence, with what to do."""
        if self.notice is not None:
            return self.notice
        return _WRITTEN if self.written_by is Tier.PROVIDER else _SAYS[self.outcome]


_SAYS = {
    Outcome.ANSWERED: Reason("ask_answered", "your channels report this, in their own words"),
    Outcome.NEAREST: Reason(
        "ask_nearest", "your channels have no exact answer; these passages are the closest"
    ),
    Outcome.NOTHING: Reason(
        "ask_nothing",
        "your channels do not report this; rephrase the question, or follow a channel about it",
    ),
}
_WRITTEN = Reason(
    "ask_written",
    "a provider wrote this from your channels' posts; every sentence was compared with the posts that it "
    "cites",
)
NOTHING_FOUND = Reason(
    "ask_provider_nothing", "the provider found no answer in these posts, so this shows the posts' own words"
)
SINCE_THEN = Reason("ask_since_then", "this has changed since")
