"""What a question comes to: its outcome, sentences with their passages, and what it has cost."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.understanding.policy import FallbackReason, Tier
from telegram_assistant.reasons import Reason
from telegram_assistant.summaries.written_sentences import SentenceChecks


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


@dataclass(frozen=True, slots=True)
class AnswerPrice:
    """What a provider may cost at most, and what it has cost, in millionths of the unit."""

    provider: str
    model: str
    unit: str
    highest_micro: int
    spent_micro: int | None = None
    """None while it writes, and if it failed: then *AI and cost* shows what was billed."""


NO_CHECKS = SentenceChecks()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a question: its sentences, which are empty unless it was answered, and the passages, best first."""

    question: str
    outcome: Outcome
    sentences: tuple[AnswerSentence, ...]
    passages: tuple[Passage, ...]
    written_by: Tier = Tier.LOCAL
    """LOCAL: the sentences stand in the posts word for word."""
    is_final: bool = True
    """False while a provider writes: more sentences may follow."""
    price: AnswerPrice | None = None
    checks: SentenceChecks = NO_CHECKS
    fallback: Reason | None = None
    """Why a provider that could have written it did not."""

    @property
    def words(self) -> Reason:
        """The outcome as a sentence, with what to do."""
        return _WRITTEN if self.written_by is Tier.PROVIDER else _SAYS[self.outcome]


_SAYS = {
    Outcome.ANSWERED: Reason("ask_answered", "this is what your channels say, in their own words"),
    Outcome.NEAREST: Reason("ask_nearest", "your channels say nothing exact about this; these passages are the nearest"),
    Outcome.NOTHING: Reason("ask_nothing", "this is not in your channels; ask in other words, or follow a channel that writes about it"),
}
_WRITTEN = Reason("ask_written", "a provider wrote this from your channels' posts; every sentence was compared with the posts that it cites")
NOTHING_FOUND = Reason("ask_provider_nothing", "the provider found no answer in these posts; this is what was found without it")
UNSUPPORTED = Reason("ask_provider_unsupported", "your posts support nothing of what the provider wrote; this is what was found without it")
NOT_SENT = Reason("ask_not_sent", "no provider was asked: the channels that write about this are not to be sent to one")
NO_BUDGET = Reason("ask_no_budget", "this month's budget does not cover the question, so no provider was asked; this is what was found without it")
AWAY = Reason("ask_provider_away", "the provider does not answer now; this is what was found without it")
REFUSED = Reason("ask_provider_refused", "the provider does not speak about this; this is what was found without it")
UNUSABLE = Reason("ask_provider_unusable", "the provider's answer could not be used; this is what was found without it")
FALLBACKS = {
    FallbackReason.NO_BUDGET: NO_BUDGET,
    FallbackReason.BLACKLIST: REFUSED,
    FallbackReason.FAILED: UNUSABLE,
}
"""Every other reason means that it is away."""
