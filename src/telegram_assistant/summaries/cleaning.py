"""The sentences of a post without what its channel puts around them: openings, signatures, links, hashtags,
calls to subscribe.
"""

import re
from dataclasses import dataclass

from telegram_assistant.domain.posts.language import language_of
from telegram_assistant.domain.posts.near_copies import ADDRESS, CALL_TO_FOLLOW, content_of
from telegram_assistant.language.names import names_in
from telegram_assistant.language.parsed_text import goes_on, is_cyrillic, parse_text
from telegram_assistant.language.quantities import quantities_in
from telegram_assistant.language.sentences import is_headline, split_sentences
from telegram_assistant.summaries.values import ChangeSort, StoryPost

OPENING_WORDS = 5
LONG_OPENING_WORDS = 8
CLOSING_WORDS = 7
CHANGE_CHARACTERS = 120
"""A shorter correction goes on in the next sentence."""
_SOURCE = re.compile(
    r"^(?:источник|via|source|по данным|пишет|according to|подробнее|читать полностью|ссылка|more|read in "
    r"full|read (?:more|on|the (?:full|whole))|link)\b",
    re.IGNORECASE,
)
_BYLINE = re.compile(
    r"^(?:корреспондент|автор|фото|видео)\b.*\bспециально для\b"
    r"|^(?:об этом\s+)?(?:рассказ|сообща|сообщил|переда)\w*\s+(?:\S+\s+){0,3}?(?:наш\w*\s+)?корреспондент"
    r"|^(?:фото|видео|текст|автор|иллюстрация|photo|video|picture|by)\s*:(?:\s+\S+){1,5}$",
    re.IGNORECASE,
)
_READ_US = re.compile(
    r"\b(?:читайте|смотрите|слушайте|следите|листайте|переходите|пишите|делитесь|ставьте|узнавайте)\b"
    r"|\b(?:на|в) наш(?:ем|ей|их) (?:\w+ом )?(?:сайт|материал|канал|статье|подкаст|рубрик|чат|бот|проект)\w*"
    r"|\b(?:on|in) our (?:own )?(?:site|website|page|channel|story|article|report|podcast)\b",
    re.IGNORECASE,
)
"""A channel invites to itself; whoever speaks in quotation marks does not."""
_TEASER = re.compile(
    r"^(?:рассказываем|разбираем(?:ся)?|объясняем|собрали|вспоминаем|публикуем|показываем)\b", re.IGNORECASE
)
_IN_QUOTES = re.compile(r"«[^»]*»|“[^”]*”|\"[^\"]*\"")
_REMARK = re.compile(
    r"^(?:(?:также|кроме того,?|при этом)\s+)?(?:также\s+)?"
    r"(?:отмечается|уточняется|добавляется|подч[её]ркивается|указывается)(?:\s+также)?,?\s+"
    r"что\s+(?:также\s+)?"
    r"|^(?:также|кроме того,?)\s+(?=сообщается,\s+что\b)"
    r"|^как\s+(?:переда[её]т|сообщает|отмечает)\s+(?:наш\w*\s+)?корреспондент[^,]*,\s+"
    r"|^it (?:is|was) (?:also )?(?:noted|added) that\s+",
    re.IGNORECASE,
)
"""Words in front of a statement that say only that somebody made it."""
_ABOUT_PICTURE = re.compile(
    r"\s*\((?:(?:на|см\.?|in|see)\s+)?(?:фото|видео|кадр|photo|video|pictured)[^()]{0,30}\)", re.IGNORECASE
)
_REPORTER = re.compile(
    r",\s+(?:передал\w*|переда[её]т|сообщил\w*|сообщает|убедил\w*|увидел\w*|узнал\w*)\s+"
    r"(?:из\s+\S+\s+)?(?:наш\w*\s+)?"
    r"корреспондент\b[^.!?;,]*(?=[.!?]?$)",
    re.IGNORECASE,
)
"""«…, передаёт корреспондент агентства»: who wrote it down is no fact."""
_BARE_ADDRESS = re.compile(r"(?<![\w.])(?:[\w-]+\.)+[a-z]{2,}/\S+", re.IGNORECASE)
_LEADS_ELSEWHERE = re.compile(r"(?:\b(?:здесь|тут|по ссылке|here|link)|:)\W*$", re.IGNORECASE)
"""Words behind which an address stood."""
_ITEM = re.compile(r"\s*(?:[-–—*•·∙●○◦▪▫◾◽‣➡→✔✅☑🔹🔸▶]\ufe0f?\s*|\d{1,2}[.)]\s+)(?=\S)")
MIN_ITEMS = 2
_ADVERTISING = re.compile(
    r"розыгрыш приз|промокод|на правах рекламы|\berid\b|promo code|\bsponsored\b", re.IGNORECASE
)
_MARKS = (
    (
        ChangeSort.CORRECTION,
        re.compile(
            r"^(?:исправление|исправляем|исправлено|уточняем|уточнение|поправка)\b[^:.]{0,30}[:.]\s*",
            re.IGNORECASE,
        ),
    ),
    (
        ChangeSort.CORRECTION,
        re.compile(
            r"^(?:correction|corrected|to clarify|clarification|erratum)\b[^:.]{0,30}[:.]\s*", re.IGNORECASE
        ),
    ),
    (
        ChangeSort.UPDATE,
        re.compile(
            r"^(?:upd|update|updated|added|обновлено|обновление|дополнение|дополнено|"
            r"апд)\b[^:.]{0,10}[:.]\s*",
            re.IGNORECASE,
        ),
    ),
)
_DENIES = re.compile(
    r"опроверг|отверг|не подтвер|отрица|поправляет|возража|denie[ds]|deny|refute|reject(?:s|ed) (?:reports|"
    r"claims)|object",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CleanPost:
    """A post's own sentences. `headline` is its first line where that reads like one."""

    post: StoryPost
    language: str
    headline: str
    sentences: tuple[str, ...]
    changes: tuple[tuple[ChangeSort, str], ...]
    text: str
    content: bytes
    """Equal where the words are."""


def language_in(text: str, known: str | None) -> str:
    """The language of a post: what is known of it, or else what its words and letters say."""
    return known or language_of(text) or ("ru" if is_cyrillic(text) else "en")


def _is_call(sentence: str) -> bool:
    return bool(
        CALL_TO_FOLLOW.search(sentence)
        or _ADVERTISING.search(sentence)
        or _TEASER.match(sentence)
        or _READ_US.search(_IN_QUOTES.sub(" ", sentence))
    )


def _without_remark(sentence: str) -> str:
    remark = _REMARK.match(sentence)
    return sentence if remark is None else sentence[remark.end() :][:1].upper() + sentence[remark.end() + 1 :]


def _leads_elsewhere(sentence: str, bare: str) -> bool:
    """Whether it only says where to read on; `bare` is the sentence without its addresses."""
    has_address = len(bare) < len(" ".join(sentence.split()))
    return bool(_BARE_ADDRESS.search(bare) or (has_address and _LEADS_ELSEWHERE.search(bare)))


def _list_items(text: str) -> frozenset[str]:
    """Sentences of lines with a bullet or a number in front, where there are several: they say little
    without the line above them.
    """
    lines = [line for line in text.splitlines() if _ITEM.match(line)]
    if len(lines) < MIN_ITEMS:
        return frozenset()
    return frozenset(sentence for line in lines for sentence in split_sentences(line))


def clean_post(post: StoryPost) -> CleanPost:
    remaining: list[str] = []
    changes: list[tuple[ChangeSort, str]] = []
    for sentence in split_sentences(post.text):
        bare = _ABOUT_PICTURE.sub("", " ".join(ADDRESS.sub(" ", sentence).split()))
        bare = _without_remark(_REPORTER.sub("", bare))
        if (
            not bare
            or _is_call(bare)
            or _leads_elsewhere(sentence, bare)
            or _SOURCE.match(bare)
            or _BYLINE.match(bare)
            or len(parse_text(bare).words) == 0
        ):
            continue
        kind, text = _split_mark(bare)
        if kind is not None:
            changes.append((kind, text))
        elif changes and len(changes[-1][1]) < CHANGE_CHARACTERS and changes[-1][1].endswith(remaining[-1]):
            changes[-1] = changes[-1][0], f"{changes[-1][1]} {text}"
        remaining.append(text)
    remaining = _without_edges(remaining)
    if not changes and remaining and _DENIES.search(remaining[0]):
        changes.append((ChangeSort.DENIAL, remaining[0]))
    headline = remaining[0] if len(remaining) > 1 and is_headline(remaining[0]) else ""
    text = "\n".join(remaining)
    items = _list_items(post.text)
    body = remaining[1:] if headline else remaining
    sentences = tuple(sentence for sentence in body if sentence not in items) or tuple(body)
    return CleanPost(
        post,
        language_in(post.text, post.language),
        headline,
        sentences,
        tuple(changes),
        text,
        content_of(text),
    )


def mark_of(sentence: str) -> ChangeSort | None:
    """The kind of change that a sentence calls itself: a correction, an update."""
    return _split_mark(sentence)[0]


def _split_mark(sentence: str) -> tuple[ChangeSort | None, str]:
    for kind, mark in _MARKS:
        if (match := mark.match(sentence)) is not None and (remainder := sentence[match.end() :]):
            return kind, remainder[0].upper() + remainder[1:]
    return None, sentence


def without_openings(sentences: list[str]) -> list[str]:
    """Without first sentences that say nothing: «Что известно.», «Коротко.»."""
    while len(sentences) > 1 and not is_headline(sentences[0]) and _is_opening(sentences[0], sentences[1:]):
        sentences = sentences[1:]
    return sentences


def _without_edges(sentences: list[str]) -> list[str]:
    """Without openings, and without a short last sentence that names and counts nothing:
    «Будем обновлять.».
    """
    sentences = without_openings(sentences)
    while len(sentences) > 1 and _is_empty(sentences[-1], CLOSING_WORDS):
        sentences = sentences[:-1]
    return sentences


def _is_opening(sentence: str, rest: list[str]) -> bool:
    """A sentence that names and counts nothing, and is short («Коротко.») or has no
    word in common with the rest («Не смог пройти мимо этого.»).
    """
    if not _is_empty(sentence, LONG_OPENING_WORDS) or goes_on(parse_text(rest[0])):
        return False
    parsed = parse_text(sentence)
    return len(parsed.words) <= OPENING_WORDS or not any(
        word.readings & parse_text(" ".join(rest)).readings for word in parsed.content
    )


def _is_empty(sentence: str, most_words: int) -> bool:
    words = parse_text(sentence).words
    return len(words) <= most_words and not quantities_in(sentence).all and not names_in(sentence)
