"""Whether one text is a near copy of another: the enrichment of one then holds for the other.

A copy differs in its surroundings: links, emoji, the channel's signature, a word like `breaking`. It may also
differ in a few words. It never differs in its numbers and names: two fires reported in the same sentences are
two fires.

The author of a copy must not be able to choose which words are sampled. So words are hashed with a secret
key, and lengths count too.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b, sha256
from itertools import pairwise

ADDRESS = re.compile(r"(?:https?://|www\.|t\.me/)\S+|(?<!\w)[@#]\w+", re.IGNORECASE)
CALL_TO_FOLLOW = re.compile(
    r"\bподпи(?:шись|шитесь|сывайся|сывайтесь|саться)\b|\bподписк\w* на (?:наш|канал|нас)|\bприслать "
    r"(?:новость|фото|видео)|"
    r"\bнаш (?:чат|канал|бот)\b|\bбуст\w* (?:канал|нас)|\bsubscribe\b|\bfollow us\b|\bjoin us\b|"
    r"\bboost (?:us|our|the channel)\b|(?:^|\|)\W{0,5}(?:буст|boost)\W{0,5}(?:$|\|)",
    re.IGNORECASE,
)
"""Requests of a channel to its readers. «Подписал договор» is news, not a request."""
_OPENING = re.compile(
    r"\W*(?:срочно|молния|важно|обновлено|breaking|urgent|update|just in)\b\W*", re.IGNORECASE
)
_MONTH = (
    r"(?:янв|фев|мар|апр|мая|май|июн|июл|авг|сен|окт|ноя|дек|"
    r"Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-zа-яё]*\.?"
)
_DATE = rf"(?:\d{{1,2}}\s+{_MONTH}|{_MONTH}\s+\d{{1,2}})"
_CAPITALISED = r"[A-ZА-ЯЁ][\w.'’-]*"
_PLACE = rf"{_CAPITALISED}(?: {_CAPITALISED}){{0,3}}(?:, {_CAPITALISED}(?: {_CAPITALISED}){{0,2}})?"
_AGENCY = rf"(?:[«\"“][^»\"”\n]{{2,40}}[»\"”]|{_CAPITALISED}(?:[ /]{_CAPITALISED}){{0,3}})"
_DASH = r"(?:--|[—–-])"
_DATELINE = re.compile(
    rf"\W*(?:{_PLACE}[,.]\s*{_DATE}[.,]?\s*"
    rf"(?:\({_AGENCY}\)\s*{_DASH}|{_DASH}\s*{_AGENCY}\.|{_AGENCY}\s*{_DASH}|{_DASH})"
    rf"|{_PLACE}\s*\({_AGENCY},\s*{_DATE}\)\s*{_DASH}"
    rf"|[A-ZА-ЯЁ][A-ZА-ЯЁ '-]{{3,30}}\s*\({_AGENCY}\)\s*{_DASH})\s+"
)
"""The place and date of an agency's report: `NORTHWICK, May 3 (Norwire) --`."""
DATELINE_CHARACTERS = 120
_MIXED = re.compile(r"[A-Za-z][а-яёА-ЯЁ]|[а-яёА-ЯЁ][A-Za-z]")
_LETTERS = re.compile(r"[^\W\d_]+")
_LATIN_ALIKE, _CYRILLIC_ALIKE = "aceopxyABCEHKMOPTXY", "асеорхуАВСЕНКМОРТХУ"
_TO_CYRILLIC = str.maketrans(_LATIN_ALIKE, _CYRILLIC_ALIKE)
_TO_LATIN = str.maketrans(_CYRILLIC_ALIKE, _LATIN_ALIKE)
_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"[.!?…:\n]+\s*")
SIGNATURE_LINES = 3
SIGNATURE_WORDS = 8
MIN_WORDS = 8
"""Shorter texts are copies only if all words are equal."""
SHINGLE = 2
SKETCH_SIZE = 64
SAME_SHARE = 0.8
"""The share of equal word pairs: one word in twenty may differ."""
SAME_LENGTH = 0.9
"""The ratio of lengths in words: a copy adds or omits no more than one word in ten."""
HASH_BYTES = 4
MAX_CHARACTERS = 5_000
MAX_WORDS = 1_000
"""Words beyond this, which few posts have, count only for the length."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A sketch of a text: a bucket, equal for equal names and numbers, and a sample of its word pairs."""

    content: bytes
    """Hash of the words: equal for copies that differ only in their surroundings."""
    bucket: bytes
    sample: tuple[int, ...]
    length: int
    """Length in words."""


def fold_text(text: str) -> str:
    """The words of a text without its surroundings."""
    return " ".join(_words_of(without_surroundings(text)))


def word_pairs(text: str) -> frozenset[tuple[str, ...]]:
    """Each two words that follow one another, without the text's surroundings; of one word, that one."""
    words = _words_of(without_surroundings(text[:MAX_CHARACTERS]))
    return frozenset(pairwise(words)) or frozenset((word,) for word in words)


def content_of(text: str) -> bytes:
    """Hash of the words: equal for copies that differ only in their surroundings."""
    return _content(_words_of(without_surroundings(text)) or [text])


@dataclass(frozen=True, slots=True)
class Outline:
    """The part of a sketch that needs no key and takes half the time.

    Texts in different buckets are not copies.
    """

    content: bytes
    bucket: bytes
    words: tuple[str, ...]

    def sketch(self, key: bytes) -> Sketch:
        """Only sketches with the same key, of up to 64 bytes, are comparable."""
        if self.bucket == self.content:
            return Sketch(self.content, self.bucket, (), len(self.words))
        sampled_words = self.words[:MAX_WORDS]
        pairs = {
            _hash_pair(pair, key)
            for pair in {
                " ".join(sampled_words[index : index + SHINGLE])
                for index in range(len(sampled_words) - SHINGLE + 1)
            }
        }
        return Sketch(self.content, self.bucket, tuple(sorted(pairs)[:SKETCH_SIZE]), len(self.words))


def outline_of(text: str) -> Outline:
    bare = without_surroundings(text)
    words = tuple(_words_of(bare)) or (text,)
    content = _content(words)
    facts = _facts(bare[:MAX_CHARACTERS])
    if len(words) < MIN_WORDS or not facts:
        return Outline(content, content, words)
    return Outline(content, sha256(" ".join(sorted(facts)).encode("utf-8", "surrogatepass")).digest(), words)


def sketch_of(text: str, key: bytes) -> Sketch:
    """The sketch of a text, as `Outline.sketch` makes it."""
    return outline_of(text).sketch(key)


def is_copy(sketch: Sketch, other: Sketch) -> bool:
    """Whether both texts say the same, with the same names and numbers."""
    if sketch.content == other.content:
        return True
    if sketch.bucket != other.bucket or not sketch.sample or not other.sample:
        return False
    if min(sketch.length, other.length) < SAME_LENGTH * max(sketch.length, other.length):
        return False
    joint_sample = sorted({*sketch.sample, *other.sample})[:SKETCH_SIZE]
    return len({*sketch.sample} & {*other.sample} & {*joint_sample}) >= SAME_SHARE * len(joint_sample)


def original_of(text: Sketch, earlier_sketches: Iterable[Sketch]) -> Sketch:
    """The first known text of which this is a copy; the text itself if there is none."""
    return next((other for other in earlier_sketches if is_copy(text, other)), text)


def _content(words: Iterable[str]) -> bytes:
    return sha256(" ".join(words).encode("utf-8", "surrogatepass")).digest()


def _hash_pair(pair: str, key: bytes) -> int:
    return int.from_bytes(
        blake2b(pair.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES, key=key).digest()
    )


def _words_of(text_without_marks: str) -> list[str]:
    return _WORD.findall(text_without_marks.casefold().replace("ё", "е"))


def without_surroundings(text: str) -> str:
    """The text without addresses, hashtags, signature, opening and dateline, as it is written;
    only letters of another alphabet inside a word are replaced by those that they imitate.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    for _ in range(SIGNATURE_LINES):
        if len(lines) > 1 and _is_signature(lines[-1]):
            lines.pop()
    bare = "\n".join(lines)
    if (
        any(mark in bare for mark in "/@#") or "www." in bare.casefold()
    ):  # only these can be in an address, and are found sooner
        bare = ADDRESS.sub(" ", bare)
    opening = _OPENING.match(bare)
    bare = bare[opening.end() :] if opening else bare
    dateline = _DATELINE.match(bare[:DATELINE_CHARACTERS])
    bare = bare[dateline.end() :] if dateline else bare
    return _LETTERS.sub(_in_one_alphabet, bare) if _MIXED.search(bare) else bare


def _in_one_alphabet(word: re.Match[str]) -> str:
    """The word in the alphabet of its other letters; unchanged if it has letters of both that differ."""
    for letters in (_TO_CYRILLIC, _TO_LATIN):
        folded_text = word.group().translate(letters)
        if folded_text.isascii() or not any(letter.isascii() for letter in folded_text):
            return folded_text
    return word.group()


def _is_signature(line: str) -> bool:
    has_too_many_words = sum(map(str.isalpha, line.split())) > SIGNATURE_WORDS  # found sooner than addresses
    return (
        not has_too_many_words
        and bool(ADDRESS.search(line) or CALL_TO_FOLLOW.search(line))
        and len(_WORD.findall(ADDRESS.sub(" ", line))) <= SIGNATURE_WORDS
    )


def _facts(bare: str) -> set[str]:
    """Numbers, and capitalised words within a sentence."""
    facts = set()
    for sentence in _SENTENCE.split(bare):
        for index, word in enumerate(_WORD.findall(sentence)):
            if (index and word[0].isupper()) or (
                not word.isalpha() and any(letter.isdigit() for letter in word)
            ):
                facts.add(word.casefold().replace("ё", "е"))
    return facts
