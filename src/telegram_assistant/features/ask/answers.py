"""What a question comes to: its outcome, sentences with their passages, and what it has cost."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.domain.understanding.sentence_checks import NO_CHECKS, SentenceChecks
from telegram_assistant.features.understanding.provider_texts import WritingPrice
from telegram_assistant.reasons import Reason


class Outcome(StrEnum):
    """What became of a question."""

    ANSWERED = "answered"
    NEAREST = "nearest"
    """Nothing exact was found."""
    NOTHING = "nothing"


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


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of an answer. `passages` are the places of the passages it cites."""

    text: str
    passages: tuple[int, ...]


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

    @property
    def words(self) -> Reason:
        """The outcome as a sentence, with what to do."""
        return _WRITTEN if self.written_by is Tier.PROVIDER else _SAYS[self.outcome]


_SAYS = {
    Outcome.ANSWERED: Reason("ask_answered", "this is what your channels say, in their own words"),
    Outcome.NEAREST: Reason(
        "ask_nearest", "your channels say nothing exact about this; these passages are the nearest"
    ),
    Outcome.NOTHING: Reason(
        "ask_nothing",
        "this is not in your channels; ask in other words, or follow a channel that writes about it",
    ),
}
_WRITTEN = Reason(
    "ask_written",
    "a provider wrote this from your channels' posts; every sentence was compared with the posts that it "
    "cites",
)
NOTHING_FOUND = Reason(
    "ask_provider_nothing", "the provider found no answer in these posts; these are the posts' own words"
)
