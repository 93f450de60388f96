"""How an edit changed what a post says: a number, a name, a date, a negation, how certain it is, or its
spelling alone.
"""

from dataclasses import dataclass
from enum import StrEnum

from telegram_assistant.reasons import Reason


class MeaningKind(StrEnum):
    """The kind of difference between two versions of a text."""

    NUMBER = "number"
    NAME = "name"
    DATE = "date"
    NEGATION = "negation"
    CERTAINTY = "certainty"
    SPELLING = "spelling"
    """Nothing else: a misspelt word, punctuation or capitals."""


WEIGHTS = {
    MeaningKind.NEGATION: 6,
    MeaningKind.NUMBER: 5,
    MeaningKind.NAME: 4,
    MeaningKind.DATE: 4,
    MeaningKind.CERTAINTY: 3,
    MeaningKind.SPELLING: -1,
}
MAX_WEIGHT = 100


@dataclass(frozen=True, slots=True)
class MeaningChange:
    """One such change, as written before and after; empty: it was added, or removed, or is no word."""

    kind: MeaningKind
    before: str
    after: str

    @property
    def words(self) -> Reason:
        before, after = self.before, self.after
        phrases = {
            (MeaningKind.NUMBER, True, True): Reason(
                "number_changed", "a number changed: {before} → {after}", before=before, after=after
            ),
            (MeaningKind.NUMBER, False, True): Reason(
                "number_added", "a number was added: {after}", after=after
            ),
            (MeaningKind.NUMBER, True, False): Reason(
                "number_removed", "a number was removed: {before}", before=before
            ),
            (MeaningKind.NAME, True, True): Reason(
                "name_changed", "a name changed: {before} → {after}", before=before, after=after
            ),
            (MeaningKind.NAME, False, True): Reason("name_added", "a name was added: {after}", after=after),
            (MeaningKind.NAME, True, False): Reason(
                "name_removed", "a name was removed: {before}", before=before
            ),
            (MeaningKind.DATE, True, True): Reason(
                "date_changed", "a date changed: {before} → {after}", before=before, after=after
            ),
            (MeaningKind.DATE, False, True): Reason("date_added", "a date was added: {after}", after=after),
            (MeaningKind.DATE, True, False): Reason(
                "date_removed", "a date was removed: {before}", before=before
            ),
            (MeaningKind.NEGATION, False, True): Reason("negation_added", "“{after}” was added", after=after),
            (MeaningKind.NEGATION, True, False): Reason(
                "negation_removed", "“{before}” was removed", before=before
            ),
            (MeaningKind.CERTAINTY, False, True): Reason(
                "became_less_certain", "less certain now: “{after}” was added", after=after
            ),
            (MeaningKind.CERTAINTY, True, False): Reason(
                "became_more_certain", "more certain now: “{before}” was removed", before=before
            ),
            (MeaningKind.SPELLING, True, True): Reason(
                "spelling_changed",
                "only the spelling changed: {before} → {after}",
                before=before,
                after=after,
            ),
            (MeaningKind.SPELLING, False, False): Reason(
                "punctuation_changed", "only punctuation, spaces or capitals changed"
            ),
        }
        return phrases[self.kind, bool(before), bool(after)]


def weight_of(changes: tuple[MeaningChange, ...]) -> int:
    """How much the meaning changed, to compare edits with each other; 1 if other words changed only,
    0 if only the spelling did.
    """
    return min(MAX_WEIGHT, 1 + sum(WEIGHTS[change.kind] for change in changes))
