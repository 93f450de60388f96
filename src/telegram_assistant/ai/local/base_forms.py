"""Base forms of Russian surnames behind a given name: both agree in case and gender, or stay as written."""

from typing import TYPE_CHECKING

from telegram_assistant.ai.local.name_words import GIVEN_NAMES, MEN, SURNAME

if TYPE_CHECKING:
    from telegram_assistant.language.russian import Analyser, Reading

VOWELS = "аеёиоуыэюя"
_MALE_ENDINGS = {
    "gent": ("а", "я"),
    "gen2": ("а", "я"),
    "accs": ("а", "я"),
    "datv": ("у", "ю"),
    "ablt": ("ым", "ом", "ем"),
    "loct": ("е",),
}
_NOUN_ENDINGS = {
    "gent": ("ы", "и"),
    "datv": ("е",),
    "loct": ("е",),
    "accs": ("у", "ю"),
    "ablt": ("ой", "ей"),
}
"""Of surnames in -а and -я."""
_POSSESSIVE = ("ов", "ев", "ёв", "ин", "ын")
_POSSESSIVE_FORMS = tuple(f"{end}{form}" for end in _POSSESSIVE for form in ("ой", "ою", "ым"))
_PATRONYMICS = ("ович", "евич", "ьич", "овн", "евн", "ичн")
_RARE_NOMINATIVES = ("ого", "его", "ому", "ему", "ыми", "ую")
_MIN_STEM = 2
PARTICLES = frozenset(
    ["фон", "дер", "ван", "де", "да", "дель", "бен", "бин", "ибн", "аль", "эль", "ле", "ла", "ди"]
)
INVARIABLE = ("швили", "дзе", "ых", "их", "ко")
"""Ends of surnames that have one form."""


def agreeing_person(
    words: tuple[str, ...], analyser: "Analyser", *, is_woman: bool
) -> tuple[str, ...] | None:
    """The words of a person's name in the nominative; None if no reading of the word that the dictionary
    knows agrees with the other words.
    """
    anchor = _anchor_of(words, analyser)
    if anchor is None:
        return None
    noun_index, readings = anchor
    other_words = (*words[:noun_index], *words[noun_index + 1 :])
    is_guess = noun_index > 0 or not analyser.word_is_known(words[noun_index])
    for reading in _in_order(readings, other_words[-1], is_woman=is_woman, is_guess=is_guess):
        base = reading.inflect({"nomn"})
        case, gender = str(reading.tag.case), str(reading.tag.gender)
        forms = [_nominative(word, case, gender, analyser) for word in other_words]
        agreed_forms = [form for form in forms if form is not None]
        is_seen = case != "loct" or tuple(agreed_forms) != other_words
        if base is not None and len(agreed_forms) == len(forms) and is_seen:
            return (*agreed_forms[:noun_index], base.word, *agreed_forms[noun_index:])
    return None


def _anchor_of(words: tuple[str, ...], analyser: "Analyser") -> tuple[int, list["Reading"]] | None:
    """The place and the readings of the given name, or else of a surname that the dictionary knows."""
    marks = ("Name", "Surn") if analyser.word_is_known(words[0]) else ("Surn", "Name")
    for mark in marks:
        for word_index, word in enumerate(words):
            if mark == "Surn" and not analyser.word_is_known(word) and SURNAME.search(word) is None:
                continue
            readings = [
                reading
                for reading in analyser.parse(word)
                if "sing" in reading.tag
                and "voct" not in reading.tag
                and (mark in reading.tag or (word in GIVEN_NAMES and "Geox" in reading.tag))
            ]
            if readings and (mark == "Surn" or word_index == 0):
                return word_index, readings
    return None


def _in_order(readings: list["Reading"], surname: str, *, is_woman: bool, is_guess: bool) -> list["Reading"]:
    """The likely readings first: a man's, unless the text says that it is a woman, and the nominative, unless
    an invariable given name leaves the case to a surname that looks declined.
    """
    is_declined = surname.endswith(("а", "у", "ом", "ем", "ым", "ого", "ому")) and surname[-2] not in VOWELS

    may_be_woman = any(reading.tag.gender == "femn" and reading.tag.case == "nomn" for reading in readings)
    may_be_man = is_guess or not may_be_woman or any(reading.normal_form in MEN for reading in readings)

    def order(reading: "Reading") -> tuple[bool, bool, float]:
        is_nominative = reading.tag.case == "nomn"
        is_late = is_nominative if "Fixd" in reading.tag and is_declined else not is_nominative
        is_female = reading.tag.gender == "femn"
        return (is_female != (is_woman or not may_be_man), is_late, -reading.score)

    return sorted(readings, key=order)


def _nominative(word: str, case: str, gender: str, analyser: "Analyser") -> str | None:
    """The base form of a word that stands in this case; None if it cannot."""
    if word in PARTICLES or word.endswith(INVARIABLE):
        return word
    marks = ("Surn", "Patr", "Name") if word.endswith(_POSSESSIVE_FORMS) else ("Surn", "Patr", "Name", "ADJF")
    if analyser.word_is_known(word):
        for reading in analyser.parse(word):
            tag = reading.tag
            is_named = any(mark in tag for mark in marks)
            if is_named and tag.number == "sing" and tag.case == case and tag.gender in {gender, "ms-f"}:
                return getattr(reading.inflect({"nomn"}), "word", None)
    if case == "nomn":
        return None if _is_oblique(word, gender) else word
    return _female(word, case) if gender == "femn" else _male(word, case)


def _is_oblique(word: str, gender: str) -> bool:
    if gender == "femn":
        return word.endswith(("ской", "цкой", "овой", "евой", "иной", "ую"))
    return word.endswith(_RARE_NOMINATIVES) or word.endswith(
        tuple(f"{end}{letter}" for end in _POSSESSIVE for letter in "ауы")
    )


def _male(word: str, case: str) -> str | None:
    for oblique, base in (("скому", "ский"), ("ского", "ский"), ("цкого", "цкий"), ("цкому", "цкий")):
        if word.endswith(oblique):
            return word.removesuffix(oblique) + base
    if word.endswith(("ским", "цким", "ском", "цком")):
        return f"{word[:-2]}ий"
    if word.endswith(("о", "э")):
        return word
    for ending in _MALE_ENDINGS.get(case, ()):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > _MIN_STEM:
            return _male_stem(stem, ending)
    return _noun(word, case) or (word if word.endswith(("и", "е", "у", "ю")) else None)


def _male_stem(stem: str, ending: str) -> str | None:
    if ending == "ым" and not stem.endswith(_POSSESSIVE):
        return None
    if stem[-1] in VOWELS:
        return f"{stem}й" if ending in {"я", "ю", "ем"} else None
    return f"{stem}ь" if ending in {"я", "ю"} else stem


def _female(word: str, case: str) -> str | None:
    if word.endswith(("ской", "цкой", "скую", "цкую")):
        return f"{word[:-2]}ая"
    if word.endswith(
        tuple(f"{end}{form}" for end in (*_POSSESSIVE, *_PATRONYMICS) for form in ("ой", "у", "ы", "е"))
    ):
        return f"{word.removesuffix('ой') if word.endswith('ой') else word[:-1]}а"
    if word[-1] not in "аяй" and word[-1] not in "ыую":
        return word
    return _noun(word, case)


def _noun(word: str, case: str) -> str | None:
    """The base form of a surname in -а or -я."""
    for ending in _NOUN_ENDINGS.get(case, ()):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > _MIN_STEM and stem[-1] not in VOWELS:
            if ending == "и" and stem[-1] not in "гкх":
                return word
            return f"{stem}{'я' if ending in {'ю', 'ей'} else 'а'}"
    return None
