"""pymorphy3's dictionary of Russian words, loaded once, about 15 MB.

Without the library there is none, and callers do with less.
"""

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING
from unicodedata import name

if TYPE_CHECKING:
    from pymorphy3 import MorphAnalyzer
    from pymorphy3.analyzer import Parse

    type Analyser = MorphAnalyzer
    type Reading = Parse


@cache
def analyser() -> "Analyser | None":
    """The dictionary, or None where it is not installed. The first call takes a fifth of a second."""
    if find_spec("pymorphy3") is None:
        return None
    from pymorphy3 import MorphAnalyzer  # noqa: PLC0415 -- an optional library

    class Words(MorphAnalyzer):  # type: ignore[misc]  # the library has no types
        """It raises ValueError at letters that have no name in Unicode's tables;
        here they are read as a question mark.
        """

        def parse(self, word: str) -> "list[Reading]":
            try:
                return list(super().parse(word))
            except ValueError:
                return list(super().parse("".join(letter if name(letter, "") else "?" for letter in word)))

    return Words()
