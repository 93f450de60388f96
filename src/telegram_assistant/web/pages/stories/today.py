"""Today: the stories of the reader's channels, with what is new since the last visit."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import StrEnum

from starlette.responses import Response

from telegram_assistant.domain.digests.interests import Feedback, StoryFeedback
from telegram_assistant.domain.stories.pictures import OncePicture, pictures_of
from telegram_assistant.domain.stories.visible import Grouping
from telegram_assistant.errors import Rejected
from telegram_assistant.features.digests.interests import said_about
from telegram_assistant.features.feed.person_feed import muted_word_in
from telegram_assistant.features.stories.stories import ListedStory, recent_stories
from telegram_assistant.features.stories.telling import words_of
from telegram_assistant.stores.postgres.feed.choices import Visit
from telegram_assistant.web.charts.stories import SMALL_HEIGHT, SpreadChart, draw_spread
from telegram_assistant.web.views import DAMAGED, Content, TenantView, go

PAGE = 20
TOLD_IN_FULL = 8
"""The first stories have sentences and pictures; the others follow in brief."""
MAX_NEW_LINES = 3
DAY = timedelta(days=1)
UNDO_OFFERED = timedelta(minutes=10)
"""How long the page offers to take back the last mute; the page of interests does so always."""


class Window(StrEnum):
    """Which stories: with a post since the last visit, of today, of three days, or of a week."""

    VISIT = "visit"
    TODAY = "today"
    THREE_DAYS = "3days"
    WEEK = "week"


@dataclass(frozen=True, slots=True)
class StoryCard:
    """A story on the page."""

    listed: ListedStory
    picture: OncePicture | None
    spread: SpreadChart | None
    """None in brief, where nothing of this is shown."""
    new_lines: tuple[tuple[str, str, datetime], ...]
    """Channel, words and time of the newest posts, where the story itself is not new."""
    muted_word: str | None
    said: frozenset[Feedback]

    @property
    def is_all_new(self) -> bool:
        return len(self.listed.new) == len(self.listed.story.posts)


async def show(view: TenantView) -> Content:
    visit, opinions, around = await asyncio.gather(
        view.own.choices.visit(view.now), view.own.interests.said(), view.own.reading.surroundings()
    )
    window = Window(view.query("window")) if view.query("window") in set(Window) else Window.VISIT
    folder = view.query("folder") or None
    recent = await recent_stories(
        _since(view, window, visit),
        stores=view.stores,
        now=view.now,
        seen_at=visit.before_at,
        folder=folder,
        mutes=visit.mutes,
        language=view.language.value,
        limit=PAGE,
    )
    cards = [
        _card(listed, visit.mutes.words, opinions, in_full=place < TOLD_IN_FULL)
        for place, listed in enumerate(recent.stories)
    ]
    return {
        "cards": cards,
        "told_in_full": TOLD_IN_FULL,
        "new_count": sum(bool(card.listed.new) for card in cards),
        "window": window.value,
        "windows": [choice.value for choice in Window],
        "folder": folder,
        "before_at": visit.before_at,
        "grouping": recent.grouping.value,
        "groupings": [choice.value for choice in Grouping],
        "just_muted": next(
            (
                opinion
                for opinion in opinions
                if opinion.feedback is Feedback.MUTED and view.now - opinion.said_at < UNDO_OFFERED
            ),
            None,
        ),
        "around": around,
    }


async def choose_grouping(view: TenantView) -> Response:
    if view.text("grouping") not in set(Grouping):
        raise Rejected(DAMAGED)
    grouping = Grouping(view.text("grouping"))
    await view.stores.stories.choose_grouping(grouping)
    view.note(grouping=grouping.value)
    return go(view.url("/today"))


def _since(view: TenantView, window: Window, visit: Visit) -> datetime:
    """After a visit the page goes back a day at least:
    whoever was here an hour ago still finds the stories of the day below the new ones.
    """
    local = view.now.astimezone(view.zone)
    match window:
        case Window.TODAY:
            return datetime.combine(local.date(), time(), view.zone)
        case Window.THREE_DAYS:
            return view.now - 3 * DAY
        case Window.WEEK:
            return view.now - 7 * DAY
        case Window.VISIT:
            return min(visit.before_at, view.now - DAY) if visit.before_at else view.now - 3 * DAY


def _card(
    listed: ListedStory, muted_words: tuple[str, ...], feedback: Sequence[StoryFeedback], *, in_full: bool
) -> StoryCard:
    spoken = " ".join((listed.telling.headline, *(sentence.text for sentence in listed.telling.sentences)))
    muted_word, reactions = muted_word_in(spoken, muted_words), said_about(listed.story, feedback)
    if not in_full and muted_word is None:
        return StoryCard(listed, None, None, (), None, reactions)
    pictures = pictures_of(listed.story, {})
    newest = sorted(listed.new, key=lambda post: post.place)[-MAX_NEW_LINES:]
    return StoryCard(
        listed,
        pictures[0] if pictures else None,
        draw_spread(listed.story, height=SMALL_HEIGHT),
        tuple((post.channel, words_of(post), post.posted_at) for post in newest)
        if len(listed.new) < len(listed.story.posts)
        else (),
        muted_word,
        reactions,
    )
