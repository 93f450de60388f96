"""Detects the language of a text from its letters and a few common words."""

import re


def _words_of(line: str) -> frozenset[str]:
    return frozenset(line.split())


_CODE = re.compile(r"`[^`]*`")
_ADDRESSED = ("@", "#", "www.")
_CYRILLIC = re.compile(r"[\u0400-\u0481\u048a-\u052f]+")
_ASCII_WORD = re.compile(r"[a-z]+")
_WORD = re.compile(r"[^\W\d_]+")
_LETTERS = {"uk": "іїєґ", "be": "ўі", "kk": "әғқңөұүһі", "sr": "ђјљњћџ", "bg": ""}
_WORDS = {
    "uk": _words_of("і що від його але який яка після це є"),
    "be": _words_of("і ў што гэта пасля яго каб"),
    "kk": _words_of("және мен бұл үшін"),
    "sr": _words_of("је су који која није се као"),
    "bg": _words_of("съм ще във със че като няма беше след също това бъде"),
}
"""Letters and words of other languages that Russian lacks: Bulgarian has no other letters."""
_FOREIGN_LETTER = re.compile(f"[{''.join(_LETTERS.values())}]")
_FOREIGN_WORDS = frozenset[str]().union(*_WORDS.values())
_RUSSIAN = _words_of("что это для его был была было были уже если когда чтобы они из")
MIN_SIGNS = 2
"""One foreign letter or word may be a name or a slip."""
_ENGLISH = _words_of("the and of to in is for that with on are was it by as at from")
_OTHER_LATIN = _words_of(
    "der die das und ist nicht ein eine mit auf dem les des est dans pour une du aux sur el los las "
    "del una por para con que il di della che sono gli em não uma dos het een van och att som bir "
    "ve için nie jest się"
)
_OTHER_LATIN_LETTER = re.compile("[äöüßñçãõåøæœğşłńśźżčřěůőűţțăâêîôûëïàèùìòáíóúé]")
MIN_LETTERS = 3
ENOUGH = 250
"""The number of characters that suffices to detect the language."""


def language_of(text: str) -> str | None:
    """The ISO code of Russian, English and some other languages; None if the language cannot be detected.

    Most texts are plainly Russian or English, so the clear cases are read first, with the least work.
    """
    beginning = _without_addresses(text[: 2 * ENOUGH])[:ENOUGH].lower()
    if beginning.isascii():
        words = _ASCII_WORD.findall(beginning)
        letters = sum(map(len, words))
        if letters < MIN_LETTERS:
            return None
        return _latin_language(beginning, words)
    runs = _CYRILLIC.findall(beginning)
    cyrillic = sum(map(len, runs))
    if cyrillic >= MIN_LETTERS and cyrillic * 2 > len(beginning):
        return _cyrillic_language(beginning, runs)
    letters = sum(map(str.isalpha, beginning))
    if letters < MIN_LETTERS:
        return None
    if cyrillic * 2 > letters:
        return _cyrillic_language(beginning, runs)
    words = _WORD.findall(beginning)
    is_ascii = sum(map(len, filter(str.isascii, words))) * 2 > letters
    return _latin_language(beginning, words) if is_ascii else None


def _without_addresses(text: str) -> str:
    """The text without code, addresses, mentions and hashtags."""
    if "`" in text:
        text = _CODE.sub(" ", text)
    pieces = text.split()
    if "/" in text or "@" in text or "#" in text or "www." in text:
        pieces = [piece for piece in pieces if "/" not in piece and not piece.startswith(_ADDRESSED)]
    return " ".join(pieces)


def _latin_language(text: str, words: list[str]) -> str | None:
    if _OTHER_LATIN.isdisjoint(words) and (text.isascii() or _OTHER_LATIN_LETTER.search(text) is None):
        return "en"
    foreign = sum(word in _OTHER_LATIN or _OTHER_LATIN_LETTER.search(word) is not None for word in words)
    return "en" if sum(word in _ENGLISH for word in words) >= foreign else None


def _cyrillic_language(text: str, runs: list[str]) -> str:
    if _FOREIGN_LETTER.search(text) is None and _FOREIGN_WORDS.isdisjoint(runs):
        return "ru"
    words = _WORD.findall(text)
    signs = {
        language: sum(map(text.count, _LETTERS[language])) + sum(word in _WORDS[language] for word in words)
        for language in _LETTERS
    }
    language = max(signs, key=signs.__getitem__)
    is_foreign = signs[language] >= MIN_SIGNS and signs[language] > sum(word in _RUSSIAN for word in words)
    return language if is_foreign else "ru"
