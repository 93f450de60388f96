"""Results of comparing a model's sentences with the posts that they cite."""

from dataclasses import dataclass
from enum import StrEnum

from telegram_assistant.reasons import Reason


class LeftOut(StrEnum):
    """Why a sentence is not shown.

    It does not say what was invented: readers are told that it was left out, and do not read it.
    """

    LINK = "link"
    NUMBER = "number"
    NAME = "name"
    DATE = "date"
    QUOTE = "quote"
    SPEAKER = "speaker"
    LANGUAGE = "language"
    WORDS = "words"
    UNCITED = "uncited"

    @property
    def reason(self) -> Reason:
        return _REASONS[self]


_REASONS = {
    LeftOut.LINK: Reason("left_out_link", "a link missing from the cited posts"),
    LeftOut.NUMBER: Reason("left_out_number", "a number missing from the cited posts"),
    LeftOut.NAME: Reason("left_out_name", "a name missing from the cited posts"),
    LeftOut.DATE: Reason("left_out_date", "a date missing from the cited posts"),
    LeftOut.QUOTE: Reason("left_out_quote", "a quotation missing from the cited posts"),
    LeftOut.SPEAKER: Reason(
        "left_out_speaker", "words that the cited posts do not attribute to this speaker"
    ),
    LeftOut.LANGUAGE: Reason("left_out_language", "it cites posts in another language"),
    LeftOut.WORDS: Reason("left_out_words", "it does not match the posts that it cites"),
    LeftOut.UNCITED: Reason("left_out_uncited", "it cites no post"),
}


@dataclass(frozen=True, slots=True)
class SentenceChecks:
    """How many sentences of a model were replaced by those of the posts, and why others were left out."""

    left_out: tuple[LeftOut, ...] = ()
    replaced: int = 0

    @property
    def reasons(self) -> tuple[Reason, ...]:
        return tuple(cause.reason for cause in self.left_out)

    def __add__(self, other: "SentenceChecks") -> "SentenceChecks":
        return SentenceChecks((*self.left_out, *other.left_out), self.replaced + other.replaced)


NO_CHECKS = SentenceChecks()
