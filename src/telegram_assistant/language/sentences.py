"""Splits Russian and English posts into sentences.

A quotation with several sentences stays whole. Abbreviations, initials and decimals do not end a sentence;
«млн.» and "p.m." may.
"""

import re
from functools import lru_cache

MAX_CHARACTERS = 12_000
MAX_QUOTED = 600
"""A quotation mark that is not closed within so many characters quotes nothing."""
_NEVER_WORDS = """
им ул пр просп пл пер д дом корп кв стр св проф акад доц гр гн обл р-н тел см ср рис табл напр англ лат нем фр
т ч п с и ст гл
mr mrs ms dr st mt ft prof gen col lt sgt capt rev hon sen rep gov vs no vol fig pp ed eg ie e.g i.e
jan feb mar apr jun jul aug sep sept oct nov dec
"""
_NEVER = frozenset(_NEVER_WORDS.split())
"""Abbreviations that stand before the word they belong to."""
_BOUNDARY = re.compile(r"[.!?…]+[»”\"'’)\]]*(?=\s)")
_BEGINS = re.compile(r"\s+[^\w\s]*[A-ZА-ЯЁ0-9«“\"(]")
_LAST_WORD = re.compile(r"([^\W_][\w.-]*)$")
_QUOTED = re.compile(
    rf"«[^»\n]{{1,{MAX_QUOTED}}}»|“[^”\n]{{1,{MAX_QUOTED}}}”|(?<!\w)\"[^\"\n]{{1,{MAX_QUOTED}}}\""
)
_EDGE = re.compile(r"^[^\w«“\"(\[@#+$€£₽№%]+|\s+$")
_WORD = re.compile(r"\w")
_YEAR = re.compile(r"\d\s*(?:г|гг)$")
_CAPTION = re.compile(r"[^\W\d_]")


@lru_cache(maxsize=20_000)
def split_sentences(text: str) -> tuple[str, ...]:
    """The sentences in their order, without bullets and emoji in front.

    A line that ends without a full stop is one of them.
    """
    return tuple(sentence for line in text[:MAX_CHARACTERS].splitlines() for sentence in _of_line(line))


@lru_cache(maxsize=20_000)
def quotations(text: str) -> tuple[str, ...]:
    """The texts between quotation marks, without the marks."""
    return tuple(match.group()[1:-1].strip() for match in _QUOTED.finditer(text[:MAX_CHARACTERS]))


def is_headline(sentence: str) -> bool:
    """Whether a line reads like a headline: it has words, and no full stop at its end."""
    return bool(_CAPTION.search(sentence)) and sentence[-1:] not in ".!?…:;,"


def _of_line(line: str) -> list[str]:
    quoted_spans = [quotation.span() for quotation in _QUOTED.finditer(line)]
    starts = [0]
    for match in _BOUNDARY.finditer(line):
        end = match.end()
        if not _BEGINS.match(line, end) or any(
            begin < match.start() and end < close for begin, close in quoted_spans
        ):
            continue
        if match.group()[0] == "." and _is_abbreviation(line[starts[-1] : match.start()]):
            continue
        starts.append(end)
    pieces = (
        _EDGE.sub("", line[start:end]) for start, end in zip(starts, [*starts[1:], len(line)], strict=True)
    )
    return [piece.strip() for piece in pieces if _WORD.search(piece)]


def _is_abbreviation(before: str) -> bool:
    match = _LAST_WORD.search(before)
    if match is None:
        return False
    word = match.group(1)
    if before[: match.start()].endswith("/"):
        return False
    if len(word) == 1 and word.isupper():
        return True
    folded_word = word.casefold()
    if folded_word in {"г", "гг"}:
        return _YEAR.search(before) is None
    return folded_word in _NEVER
