"""Sentences that say nothing without what stood around them: the caption of a picture, the second half of a
sentence, an exclamation of whoever wrote it.
"""

import re

from telegram_assistant.language.parsed_text import ParsedText, parts_of_speech

_CAPTION = re.compile(
    r"\W*(?:(?:ещ[её]|новые|первые|те самые)\s+)*(?:кадры|видеокадры|фотокадры|фото|видео|момент|"
    r"(?:more |new |the )*(?:footage|photos?|video|moment))\b",
    re.IGNORECASE,
)
_DASH = re.compile(r"\s[—–-]\s")
_QUOTED = re.compile(r"[«\"“„]")
_FIRST_PERSON_WORDS = "я мне меня мной мой моя мое мои надеюсь думаю считаю i my me i'm i'd i've"
_FIRST_PERSON = frozenset(_FIRST_PERSON_WORDS.split())
_PREDICATES = frozenset({"VERB", "INFN", "PRTS", "PRED", "ADJS", "GRND", "COMP"})
_PREPOSITION = "PREP"


def is_fragment(sentence: ParsedText) -> bool:
    """Whether a sentence is a caption, begins in the middle, has no predicate, or speaks of its writer."""
    return bool(sentence.words) and (
        _CAPTION.match(sentence.text) is not None
        or _begins_in_the_middle(sentence)
        or _has_no_predicate(sentence)
        or _speaks_of_its_writer(sentence)
    )


def _begins_in_the_middle(sentence: ParsedText) -> bool:
    """«iPhone» begins a sentence, «в городе» continues one."""
    first = sentence.words[0]
    return sentence.text.lstrip().startswith(first.text) and first.text.islower()


def _has_no_predicate(sentence: ParsedText) -> bool:
    """A Russian sentence that begins with a preposition, and goes on without a verb or a dash."""
    if not sentence.is_cyrillic or _DASH.search(sentence.text):
        return False
    first, *others = sentence.words
    return _PREPOSITION in parts_of_speech(first.text) and not any(
        parts_of_speech(word.text) & _PREDICATES for word in others
    )


def _speaks_of_its_writer(sentence: ParsedText) -> bool:
    """A quotation in the first person has quotation marks, or a dash before its speaker."""
    return (
        any(word.folded in _FIRST_PERSON for word in sentence.words)
        and not _QUOTED.search(sentence.text)
        and not _DASH.search(sentence.text)
    )
