"""Tags a text by its words. An index of all word forms is built once, so tagging a post is a lookup of its words."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from telegram_assistant.ai.local.kinds import has_ad_marks, sort_of
from telegram_assistant.ai.local.names import NameDictionary, names_in
from telegram_assistant.ai.local.vocabulary import WEAK, packaged_words
from telegram_assistant.ai.local.words import HASHTAG, MAX_CHARACTERS, WORD, Forms
from telegram_assistant.ai.outputs import Tags
from telegram_assistant.domain.posts.language import language_of
from telegram_assistant.domain.understanding.vocabulary import MAX_PROPOSALS, MAX_TAGS, Vocabulary, language_for, tag_in

LOCAL_MODEL = "words/3"
"""Raise the number when rules or words change: `tga retag` then finds older results."""
STRONG, FAINT = 2, 1
ENOUGH = 2
"""The score that a tag needs: one strong word, or two weak ones."""
SECOND_SIGN = 2
OFTEN = 3
"""More occurrences of the same word add nothing."""
MAX_LOOKS = 4_000


@dataclass(frozen=True, slots=True)
class _Sign:
    """The weight of a word, or of several words together, for a tag."""

    words: frozenset[int]
    tag: str
    weight: int


@dataclass(frozen=True, slots=True)
class VocabularyIndex:
    """The index of one language's vocabulary."""

    topics: Mapping[str, str]
    heads: Mapping[str, str]
    """The tag that names the topic itself, by topic."""
    numbers: Mapping[str, tuple[int, ...]]
    """The numbers of the words of which a form may be a form."""
    signs: Mapping[int, tuple[_Sign, ...]]

    def scores(self, words: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
        """The score of each tag, and the number of its different signs."""
        numbers = self.numbers
        seen = Counter(number for word in words if word in numbers for number in numbers[word])
        scores: Counter[str] = Counter()
        signs: Counter[str] = Counter()
        for number, times in seen.items():
            for sign in self.signs.get(number, ()):
                if sign.words <= seen.keys():
                    scores[sign.tag] += sign.weight * (min(times, OFTEN) if len(sign.words) == 1 else 1)
                    signs[sign.tag] += 1
        return scores, signs

    def tags(self, words: Iterable[str]) -> tuple[tuple[str, ...], str]:
        """The best tags, and the topic with the most evidence; the first of equals, and none if it is one word against another.

        A word may mean something other than its tag, so a tag outside the topic needs a second, different sign.
        """
        scores, signs = self.scores(words)
        weights: Counter[str] = Counter()
        for tag, score in scores.items():
            weights[self.topics[tag]] += score
        kept = [tag for tag, score in scores.items() if score >= ENOUGH]
        if not kept:
            return (), ""
        topic = max((self.topics[tag] for tag in kept), key=weights.__getitem__)
        if weights[topic] <= ENOUGH and any(weight >= ENOUGH for one, weight in weights.items() if one != topic):
            topic = ""
        kept = [tag for tag in kept if self.topics[tag] == topic or signs[tag] >= SECOND_SIGN]
        kept.sort(key=lambda tag: (-(scores[tag] + (self.topics[tag] == topic)), tag))
        head = [self.heads[topic]] if topic in self.heads else []
        return tuple(dict.fromkeys([*kept[: MAX_TAGS - 1], *head, *kept[MAX_TAGS - 1 :]]))[:MAX_TAGS], topic


class LocalTagger:
    """Holds the indexes of the vocabularies; a changed vocabulary is indexed again."""

    def __init__(self, forms: Forms, names: NameDictionary) -> None:
        self._forms = lru_cache(maxsize=100_000)(forms)
        self._names = names
        self._laid_out: tuple[Vocabulary, dict[str, VocabularyIndex]] | None = None

    def tags(self, text: str, vocabulary: Vocabulary, *, is_service: bool = False) -> Tags:
        language = language_for(text)
        words = WORD.findall(text[:MAX_CHARACTERS].casefold())
        spoken = f" {' '.join(words)} "
        tags, topic = self._index(vocabulary, language).tags(words)
        is_ad = has_ad_marks(text, spoken)
        ours = vocabulary.of(language)
        hashtags = (tag for hashtag in HASHTAG.findall(text[:MAX_LOOKS]) if (tag := tag_in(hashtag)) is not None and tag not in ours)
        return Tags(
            tags=tags,
            topic=topic,
            kind=sort_of(text, spoken, is_service=is_service, is_ad=is_ad),
            entities=names_in(text, self._names),
            proposed=tuple(dict.fromkeys(hashtags))[:MAX_PROPOSALS],
            language=language_of(text),
            is_ad=is_ad,
        )

    def _index(self, vocabulary: Vocabulary, language: str) -> VocabularyIndex:
        if self._laid_out is None or self._laid_out[0] is not vocabulary:
            self._laid_out = (vocabulary, {})
        indexes = self._laid_out[1]
        if language not in indexes:
            indexes[language] = self._lay_out(vocabulary.of(language), language)
        return indexes[language]

    def _lay_out(self, topics: Mapping[str, str], language: str) -> VocabularyIndex:
        packaged = packaged_words(language)
        words: dict[frozenset[str], int] = {}
        signs: dict[int, dict[_Sign, None]] = {}
        for tag in topics:
            for phrase in packaged.get(tag, (tag,)):
                weight = FAINT if phrase.startswith(WEAK) else STRONG
                parts = frozenset(words.setdefault(self._forms(word), len(words)) for word in WORD.findall(phrase.casefold()))
                if parts:
                    signs.setdefault(max(parts), {})[_Sign(parts, tag, weight)] = None  # two forms of one word count once
        numbers: dict[str, tuple[int, ...]] = {}
        for forms, number in words.items():
            for form in forms:
                numbers[form] = (*numbers.get(form, ()), number)
        return VocabularyIndex(topics, _heads(topics, packaged), numbers, {number: tuple(found) for number, found in signs.items()})


def _heads(topics: Mapping[str, str], packaged: Iterable[str]) -> dict[str, str]:
    """The first tag of each topic in the packaged file."""
    heads: dict[str, str] = {}
    for tag in packaged:
        if tag in topics:
            heads.setdefault(topics[tag], tag)
    return heads
