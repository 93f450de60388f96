"""Tags a text by its words, without a provider.

An index of all word forms is built once, so tagging a post is a lookup of its words.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from telegram_assistant.ai.local.kinds import classify_post, has_ad_marks
from telegram_assistant.ai.local.name_dictionary import NameDictionary
from telegram_assistant.ai.local.names import names_in
from telegram_assistant.ai.local.vocabulary import WEAK, packaged_words
from telegram_assistant.ai.local.words import HASHTAG, MAX_CHARACTERS, WORD, Forms
from telegram_assistant.ai.outputs import Tags
from telegram_assistant.domain.posts.language import language_of
from telegram_assistant.domain.posts.near_copies import without_surroundings
from telegram_assistant.domain.understanding.vocabulary import (
    MAX_PROPOSALS,
    MAX_TAGS,
    Vocabulary,
    language_for,
    tag_in,
)

LOCAL_MODEL = "words/6"
"""Raise the number when rules or words change: `tga retag` then finds older results."""
STRONG_WEIGHT, WEAK_WEIGHT = 2, 1
MIN_SCORE = 2
"""The score that a tag needs: one strong word, or two weak ones."""
MIN_SIGNS_OUTSIDE_TOPIC = 2
MAX_OCCURRENCES = 3
"""More occurrences of the same word add nothing."""
MAX_HASHTAG_CHARACTERS = 4_000
"""Hashtags are searched in this much of a text."""


@dataclass(frozen=True, slots=True)
class _Sign:
    """A word, or several words together, that indicates a tag."""

    word_ids: frozenset[int]
    tag: str
    weight: int


@dataclass(frozen=True, slots=True)
class VocabularyIndex:
    """Finds the tags of one language's vocabulary by the words that indicate them."""

    topics: Mapping[str, str]
    """The topic of each tag."""
    main_tags: Mapping[str, str]
    """The tag that names the topic itself, by topic."""
    word_ids: Mapping[str, tuple[int, ...]]
    """By form: the words that it may be a form of."""
    signs: Mapping[int, tuple[_Sign, ...]]
    """By word; a sign of several words is listed under one of them."""

    def score_tags(self, words: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
        """The score of each tag, and the number of its different signs."""
        word_ids = self.word_ids
        word_counts = Counter(word_id for word in words if word in word_ids for word_id in word_ids[word])
        scores: Counter[str] = Counter()
        signs: Counter[str] = Counter()
        for word_id, times in word_counts.items():
            for sign in self.signs.get(word_id, ()):
                if sign.word_ids <= word_counts.keys():
                    scores[sign.tag] += sign.weight * (
                        min(times, MAX_OCCURRENCES) if len(sign.word_ids) == 1 else 1
                    )
                    signs[sign.tag] += 1
        return scores, signs

    def best_tags(self, words: Iterable[str]) -> tuple[tuple[str, ...], str]:
        """The best tags, and the topic with the highest score. No topic if it has only MIN_SCORE and another
        has as much: one word against another.

        A word may mean something other than its tag, so a tag outside the topic needs a second, different
        sign.
        """
        scores, signs = self.score_tags(words)
        weights: Counter[str] = Counter()
        for tag, score in scores.items():
            weights[self.topics[tag]] += score
        tags = [tag for tag, score in scores.items() if score >= MIN_SCORE]
        if not tags:
            return (), ""
        topic = max((self.topics[tag] for tag in tags), key=weights.__getitem__)
        if weights[topic] <= MIN_SCORE and any(
            weight >= MIN_SCORE for other, weight in weights.items() if other != topic
        ):
            topic = ""
        tags = [tag for tag in tags if self.topics[tag] == topic or signs[tag] >= MIN_SIGNS_OUTSIDE_TOPIC]
        tags.sort(key=lambda tag: (-(scores[tag] + (self.topics[tag] == topic)), tag))
        main_tag = [self.main_tags[topic]] if topic in self.main_tags else []
        return tuple(dict.fromkeys([*tags[: MAX_TAGS - 1], *main_tag, *tags[MAX_TAGS - 1 :]]))[
            :MAX_TAGS
        ], topic


class LocalTagger:
    """Tags texts on this machine.

    Indexes a vocabulary on first use, one language at a time, and again when it has changed.
    """

    def __init__(self, forms: Forms, names: NameDictionary) -> None:
        self._forms = lru_cache(maxsize=100_000)(forms)
        self._names = names
        self._indexed: tuple[Vocabulary, dict[str, VocabularyIndex]] | None = None

    def tags(
        self, text: str, vocabulary: Vocabulary, *, addresses: Sequence[str] = (), is_service: bool = False
    ) -> Tags:
        language = language_for(text)
        words = WORD.findall(text[:MAX_CHARACTERS].casefold())
        joined_words = f" {' '.join(words)} "
        tags, topic = self._index(vocabulary, language).best_tags(words)
        is_ad = has_ad_marks(text, joined_words, addresses)
        known_tags = vocabulary.tags_of(language)
        hashtags = HASHTAG.findall(text[:MAX_HASHTAG_CHARACTERS])
        proposed_tags = (
            tag for hashtag in hashtags if (tag := tag_in(hashtag)) is not None and tag not in known_tags
        )
        return Tags(
            tags=tags,
            topic=topic,
            kind=classify_post(text, joined_words, is_service=is_service, is_ad=is_ad),
            entities=names_in(without_surroundings(text[:MAX_CHARACTERS]), self._names),
            proposed=tuple(dict.fromkeys(proposed_tags))[:MAX_PROPOSALS],
            language=language_of(text),
            is_ad=is_ad,
        )

    def _index(self, vocabulary: Vocabulary, language: str) -> VocabularyIndex:
        if self._indexed is None or self._indexed[0] is not vocabulary:
            self._indexed = (vocabulary, {})
        indexes = self._indexed[1]
        if language not in indexes:
            indexes[language] = self._build_index(vocabulary.tags_of(language), language)
        return indexes[language]

    def _build_index(self, topics: Mapping[str, str], language: str) -> VocabularyIndex:
        packaged_tags = packaged_words(language)
        ids_by_forms: dict[frozenset[str], int] = {}
        signs: dict[int, dict[_Sign, None]] = {}
        for tag in topics:
            for phrase in packaged_tags.get(tag, (tag,)):
                weight = WEAK_WEIGHT if phrase.startswith(WEAK) else STRONG_WEIGHT
                parts = frozenset(
                    ids_by_forms.setdefault(self._forms(word), len(ids_by_forms))
                    for word in WORD.findall(phrase.casefold())
                )
                if parts:
                    signs.setdefault(max(parts), {})[_Sign(parts, tag, weight)] = (
                        None  # a dict, so that two forms of one word count once
                    )
        word_ids: dict[str, tuple[int, ...]] = {}
        for forms, word_id in ids_by_forms.items():
            for form in forms:
                word_ids[form] = (*word_ids.get(form, ()), word_id)
        return VocabularyIndex(
            topics,
            _main_tags(topics, packaged_tags),
            word_ids,
            {word_id: tuple(word_signs) for word_id, word_signs in signs.items()},
        )


def _main_tags(topics: Mapping[str, str], packaged_tags: Iterable[str]) -> dict[str, str]:
    """The first tag of each topic in the packaged file."""
    main_tags: dict[str, str] = {}
    for tag in packaged_tags:
        if tag in topics:
            main_tags.setdefault(topics[tag], tag)
    return main_tags
