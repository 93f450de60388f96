"""Whether a post is a round-up of the day or a list of somebody's statements: it tells no story of its own.

Recognised by its structure: a short title that reports nothing, then items about different subjects. A title
that announces the news of a time needs fewer items.
"""

import re
from collections import defaultdict

from telegram_assistant.language.lemmas import lemmas_in
from telegram_assistant.language.russian import analyser

MIN_ITEMS = 5
MIN_ANNOUNCED = 3
"""Under a title that announces the news of a day or week."""
MAX_TITLE_LINES = 2
MAX_TITLE_WORDS = 8
"""Content words: a longer title tells what happened."""
MAX_OTHER_LINES = 2
"""Behind the title and between the items: a list is nearly the whole text."""
SAME_SUBJECT = 0.5
"""The share of items with a word of the title that makes them a list about one subject."""
_ITEM = re.compile(
    r"\s*(?:(?P<number>\d{1,2}[.)])|(?P<sign>[^\w\s«»\"“”„'’(\[#@/+$€₽%&<]))[\ufe0f\u20e3]*\s*(?=\S)"
)
_DASHES = "-—–"
_ANNOUNCES = re.compile(
    r"""\b(?:главное|основное|итоги|дайджест|новости|события)\b[^.!?]*
        \b(?:утр[оау]|утром|вечер\w*|дня|дней|день|ноч[ьи]|ночью|недел\w+|сутки|суток|час[ау]?)\b
    | \b(?:top|main|key|biggest)\s+(?:stories|news|events|headlines)\b
    | \b(?:morning|evening|daily|weekly|news)\s+(?:digest|brief|briefing|round-?up)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d_]+")
_REPORTING = frozenset({"VERB", "PRED", "PRTS"})


def is_round_up(text: str) -> bool:
    """Whether a text lists statements or events that have nothing in common but their author or their day."""
    if text.count("\n") < MIN_ANNOUNCED:
        return False
    lines = [line for line in text.splitlines() if line.strip()]
    items = _items_in(lines)
    if len(items) < MIN_ANNOUNCED:
        return False
    first_item_index = min(items)
    if (
        not 0 < first_item_index <= MAX_TITLE_LINES
        or len(lines) - first_item_index - len(items) > MAX_OTHER_LINES
    ):
        return False
    is_announced = _ANNOUNCES.search(lines[0]) is not None
    if not is_announced and (len(items) < MIN_ITEMS or any(map(_reports, lines[:first_item_index]))):
        return False
    title_words = set(lemmas_in(" ".join(lines[:first_item_index])))
    if len(title_words) > MAX_TITLE_WORDS:
        return False
    related_count = sum(not title_words.isdisjoint(lemmas_in(item)) for item in items.values())
    return related_count < SAME_SUBJECT * len(items)


def _items_in(lines: list[str]) -> dict[int, str]:
    """The items of the longest list by their lines: those that begin with the same sign, or with numbers."""
    by_sign: dict[str, dict[int, str]] = defaultdict(dict)
    for line_index, line in enumerate(lines):
        item = _ITEM.match(line)
        if item:
            sign = item["sign"] or "1"
            by_sign["-" if sign in _DASHES else sign][line_index] = line[item.end() :]
    return max(by_sign.values(), key=len, default={})


def _reports(title_line: str) -> bool:
    """Whether a line says that something happened. A colon announces what others say, or a list."""
    if title_line.rstrip().endswith(":"):
        return False
    words, analyse = _WORD.findall(title_line.casefold()), analyser()
    if analyse is None or any(word.isascii() for word in words):
        return True
    return any(analyse.parse(word)[0].tag.POS in _REPORTING for word in words)
