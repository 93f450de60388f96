"""Whether cited posts support a sentence: word by word, without any model.

    checked = check_sentence("В Элмстеде без воды остались 315 домов.", posts)
    if checked.verdict is not Verdict.DROPPED:
        print(checked.text, checked.sources)

Two sets of rules. Facts veto: a number with its noun, a range, a name, a date, a quotation or a speaker that
no cited post has drops the sentence. Words replace: too few words in common, a negation or an opposite that
the posts do not have, or names in another order, and the nearest sentence of a cited post takes its place,
word for word. docs/citations.md says what words cannot catch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from telegram_assistant.language.evidence import CitedPost, Evidence, count_supporting, nearest_sentences
from telegram_assistant.language.fact_rules import FACT_RULES
from telegram_assistant.language.parsed_text import parse_text
from telegram_assistant.language.word_rules import WORD_RULES
from telegram_assistant.reasons import Reason

__all__ = ["CheckedSentence", "CitedPost", "Verdict", "check_sentence"]

MIN_NEAREST = 0.2
"""A source sentence that shares fewer words is about something else."""


class Verdict(StrEnum):
    """The outcome of the check of a sentence."""

    SUPPORTED = "supported"
    REPLACED = "replaced"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """`text` is what may be shown: the sentence, the source sentence in its place, or nothing."""

    text: str
    verdict: Verdict
    reason: Reason | None = None
    sources: tuple[int, ...] = ()
    """Places of the cited posts that support what is shown, best first: those with all its facts,
    or else those that have them together.
    """


def check_sentence(sentence: str, posts: Sequence[CitedPost]) -> CheckedSentence:
    """Checks one sentence against the posts it cites.

    Posts in another alphabet than the sentence support nothing.
    """
    claim = parse_text(sentence)
    cited_posts = [
        (post_index, post)
        for post_index, post in enumerate(posts)
        if parse_text(post.text).is_cyrillic == claim.is_cyrillic
    ]
    if not cited_posts:
        return CheckedSentence(
            "",
            Verdict.DROPPED,
            Reason("citation_language", "no cited post is in the language of the sentence"),
        )
    evidence = Evidence(tuple(post for _, post in cited_posts))
    ranked_sentences = nearest_sentences(claim, evidence.posts)
    post_numbers = tuple(cited_posts[post_index][0] for post_index, _, _ in ranked_sentences)
    if ranked_sentences and ranked_sentences[0][2].text.strip(" .!") == sentence.strip(" .!"):
        return CheckedSentence(sentence, Verdict.SUPPORTED, None, post_numbers[:1])
    for veto in FACT_RULES:
        if (reason := veto(claim, evidence)) is not None:
            return CheckedSentence("", Verdict.DROPPED, reason)
    for objection in WORD_RULES:
        if (reason := objection(claim, evidence)) is not None:
            if ranked_sentences and ranked_sentences[0][1] >= MIN_NEAREST:
                return CheckedSentence(
                    ranked_sentences[0][2].text, Verdict.REPLACED, reason, post_numbers[:1]
                )
            return CheckedSentence("", Verdict.DROPPED, reason)
    supporting = list(dict.fromkeys(post_numbers[: count_supporting(ranked_sentences)]))
    sufficient_places = (
        [
            post_index
            for post_index in supporting
            if not any(veto(claim, Evidence((posts[post_index],))) for veto in FACT_RULES)
        ]
        if len(supporting) > 1
        else []
    )
    return CheckedSentence(sentence, Verdict.SUPPORTED, None, tuple(sufficient_places or supporting))
