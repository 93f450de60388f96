"""Numbers on which the posts of a story differ: what most channels say stands, and the others are named.

Two numbers are disputed only where everything speaks for it: the same thing in the same frame, in posts that
hold together by strong links. A number that grew, and one that its own channel replaced, is no dispute.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from telegram_assistant.language.names import key_of, names_in
from telegram_assistant.language.parsed_text import ParsedWord, parse_text, readings_of
from telegram_assistant.language.quantities import Quantity, quantities_in
from telegram_assistant.language.speakers import is_speech
from telegram_assistant.summaries.cleaning import CleanPost
from telegram_assistant.summaries.values import ChangeSort, CitedSentence, Dispute, NumberClaim

MIN_SHARED_WORDS = 2
SAME_FRAME = 0.8
"""Two sentences that share so many of their words around a number
without a noun («49 → 63») say it of the same thing.
"""
MIN_FRAME = 0.5
"""Two sentences about the same number share so many of the words around it, of the shorter one's."""
ROUNDED = 0.05
"""A round number that differs by less may be the other one rounded."""
MAX_APART = timedelta(hours=12)
"""A number that is given later is news: of the next night, or of what became of it."""
MAX_DISPUTES = 3
MAX_COMPARED = 8
_UNIT = re.compile(r"\s?[^\s\w]?[^\s,.;:!?»”\"]*")
_VAGUE = re.compile(
    r"(?:более|больше|свыше|менее|меньше|около|порядка|почти|примерно|приблизительно|минимум|максимум|"
    r"не менее чем|до|ниже|выше|below|above|under|at least|at most|about|around|nearly|almost|over|some|"
    r"roughly|approximately|up to|(?:more|less|fewer) than)[\s\u00a0]*(?:чем[\s\u00a0]+)?[$€£₽]?$",
    re.IGNORECASE,
)
_GROWN = re.compile(
    r"(?:\b(?:возрос|вырос|увеличил|поднял)\w*(?: уже)? до |"
    r"\b(?:rose|risen|grew|grown|climbed|increased|raised)(?: already)? to |"
    r"\b(?:уже|теперь|now|already)(?: \w+)? )[$€£₽]?$",
    re.IGNORECASE,
)
_GROWN_BEHIND = re.compile(
    r"\W+(?:\w+\W+){0,2}?(?:by now\b|so far\b|up from\b|(?:раньше|ранее|прежде) (?:говори|сообщ|называ|был))",
    re.IGNORECASE,
)
_GOODS_WORDS = """
доллар евро рубль юань фунт иена тенге гривна лира биткоин нефть газ золото серебро бензин пшеница зерно
brent urals акция облигация
dollar euro rouble ruble yuan pound yen bitcoin oil gas gold silver petrol wheat grain share bond
"""
_AGENCY_WORDS = """
предварительно предварительный reportedly preliminary
агентство риа тасс интерфакс новости источник данные телеканал издание газета служба
agency source reuters report interfax channel newspaper
"""


type Doubtful = frozenset[tuple[str, float]]
"""Numbers that do not stand, each with a reading of its noun, or "" without one."""


@dataclass(frozen=True, slots=True)
class _StatedNumber:
    """A number in a sentence of a post."""

    quantity: Quantity
    place: int
    """Among the numbers of its sentence."""
    sentence: str
    post: CleanPost

    @property
    def noun(self) -> frozenset[str]:
        return readings_of(self.quantity.noun)

    @property
    def written(self) -> str:
        """With its noun, or with the sign or unit behind it."""
        end = self.sentence.casefold().find(self.quantity.noun, self.quantity.end)
        if end < 0:
            unit = _UNIT.match(self.sentence, self.quantity.end)
            return self.sentence[self.quantity.start : unit.end() if unit else self.quantity.end]
        return self.sentence[self.quantity.start : end + len(self.quantity.noun)]

    @property
    def frame(self) -> tuple[ParsedWord, ...]:
        """The words around the number that are no name, no source and no verb of speech."""
        return tuple(word for word in words_around(self.sentence) if not word.readings & self.noun)

    @property
    def is_vague(self) -> bool:
        return _VAGUE.search(self.sentence[: self.quantity.start]) is not None

    @property
    def is_grown(self) -> bool:
        return is_grown(self.sentence, self.quantity)

    @property
    def around(self) -> str:
        """The sentence without the number: equal in copies that differ in it alone."""
        return self.sentence[: self.quantity.start] + self.sentence[self.quantity.end :]


def is_grown(sentence: str, quantity: Quantity) -> bool:
    """Whether the sentence says that the number replaces a smaller one."""
    return (
        _GROWN.search(sentence[: quantity.start]) is not None
        or _GROWN_BEHIND.match(sentence, quantity.end) is not None
    )


def find_disputes(posts: Sequence[CleanPost]) -> tuple[tuple[Dispute, ...], Doubtful]:
    """The disputed numbers, those of most channels first, and what does not stand.

    Posts are given oldest first; a channel's last word counts.
    """
    groups: list[list[_StatedNumber]] = []
    for statement in _numbers_of(posts):
        group = next(
            (
                group
                for group in groups
                if any(_is_same_thing(statement, other) for other in group[:MAX_COMPARED])
            ),
            None,
        )
        if group is None:
            groups.append([statement])
        else:
            group.append(statement)
    values_by_post = [frozenset(amount.value for amount in quantities_in(post.text).all) for post in posts]
    disagreements = [
        sides
        for group in groups
        if len(sides := _disputed_sides(_sides_of(group), group, values_by_post)) > 1
    ]
    disagreements.sort(key=lambda sides: (-sum(map(len, sides)), sides[0][0].written))
    doubtful = frozenset(
        (reading, claim.quantity.value)
        for sides in disagreements
        for side in sides[1:]
        for claim in side[:1]
        for reading in claim.noun
    )
    sides_by_values = {
        tuple(side[0].quantity.value for side in sides): sides for sides in reversed(disagreements)
    }
    disputed = [
        sides
        for sides in disagreements
        if sides_by_values[tuple(side[0].quantity.value for side in sides)] is sides
    ]
    return tuple(map(_dispute_of, disputed[:MAX_DISPUTES])), doubtful


def _numbers_of(posts: Sequence[CleanPost]) -> Iterable[_StatedNumber]:
    for post in posts:
        for sentence in (post.headline, *post.sentences):
            yield from (
                _StatedNumber(quantity, place, sentence, post)
                for place, quantity in enumerate(quantities_in(sentence).all)
                if quantity.against is None
            )


def _is_same_thing(statement: _StatedNumber, other: _StatedNumber) -> bool:
    """The same noun among the same words: «11 машин столкнулись» and «столкнулись 12 машин»; without a noun,
    the same place in such a sentence.
    """
    if not statement.noun & other.noun:
        return False
    own_words, other_words = (_words_around(side) for side in (statement, other))
    shared_count = sum(bool(word & other_word) for word in own_words for other_word in other_words)
    if not statement.quantity.noun:
        return statement.place == other.place and shared_count >= max(
            MIN_SHARED_WORDS, SAME_FRAME * max(len(own_words), len(other_words))
        )
    return shared_count >= min(MIN_SHARED_WORDS, len(own_words), len(other_words))


def _words_around(statement: _StatedNumber) -> list[frozenset[str]]:
    return [
        word.readings for word in parse_text(statement.sentence).content if not word.readings & statement.noun
    ]


def _sides_of(group: Sequence[_StatedNumber]) -> list[list[_StatedNumber]]:
    """Groups the statements of channels by number. The number of most channels comes first; of equals a
    corrected one, then the newest.
    """
    last: dict[int, _StatedNumber] = {}
    for statement in group:
        last[statement.post.post.post_id.channel_id] = statement
    by_value: dict[float, list[_StatedNumber]] = defaultdict(list)
    for statement in last.values():
        by_value[statement.quantity.value].append(statement)
    corrected = {claim.quantity.value for claim in last.values() if _is_corrected(claim)}
    outdated = {
        claim.around: claim.quantity.value
        for claim in last.values()
        if _is_corrected(claim) and _is_original(claim, group)
    }

    def rank(side: list[_StatedNumber]) -> tuple[int, bool, float]:
        votes = sum(
            outdated.get(claim.around, claim.quantity.value) == claim.quantity.value for claim in side
        )
        return (
            -votes,
            side[0].quantity.value not in corrected,
            -max(claim.post.post.posted_at.timestamp() for claim in side),
        )

    return sorted(by_value.values(), key=rank)


def _disputed_sides(
    sides: Sequence[list[_StatedNumber]],
    group: Sequence[_StatedNumber],
    together: Sequence[frozenset[float]],
) -> list[list[_StatedNumber]]:
    """The side that stands, and those that truly say something else of the same thing."""
    standing_side, *other_sides = sides
    value = standing_side[0].quantity.value
    disputed = [
        [other for other in side if any(_differ(claim, other) for claim in standing_side)]
        for side in other_sides
        if not any({value, side[0].quantity.value} <= values for values in together)
        and not _is_replaced(group, value, side[0].quantity.value)
    ]
    return [standing_side, *(side for side in disputed if side)]


def _is_replaced(group: Sequence[_StatedNumber], value: float, other_value: float) -> bool:
    """Whether a channel that gave one of two numbers gives the other one now: the story went on."""
    numbers: dict[int, set[float]] = defaultdict(set)
    for statement in group:
        numbers[statement.post.post.post_id.channel_id].add(statement.quantity.value)
    return any({value, other_value} <= channel_numbers for channel_numbers in numbers.values())


def _differ(claim: _StatedNumber, other: _StatedNumber) -> bool:
    """Whether two statements contradict each other: in strongly linked posts of half a day, both exact, none
    grown, about the same names and goods, among the same numbers and words.
    """
    own_post, other_post = claim.post.post, other.post.post
    if own_post.group != other_post.group or abs(own_post.posted_at - other_post.posted_at) > MAX_APART:
        return False
    if any(side.is_vague or side.is_grown for side in (claim, other)):
        return False
    return (
        not _is_rounded(claim.quantity.value, other.quantity.value)
        and _holds(names_in(claim.sentence), names_in(other.sentence))
        and _goods_in(claim.sentence) == _goods_in(other.sentence)
        and _holds(_other_numbers(claim), _other_numbers(other))
        and _share_of_frame(claim, other) >= MIN_FRAME
    )


def _is_rounded(value: float, other: float) -> bool:
    """Whether the rounder of two numbers is the other one rounded: 9,140 and 9,100; 3.5 and 4."""
    rough, finer = sorted((value, other), key=_digits)
    if not rough or abs(rough - finer) > ROUNDED * abs(finer):
        return False
    return _digits(rough) < _digits(finer) and finer >= 10  # noqa: PLR2004 -- 3 is not 3.1 people rounded


def _digits(value: float) -> int:
    """Figures that say something: 2 of 9,100."""
    return len(f"{value:.6f}".replace(".", "").strip("0"))


def _holds[T](first: frozenset[T], second: frozenset[T]) -> bool:
    return first <= second or second <= first


def _other_numbers(statement: _StatedNumber) -> frozenset[float]:
    return frozenset(
        quantity.value
        for place, quantity in enumerate(quantities_in(statement.sentence).all)
        if place != statement.place
    )


def _goods_in(sentence: str) -> frozenset[str]:
    return parse_text(sentence).readings & _readings_of_words(_GOODS_WORDS)


def _share_of_frame(claim: _StatedNumber, other: _StatedNumber) -> float:
    own_frame, other_frame = claim.frame, other.frame
    shorter, longer = sorted((own_frame, other_frame), key=len)
    if not shorter:
        return 0.0
    readings = frozenset(reading for word in longer for reading in word.readings)
    return sum(bool(word.readings & readings) for word in shorter) / len(shorter)


@lru_cache
def _readings_of_words(words: str) -> frozenset[str]:
    return frozenset(reading for word in words.split() for reading in readings_of(word))


@lru_cache(maxsize=4_000)
def words_around(sentence: str) -> tuple[ParsedWord, ...]:
    """The words of a sentence that are no name, no source and no verb of speech."""
    names = names_in(sentence)
    return tuple(
        word
        for word in parse_text(sentence).content
        if not is_speech(word)
        and not word.readings & _readings_of_words(_AGENCY_WORDS)
        and not (word.is_capitalised and key_of(word.text) in names)
    )


def _is_corrected(statement: _StatedNumber) -> bool:
    return any(kind is ChangeSort.CORRECTION for kind, _ in statement.post.changes)


def _is_original(statement: _StatedNumber, group: Sequence[_StatedNumber]) -> bool:
    """Whether nobody said it in these words before: what others copied
    from it is outdated when it is corrected.
    """
    first = next(other for other in group if other.around == statement.around)
    return first.post.post.post_id.channel_id == statement.post.post.post_id.channel_id


def _dispute_of(sides: Sequence[Sequence[_StatedNumber]]) -> Dispute:
    claims = [
        NumberClaim(side[0].written, tuple(statement.post.post.post_id for statement in side))
        for side in sides
    ]
    return Dispute(CitedSentence(sides[0][0].sentence, claims[0].posts), claims[0], tuple(claims[1:]))
