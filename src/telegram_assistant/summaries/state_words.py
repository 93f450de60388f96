"""One word for what became of a story: of the event, if its headline says so beyond doubt, or else of the
newest post that repeats no other.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from telegram_assistant.domain.stories.visible import VisiblePost, VisibleStory
from telegram_assistant.language.parsed_text import fold
from telegram_assistant.summaries.denials import corrects_openly, denial_in, is_denied_by


class StateWord(StrEnum):
    """The state of a story, as its card shows it."""

    REOPENED = "reopened"
    RESUMED = "resumed"
    RESTORED = "restored"
    PUT_OUT = "put_out"
    FOUND = "found"
    CANCELLED = "cancelled"
    POSTPONED = "postponed"
    DENIED = "denied"
    CORRECTED = "corrected"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class _Event:
    """Verbs that tell the event in the past, and what the story must have told before it."""

    word: StateWord
    verbs: re.Pattern[str]
    before: re.Pattern[str] | None = None


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b")


_CLOSED = _words(
    r"закры(?:л\w*|т\w?|та)|перекры(?:л\w*|т\w?)|приостанов\w+|остановлен\w?|остановил\w*|"
    r"closed|closes|shut|suspended|halted|stopped"
)
_BURNS = _words(
    r"пожар\w*|огонь|огн[яе]м?|возгорани\w+|пламя|горит|горел\w?|загорел\w+|fire|fires|blaze|flames|wildfire"
)
_MISSING = _words(r"пропал\w*|ищут|ищет|искали|разыскива\w+|поиск\w*|missing|search|searching|searched")
_CUT_OFF = _words(
    r"без (?:воды|света|тепла|газа|связи|электричества|отопления|интернета)|отключ\w+|обесточ\w+|"
    r"without (?:water|power|heat|heating|gas|electricity|internet)|cut off|outage|blackout"
)
_EVENTS = (
    _Event(StateWord.REOPENED, _words(r"открыл\w*|открыт[аоы]?|reopened"), _CLOSED),
    _Event(
        StateWord.RESUMED,
        _words(
            r"возобнов(?:ил\w*|лен\w?)|восстанов(?:ил\w*|лен\w?)|заработал\w?|resumed|restored|back to normal"
        ),
        _CLOSED,
    ),
    _Event(StateWord.RESTORED, _words(r"вернул[аио]?|восстанов(?:ил\w*|лен\w?)|restored|back on"), _CUT_OFF),
    _Event(
        StateWord.PUT_OUT,
        _words(r"потуш(?:ил\w?|ен\w?)|погасил\w?|погашен\w?|extinguished|doused|put out|is out"),
        _BURNS,
    ),
    _Event(StateWord.FOUND, _words(r"нашел(?:ся)?|нашл[аио](?:с[ья])?|найден\w?|found"), _MISSING),
    _Event(StateWord.CANCELLED, _words(r"отмен(?:ил\w?|ен\w?)|cancell?ed|called off")),
    _Event(StateWord.POSTPONED, _words(r"отлож(?:ил\w?|ен\w?)|перенес(?:ли|л[ао]|ен\w?)|postponed")),
)
_UNSURE = _words(
    r"не|ни|нет|без|если|пока|может|могут|могли|мог|хотят|просят|требуют|обещают|обещает|якобы|вероятно|"
    r"not|never|no|if|until|may|might|could|would|will|be|wants?|asks?|demands?|hopes?|expected|reportedly|"
    r"partly|частично|отчасти|почти|nearly|almost"
)
"""A headline with one of these may say that it has not happened, or not quite."""


def find_state_word(story: VisibleStory, headline: str, before: str) -> StateWord | None:
    """None if the posts do not say it beyond doubt. `before` is the headline until the state changed; empty
    if it did not.
    """
    event = _event_in(fold(headline), fold(before)) if before else None
    if event is not None:
        return event
    newest = story.newest_news
    if newest is story.first:
        return None
    if _is_denial(newest, story.posts):
        return StateWord.DENIED
    if corrects_openly(newest.own_text):
        return StateWord.CORRECTED
    return StateWord.DELETED if newest.deleted_at else None


def _event_in(headline: str, before: str) -> StateWord | None:
    if headline.endswith("?") or _UNSURE.search(headline) or _CLOSED.search(headline):
        return None
    events = [
        event
        for event in _EVENTS
        if event.verbs.search(headline) and (event.before is None or event.before.search(before))
    ]
    return events[0].word if len(events) == 1 and not events[0].verbs.search(before) else None


def _is_denial(newest: VisiblePost, posts: Sequence[VisiblePost]) -> bool:
    denial = denial_in(newest.own_text)
    return denial is not None and any(
        post.place < newest.place
        and post.channel_id != newest.channel_id
        and is_denied_by(post.own_text, denial)
        for post in posts
    )
