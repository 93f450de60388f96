"""Which posts of a story say a sentence, and how many of them in words of their own."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import combinations

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.stories.wordings import Voices
from telegram_assistant.language.citations import CitedPost, Verdict, check_sentence
from telegram_assistant.language.evidence import shared_words
from telegram_assistant.language.names import names_in
from telegram_assistant.language.parsed_text import ParsedText, parse_sentences, parse_text
from telegram_assistant.summaries.cleaning import CleanPost
from telegram_assistant.summaries.copied_order import has_few_own_forms, has_same_order, is_contained
from telegram_assistant.summaries.details import says_as_surely, says_details
from telegram_assistant.summaries.disputes import words_around
from telegram_assistant.summaries.sources import common_source
from telegram_assistant.summaries.states import is_near_copy, word_pairs_of
from telegram_assistant.summaries.values import CitedSentence

MAX_TEXTS = 12
"""Different texts in which support is looked for."""
POSSIBLE_SHARE = 0.5
FEW_WORDS = 3
"""A text with fewer of the words of a sentence, names and reporting verbs aside, does not say it; of a few
words none may be missing.
"""
MAX_APART = timedelta(hours=18)
"""Later the same words may tell the next night."""
MIN_COPIED = 6
"""Word pairs of a sentence that a copy may change; a shorter one is only repeated as it is."""


def find_supporters(
    text: str, own: CleanPost, posts: Sequence[CleanPost], *, is_headline: bool = False
) -> tuple[CleanPost, ...]:
    """One post of each channel that says it. Posts with the same text are asked once. A post in other words
    must be as sure, and of a line that is no headline it must have the details.
    """
    says = says_as_surely if is_headline else says_details
    sentence, names = parse_text(text), names_in(text)
    answers: dict[bytes, bool] = {}
    supporters: dict[int, CleanPost] = {own.post.post_id.channel_id: own}
    for post in posts:
        channel_id = post.post.post_id.channel_id
        if channel_id in supporters or not _may_support(own, post, names):
            continue
        if post.content not in answers and len(answers) < MAX_TEXTS:
            answers[post.content] = _supports(sentence, post) and (
                _has_same_wording(post, own) or says(sentence, post.text)
            )
        if answers.get(post.content):
            supporters[channel_id] = post
    return tuple(supporters.values())


def _has_same_wording(post: CleanPost, other: CleanPost) -> bool:
    wording, other_wording = (item.post.wording or item.post.post_id for item in (post, other))
    return wording == other_wording


def _may_support(own: CleanPost, other: CleanPost, names: frozenset[str]) -> bool:
    """Whether both may tell one event: on one day, and of the same names if the sentence names nobody."""
    if abs(other.post.posted_at - own.post.posted_at) > MAX_APART:
        return False
    own_names, other_names = _opening_names(own), _opening_names(other)
    return bool(names) or not own_names or not other_names or bool(own_names & other_names)


def _opening_names(post: CleanPost) -> frozenset[str]:
    return names_in(f"{post.headline}\n{_first(post)}")


def _first(post: CleanPost) -> str:
    return post.sentences[0] if post.sentences else post.headline


def _supports(sentence: ParsedText, post: CleanPost) -> bool:
    content = words_around(sentence.text) or sentence.content
    min_share = 1.0 if len(content) <= FEW_WORDS else POSSIBLE_SHARE
    if shared_words(content, parse_text(post.text)) < min_share:
        return False
    cited = CitedPost(post.text, post.post.posted_at.date(), post.post.channel)
    return check_sentence(sentence.text, [cited]).verdict is Verdict.SUPPORTED


def cite_posts(text: str, supporters: Sequence[CleanPost], *, is_headline: bool = False) -> CitedSentence:
    """The sentence with its posts. Headlines have few words, so those of several posts may be alike."""
    posts = {post.post.post_id: post for post in supporters}
    wordings = _wordings_of(supporters)
    if len(set(wordings.values())) > 1:
        sentences = {post_id: _candidates(text, post) for post_id, post in posts.items()}
        wordings = _join_copied(wordings, sentences, is_headline=is_headline)
    count = Voices(wordings, _owners_of(supporters)).count(posts)
    first_posts = {wording: post_id for post_id, wording in reversed(wordings.items())}
    source = (
        common_source([posts[post_id].post.text for post_id in first_posts.values()]) if count > 1 else ""
    )
    return CitedSentence(text, tuple(posts), count, source)


def count_wordings(posts: Sequence[CleanPost]) -> int:
    voices = Voices(_wordings_of(posts), _owners_of(posts))
    return voices.count(post.post.post_id for post in posts)


def _wordings_of(posts: Iterable[CleanPost]) -> dict[PostId, PostId]:
    return {post.post.post_id: post.post.wording or post.post.post_id for post in posts}


def _owners_of(posts: Iterable[CleanPost]) -> dict[ChannelId, ChannelId]:
    return {post.post.post_id.channel_id: post.post.owner for post in posts if post.post.owner is not None}


def _join_copied(
    wordings: Mapping[PostId, PostId], sentences: Mapping[PostId, tuple[str, str]], *, is_headline: bool
) -> dict[PostId, PostId]:
    """The wordings of a line: posts have one if they say it in nearly the same words, or begin so."""
    joined = dict(wordings)
    for (post, post_sentences), (other, other_sentences) in combinations(sentences.items(), 2):
        if joined[post] != joined[other] and (
            any(map(_is_copied, post_sentences, other_sentences))
            or (not is_headline and has_few_own_forms(post_sentences[0], other_sentences[0]))
        ):
            replaced_wording = joined[other]
            joined = {
                member: joined[post] if wording == replaced_wording else wording
                for member, wording in joined.items()
            }
    return joined


def _is_copied(sentence: str, other: str) -> bool:
    own_pairs, other_pairs = word_pairs_of(sentence), word_pairs_of(other)
    is_short = min(len(own_pairs), len(other_pairs)) < MIN_COPIED
    has_same_pairs = own_pairs == other_pairs if is_short else is_near_copy(sentence, other)
    return has_same_pairs or has_same_order(sentence, other) or is_contained(sentence, other)


def _candidates(text: str, post: CleanPost) -> tuple[str, str]:
    """The sentence of a post that says the line, a copy of it if there is one, and its first sentence."""
    sentences = parse_sentences(post.text)
    content = parse_text(text).content
    nearest = max(
        sentences,
        key=lambda sentence: (
            _is_copied(text, sentence.text),
            sum(bool(word.readings & sentence.readings) for word in content),
        ),
    )
    return nearest.text, _first(post)
