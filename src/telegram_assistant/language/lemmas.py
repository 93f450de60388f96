"""Dictionary forms of Russian and English words, and which words carry no meaning of their own."""

import re
from functools import lru_cache

from telegram_assistant.language.russian import analyser

WORD = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*")
MAX_WORD_CHARACTERS = 30
"""The dictionary analyses long words slowly, and no word of news is longer."""
CACHED_WORDS = 60_000
_EMPTY_PARTS = frozenset({"PREP", "CONJ", "PRCL", "NPRO", "INTJ", "PRED"})
_EMPTY_WORDS = (
    "a an the and or but nor so yet if then than that this these those there here it its he she they we you "
    "i his her their our your my "
    "me him them us is are was were be been being am do does did done has have had having will would can "
    "could may might must shall "
    "should not no of to in on at by for with from as into over under about after before between through "
    "during up down out off again "
    "also just only very more most some any all each other such own same too s t who whom which what when "
    "where why how says said say "
    "весь который свой этот тот наш ваш мой твой такой самый каждый другой сам один быть мочь стать год это "
    "как также уже ещё еще "
    "только можно нет да сообщать сообщить рассказать говорить сказать"
)
_EMPTY = frozenset(_EMPTY_WORDS.split())
_IRREGULAR = {
    "men": "man", "women": "woman", "children": "child", "people": "person", "feet": "foot", "teeth": "tooth",
    "mice": "mouse",
    "won": "win", "went": "go", "gone": "go", "took": "take", "taken": "take", "made": "make",
    "found": "find", "left": "leave", "lost": "lose", "held": "hold", "began": "begin", "begun": "begin",
    "broke": "break", "broken": "break", "came": "come", "fell": "fall", "fallen": "fall", "gave": "give",
    "given": "give", "got": "get", "grew": "grow", "grown": "grow", "knew": "know", "known": "know",
    "met": "meet", "paid": "pay", "ran": "run", "rose": "rise", "risen": "rise", "saw": "see", "seen": "see",
    "sent": "send", "shot": "shoot", "sold": "sell", "bought": "buy", "spent": "spend", "spoke": "speak",
    "spoken": "speak", "stood": "stand", "stole": "steal", "stolen": "steal", "struck": "strike",
    "told": "tell", "thought": "think", "wrote": "write", "written": "write", "brought": "bring",
    "built": "build", "caught": "catch", "drove": "drive", "killed": "kill", "better": "good", "best": "good",
    "worse": "bad", "worst": "bad",
}  # fmt: skip
_DOUBLED = re.compile(r"([bdgklmnprt])\1$")
_VOWEL = re.compile(r"[aeiouy]")
_RUSSIAN_ENDING = re.compile(
    r"(?:ивши(?:сь|й)?|ывши(?:сь|й)?|вши(?:сь|й)?|ями|ами|иями|его|ого|ему|ому|ыми|ими|ешь|ишь|ете|ите|ают|"
    r"яют|уют|ует|ается|ался|алась|ались|"
    r"ать|ять|ить|еть|ала|али|ало|ила|или|ило|ена|ены|ено|ую|юю|ая|яя|ое|ее|ые|ие|ый|ий|ой|ей|ом|ем|ам|ям|"
    r"ах|ях|ов|ев|ию|ия|ии|ью|ет|ит|ал|ил|"
    r"а|я|о|е|ы|и|у|ю|ь|й)$"
)
_STEM = 3


def lemmas_in(text: str) -> list[str]:
    """The dictionary forms of a text's words, in their order, without words that carry no meaning."""
    return [word_lemma for word in WORD.findall(text) if (word_lemma := content_lemma(word.casefold()))]


@lru_cache(maxsize=CACHED_WORDS)
def lemma(word: str) -> str:
    """The dictionary form of a word in lower case."""
    word = word.replace("ё", "е")
    if word.isascii():
        return _english(word)
    return _russian(word)[0]


@lru_cache(maxsize=CACHED_WORDS)
def content_lemma(word: str) -> str:
    """The dictionary form of a word in lower case; empty for one that carries no meaning,
    like a preposition.
    """
    folded_word = word.replace("ё", "е").replace("’", "'").removesuffix("'s")
    if len(folded_word) < 2 or folded_word in _EMPTY:  # noqa: PLR2004 -- a single letter
        return ""
    if folded_word.isascii():
        word_lemma, is_empty = _english(folded_word), False
    else:
        word_lemma, is_empty = _russian(folded_word)
    return "" if is_empty or word_lemma in _EMPTY else word_lemma


def _russian(word: str) -> tuple[str, bool]:
    """The dictionary form, and whether the word only connects others."""
    words = analyser()
    if words is None or len(word) > MAX_WORD_CHARACTERS:
        stem = _RUSSIAN_ENDING.sub("", word)
        return (stem if len(stem) >= _STEM else word), False
    reading = words.parse(word)[0]
    return reading.normal_form.replace("ё", "е"), reading.tag.POS in _EMPTY_PARTS


def _english(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= _STEM or word.endswith("ss"):
        return word
    for ending, instead in (
        ("ies", "y"),
        ("sses", "ss"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("xes", "x"),
        ("s", ""),
    ):
        if word.endswith(ending) and not word.endswith(("us", "is")):
            word = word[: -len(ending)] + instead
            break
    for ending in ("ing", "ed"):
        if word.endswith(ending) and _VOWEL.search(word[: -len(ending)]) and len(word) - len(ending) >= _STEM:
            stem = word[: -len(ending)]
            return stem[:-1] if _DOUBLED.search(stem) else stem.removesuffix("e")
    return word.removesuffix("e") if len(word) > _STEM + 1 else word
