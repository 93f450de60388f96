"""How long it takes to read texts."""

import re
from collections.abc import Iterable

WORDS_PER_MINUTE = 200
_WORD = re.compile(r"\w+")


def minutes_to_read(texts: Iterable[str]) -> int:
    """Whole minutes; none for nothing."""
    words = sum(len(_WORD.findall(text)) for text in texts)
    return -(-words // WORDS_PER_MINUTE)
