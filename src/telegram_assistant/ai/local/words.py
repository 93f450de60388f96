"""Keywords and tags of a text by its words: lemmas for Russian where pymorphy3 is installed, endings for English."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from telegram_assistant.ai.local.stop_words import STOP_WORDS

WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
HASHTAG = re.compile(r"(?<![\w/&])#([^\W\d_]\w{1,39})")
FEWEST_LETTERS = 3
MOST_CHARACTERS = 20_000
"""What a post is about is said before that."""
ENGLISH_ENDINGS = (("sses", "ss"), ("ies", "y"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("ss", "ss"), ("us", "us"), ("is", "is"), ("s", ""))

type Lemma = Callable[[str], tuple[str, bool]]
"""The word's dictionary form, and whether it names something."""


def plain_lemma(word: str) -> tuple[str, bool]:
    """What can be done without a dictionary."""
    if word.isascii():
        return next((word[: -len(ending)] + rest for ending, rest in ENGLISH_ENDINGS if word.endswith(ending)), word), True
    return word, True


def lemmas_of(text: str, lemma: Lemma) -> Iterable[tuple[str, bool]]:
    for word in WORD.findall(text[:MOST_CHARACTERS].casefold()):
        if len(word) >= FEWEST_LETTERS and word not in STOP_WORDS:
            yield lemma(word)


def keywords_of(text: str, lemma: Lemma, *, most: int = 5) -> tuple[str, ...]:
    """Hashtags first, then the words that name something, by how often and how early they come."""
    named = [tag.casefold() for tag in dict.fromkeys(HASHTAG.findall(text[:MOST_CHARACTERS]))]
    words = [word for word, is_name in lemmas_of(HASHTAG.sub(" ", text), lemma) if is_name and word not in STOP_WORDS]
    first = {word: place for place, word in reversed(list(enumerate(words)))}
    counted = Counter(words)
    ranked = sorted(counted, key=lambda word: (-counted[word], first[word]))
    return tuple(dict.fromkeys([*named, *ranked]))[:most]


def tags_among(vocabulary: Sequence[str], text: str, lemma: Lemma, *, most: int = 5) -> tuple[str, ...]:
    """Those tags of the vocabulary all of whose words are in the text, in the vocabulary's order."""
    present = {word for word, _ in lemmas_of(text, lemma)}
    found = (tag for tag in vocabulary if (words := {word for word, _ in lemmas_of(tag, lemma)}) and words <= present)
    return tuple(found)[:most]
