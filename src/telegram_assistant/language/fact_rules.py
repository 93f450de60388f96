"""Facts of a sentence that cited posts must have: links, numbers with their nouns, ranges, names, dates,
quotations, speakers.

Each rule returns why the sentence cannot be shown, or None.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from telegram_assistant.language.dates import dates_in
from telegram_assistant.language.evidence import CitedPost, Evidence, is_same, noun_of, shared_words
from telegram_assistant.language.lemmas import lemma
from telegram_assistant.language.names import key_of
from telegram_assistant.language.parsed_text import (
    ParsedText,
    ParsedWord,
    may_be_name,
    parse_sentences,
    parse_text,
)
from telegram_assistant.language.quantities import quantities_in
from telegram_assistant.language.sentences import quotations
from telegram_assistant.language.speakers import has_speech, outside_quotes, speakers_in
from telegram_assistant.reasons import Reason

QUOTED_WORDS = 3
"""Fewer words in quotation marks are a name."""
MIN_STATEMENT = 0.25
"""The share of a statement's words that its source sentence has at least."""

_LINK = re.compile(
    r"(?:https?://|www\.|t\.me/)\S+|(?<!\w)[@#]\w+|\b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|ru|io|me|app|info|"
    r"рф)\b\S*",
    re.IGNORECASE,
)

type Rule = Callable[[ParsedText, Evidence], Reason | None]


def _links(claim: ParsedText, evidence: Evidence) -> Reason | None:
    for link in _LINK.findall(claim.text):
        address = link.rstrip(".,;:!?)»”\"'").casefold()
        if not any(address in post.text.casefold() for post in evidence.posts):
            return Reason("citation_link", "no cited post has the link {link!r}", link=address)
    return None


def _numbers(claim: ParsedText, evidence: Evidence) -> Reason | None:
    for quantity in quantities_in(claim.text).all:
        same_quantities = [
            other
            for other in evidence.quantities
            if (other.value, other.against) == (quantity.value, quantity.against)
        ]
        number_text = claim.text[quantity.start : quantity.end]
        if not same_quantities:
            return Reason(
                "citation_number", "the number {number!r} is in none of the cited posts", number=number_text
            )
        noun = noun_of(quantity)
        if (
            noun
            and not any(noun & noun_of(other) for other in same_quantities)
            and any(noun & noun_of(other) for other in evidence.quantities)
        ):
            return Reason(
                "citation_number_noun",
                "the cited posts give another number for “{noun}” than {number!r}",
                noun=quantity.noun,
                number=number_text,
            )
    return None


def _ranges(claim: ParsedText, evidence: Evidence) -> Reason | None:
    for low, high in quantities_in(claim.text).ranges:
        if (low, high) in evidence.ranges:
            continue
        if (high, low) in evidence.ranges or not any(_in_order(post, low, high) for post in evidence.posts):
            return Reason(
                "citation_range", "no cited post gives the range from {low} to {high}", low=low, high=high
            )
    return None


def _in_order(post: CitedPost, low: float, high: float) -> bool:
    values = [quantity.value for quantity in quantities_in(post.text).all]
    return low in values and high in values[values.index(low) + 1 :]


def _names(claim: ParsedText, evidence: Evidence) -> Reason | None:
    date_spans = [(date.start, date.end) for date in dates_in(claim.text)]
    for word in claim.words:
        if (
            not word.is_capitalised
            or not word.is_content
            or any(start <= word.start < end for start, end in date_spans)
        ):
            continue
        if (not word.begins or may_be_name(word.text)) and not evidence.has(word):
            return _unknown_name(word.text)
    for run in _name_runs(claim):
        if not any(_stands_together(run, post) for post in evidence.parsed):
            return _unknown_name(" ".join(word.text for word in run))
    for quoted_text in quotations(claim.text):
        words = parse_text(quoted_text).words
        if len(words) < QUOTED_WORDS and not all(evidence.has(word) for word in words if word.is_content):
            return _unknown_name(quoted_text)
    return None


def _unknown_name(name: str) -> Reason:
    return Reason("citation_name", "the name {name!r} is in none of the cited posts", name=name)


def _name_runs(claim: ParsedText) -> Iterator[list[ParsedWord]]:
    """Names of several words; a word that begins a sentence belongs to one only if it is a name for sure."""
    run: list[ParsedWord] = []
    for word in (*claim.words, None):
        is_part = (
            word is not None
            and word.is_capitalised
            and word.is_content
            and (not word.begins or may_be_name(word.text))
        )
        if word is not None and is_part and (not run or claim.text[run[-1].end : word.start] == " "):
            run.append(word)
            continue
        if len(run) > 1:
            yield run
        run = [word] if word is not None and is_part else []


def _stands_together(run: Sequence[ParsedWord], post: ParsedText) -> bool:
    """Whether the words of a name stand beside each other: the first name of one person is not another's."""
    firsts = [word_index for word_index, word in enumerate(post.words) if is_same(run[0], word)]
    return any(
        all(
            any(
                is_same(part, other)
                for other in post.words[max(0, word_index - len(run)) : word_index + len(run) + 1]
            )
            for part in run[1:]
        )
        for word_index in firsts
    )


def _dates(claim: ParsedText, evidence: Evidence) -> Reason | None:
    for date in dates_in(claim.text):
        if not any(
            date.is_said_by(other, post.posted_on) for post in evidence.posts for other in dates_in(post.text)
        ):
            return Reason(
                "citation_date",
                "the date {date!r} is in none of the cited posts",
                date=claim.text[date.start : date.end],
            )
    return None


def _quotations(claim: ParsedText, evidence: Evidence) -> Reason | None:
    for quotation in quotations(claim.text):
        for part in quotation.replace("...", "…").split("…"):
            words = parse_text(part).words
            if len(words) >= QUOTED_WORDS and not any(_contains(post, words) for post in evidence.parsed):
                return Reason(
                    "citation_quote",
                    "no cited post contains the quotation {quotation!r}",
                    quotation=quotation,
                )
    return None


def _contains(text: ParsedText, words: Sequence[ParsedWord]) -> bool:
    sought_text = f" {' '.join(lemma(word.folded) for word in words)} "
    return sought_text in f" {' '.join(lemma(word.folded) for word in text.words)} "


def _speakers(claim: ParsedText, evidence: Evidence) -> Reason | None:
    speakers = speakers_in(claim)
    if not speakers:
        return None
    statement = [word for word in claim.content if word not in speakers]
    for post in evidence.posts:
        if post.channel and any(word.readings & parse_text(post.channel).readings for word in speakers):
            return None
        sentences = parse_sentences(post.text)
        best_place = max(
            range(len(sentences)),
            key=lambda word_index: shared_words(statement, sentences[word_index]),
            default=None,
        )
        if best_place is None or shared_words(statement, sentences[best_place]) < MIN_STATEMENT:
            continue
        spoken_sentences = (
            sentences[best_place : best_place + 1]
            if has_speech(sentences[best_place])
            else sentences[max(0, best_place - 1) : best_place + 2]
        )
        around_words = frozenset[str]().union(
            *(
                reading
                for sentence in spoken_sentences
                for word in outside_quotes(sentence)
                for reading in (word.readings,)
            )
        )
        keys = frozenset[str]().union(*(sentence.keys for sentence in spoken_sentences))
        known_speakers = [
            word
            for word in speakers
            if word.readings & around_words or (word.is_capitalised and key_of(word.text) in keys)
        ]
        if len(known_speakers) * 2 >= len(speakers):
            return None
    return Reason(
        "citation_speaker",
        "no cited post says that {speaker!r} said it",
        speaker=" ".join(word.text for word in speakers),
    )


FACT_RULES: tuple[Rule, ...] = (_links, _ranges, _numbers, _names, _dates, _quotations, _speakers)
