"""Whether two texts are the same piece of news, copied: what is understood about one then holds for the other.

A copy differs in what a channel puts around it: links, emoji, its signature, a word like `breaking`. And it may differ in a few
words. It never differs in its numbers and names: two fires told in the same sentences are two fires.

Whoever writes a copy must not choose what the sample sees of it. So words are hashed with a secret key, and lengths count too.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b, sha256

_ADDRESS = re.compile(r"(?:https?://|www\.|t\.me/)\S+|(?<!\w)[@#]\w+", re.IGNORECASE)
_CALL = re.compile(r"подпи[сш]|прислать|наш (?:чат|канал)|буст|subscribe|follow us|join us|boost", re.IGNORECASE)
_OPENING = re.compile(r"^\W*(?:срочно|молния|важно|обновлено|breaking|urgent|update|just in)\b\W*", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"[.!?…:\n]+\s*")
SIGNATURE_LINES = 3
SIGNATURE_WORDS = 8
MIN_WORDS = 8
"""Below that every word counts, and only the same words are the same text."""
SHINGLE = 2
SKETCH_SIZE = 64
SAME_SHARE = 0.8
"""Of word pairs: one word in twenty may differ."""
SAME_LENGTH = 0.9
"""Of words: a copy adds or leaves out no more than one in ten."""
HASH_BYTES = 4
MAX_CHARACTERS = 5_000
MAX_WORDS = 1_000
"""More of a text, which few posts have, counts only by its length."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A text in brief: the same bucket for the same names and numbers, and a sample of its word pairs."""

    content: bytes
    """Of the words as they are: equal for copies that differ in nothing but their surroundings."""
    bucket: bytes
    sample: tuple[int, ...]
    length: int
    """In words."""


def folded(text: str) -> str:
    """The words of a text without what a channel puts around them."""
    return " ".join(_words_of(_bare(text)))


def content_of(text: str) -> bytes:
    """Equal for copies that differ in nothing but their surroundings."""
    return _content(_words_of(_bare(text)) or [text])


def sketch_of(text: str, key: bytes) -> Sketch:
    """Sketches of the same key, up to 64 bytes, can be compared."""
    bare = _bare(text)
    words = _words_of(bare) or [text]
    content = _content(words)
    facts = _facts(bare[:MAX_CHARACTERS])
    if len(words) < MIN_WORDS or not facts:
        return Sketch(content, content, (), len(words))
    sampled = words[:MAX_WORDS]
    pairs = {_hashed(pair, key) for pair in {" ".join(sampled[place : place + SHINGLE]) for place in range(len(sampled) - SHINGLE + 1)}}
    bucket = sha256(" ".join(sorted(facts)).encode("utf-8", "surrogatepass")).digest()
    return Sketch(content, bucket, tuple(sorted(pairs)[:SKETCH_SIZE]), len(words))


def is_copy(one: Sketch, other: Sketch) -> bool:
    """Whether both tell the same, with the same names and numbers."""
    if one.content == other.content:
        return True
    if one.bucket != other.bucket or not one.sample or not other.sample:
        return False
    if min(one.length, other.length) < SAME_LENGTH * max(one.length, other.length):
        return False
    both = sorted({*one.sample, *other.sample})[:SKETCH_SIZE]
    return len({*one.sample} & {*other.sample} & {*both}) >= SAME_SHARE * len(both)


def original_of(text: Sketch, known: Iterable[Sketch]) -> Sketch:
    """The first of the known texts that it copies; itself where there is none."""
    return next((other for other in known if is_copy(text, other)), text)


def _content(words: Iterable[str]) -> bytes:
    return sha256(" ".join(words).encode("utf-8", "surrogatepass")).digest()


def _hashed(pair: str, key: bytes) -> int:
    return int.from_bytes(blake2b(pair.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES, key=key).digest())


def _words_of(bare: str) -> list[str]:
    return _WORD.findall(bare.casefold().replace("ё", "е"))


def _bare(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    for _ in range(SIGNATURE_LINES):
        if len(lines) > 1 and _is_signature(lines[-1]):
            lines.pop()
    return _OPENING.sub("", _ADDRESS.sub(" ", "\n".join(lines)))


def _is_signature(line: str) -> bool:
    return bool(_ADDRESS.search(line) or _CALL.search(line)) and len(_WORD.findall(_ADDRESS.sub(" ", line))) <= SIGNATURE_WORDS


def _facts(bare: str) -> set[str]:
    """Numbers, and words that are written large within a sentence."""
    found = set()
    for sentence in _SENTENCE.split(bare):
        for place, word in enumerate(_WORD.findall(sentence)):
            if (place and word[0].isupper()) or (not word.isalpha() and any(letter.isdigit() for letter in word)):
                found.add(word.casefold().replace("ё", "е"))
    return found
