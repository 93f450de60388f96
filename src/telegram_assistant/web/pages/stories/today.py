"""Today: the stories of the reader's channels, with what is new since the last visit."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from enum import StrEnum
from functools import partial

from starlette.responses import Response

from telegram_assistant.domain.digests.interests import Feedback, StoryFeedback
from telegram_assistant.domain.stories.pictures import DistinctPicture, pictures_of
from telegram_assistant.domain.stories.visible import Grouping
from telegram_assistant.errors import Rejected
from telegram_assistant.features.digests.interests import feedback_of
from telegram_assistant.features.feed.person_feed import begin_visit, feed_surroundings, find_muted_word
from telegram_assistant.features.stories import stories, today
from telegram_assistant.features.stories.keyword_trends import trends_now
from telegram_assistant.features.stories.marks import latest_mark, marks_and_feedback
from telegram_assistant.features.stories.stories import ListedStory
from telegram_assistant.features.stories.telling import words_of
from telegram_assistant.features.watches.inbox import make_line
from telegram_assistant.web.views import FORM_DAMAGED, Content, TenantView, go

TOLD_IN_FULL = 8
"""The first stories have sentences and pictures; the others follow in brief."""
MAX_NEW_LINES = 3
DAY = timedelta(days=1)
MORNING, NOON, EVENING = 5, 12, 18
"""The hours at which these parts of the day begin; before the first it is night."""
UNDO_OFFERED = timedelta(minutes=10)
"""How long the page offers to take back the last mute; the page of interests does so always."""


class Window(StrEnum):
    """Which stories: with news since the last visit, of today, of three days, or of a week."""

    VISIT = "visit"
    TODAY = "today"
    THREE_DAYS = "3days"
    WEEK = "week"


@dataclass(frozen=True, slots=True)
class StoryCard:
    """A story on the page."""

    listed: ListedStory
    picture: DistinctPicture | None
    new_lines: tuple[tuple[str, str, datetime], ...]
    """Channel, words and time of the newest posts, where the story itself is not new."""
    muted_word: str | None
    feedback: frozenset[Feedback]

    @property
    def is_all_new(self) -> bool:
        return len(self.listed.new) == len(self.listed.story.news)

    @property
    def wordings(self) -> int:
        return self.listed.story.wording_count

    @property
    def repeating(self) -> int:
        """Channels that only repeat what others say."""
        return max(0, len(self.listed.story.channel_ids) - self.wordings)


async def show(view: TenantView) -> Content:
    visit, (marks, opinions), surroundings = await asyncio.gather(
        begin_visit(own=view.own, now=view.now),
        marks_and_feedback(marks=view.own.story_marks),
        feed_surroundings(own=view.own),
    )
    window = Window(view.query("window")) if view.query("window") in set(Window) else Window.VISIT
    folder = view.query("folder") or None
    opened_today, contents, checked_at = await asyncio.gather(
        today.read_today(
            visit,
            stores=view.stores,
            own=view.own,
            now=view.now,
            zone=view.zone,
            since=_since(view, window),
            folder=folder,
            language=view.language.value,
        ),
        _read_events(view),
        view.app.recent_checks.get_or_count(
            view.membership.tenant_id, partial(today.last_checked_at, stores=view.stores), now=view.now
        ),
    )
    disputes = await today.load_disputes(opened_today.stories[:TOLD_IN_FULL], language=view.language.value)
    cards = [
        _card(story, visit.mutes.words, opinions, in_full=story_index < TOLD_IN_FULL)
        for story_index, story in enumerate(opened_today.stories)
    ]
    return {
        "greeting": _greeting(view.now.astimezone(view.zone).time()),
        "cards": cards,
        "disputes": disputes,
        "told_in_full": TOLD_IN_FULL,
        "new_count": len(opened_today.new_stories),
        "minutes": opened_today.minutes,
        "tally": opened_today.tally,
        "catch_up": opened_today.catch_up,
        "alert_lines": [make_line(alert) for alert in opened_today.alerts.alerts],
        "unread_alerts": opened_today.alerts.count,
        "changes": [(change, change.changed_line) for change in contents.changes_for(visit.mutes)],
        "rising": contents.rising,
        "checked_at": checked_at,
        "next_digest_at": opened_today.next_digest_at,
        "window": window.value,
        "windows": [choice.value for choice in Window],
        "folder": folder,
        "before_at": visit.before_at,
        "grouping": opened_today.grouping.value,
        "groupings": [choice.value for choice in Grouping],
        "just_muted": next(
            (
                opinion
                for opinion in opinions
                if opinion.feedback is Feedback.MUTED and view.now - opinion.said_at < UNDO_OFFERED
            ),
            None,
        ),
        "marks": marks,
        "just_marked": latest_mark(marks, now=view.now),
        "around": surroundings,
    }


def _greeting(at: time) -> str:
    """The part of the day at which the person comes."""
    begins = {"evening": EVENING, "day": NOON, "morning": MORNING}
    return next((part for part, hour in begins.items() if at.hour >= hour), "night")


async def _read_events(view: TenantView) -> today.Meanwhile:
    """At most a minute old: these are the same for everybody in the tenant."""
    tenant_id, language = view.membership.tenant_id, view.language.value

    async def count() -> today.Meanwhile:
        counting = partial(trends_now, view.now, stores=view.stores, language=language)
        rising = await view.app.recent_trends.get_or_count(
            tenant_id, counting, now=view.now, variant=language
        )
        return await today.meanwhile(stores=view.stores, now=view.now, rising=rising)

    return await view.app.recent_events.get_or_count(tenant_id, count, now=view.now, variant=language)


async def choose_grouping(view: TenantView) -> Response:
    if view.text("grouping") not in set(Grouping):
        raise Rejected(FORM_DAMAGED)
    grouping = Grouping(view.text("grouping"))
    await stories.choose_grouping(grouping, stores=view.stores)
    view.note(grouping=grouping.value)
    return go(view.url("/today"))


def _since(view: TenantView, window: Window) -> datetime | None:
    """None for the last visit."""
    match window:
        case Window.TODAY:
            return datetime.combine(view.now.astimezone(view.zone).date(), time(), view.zone)
        case Window.THREE_DAYS:
            return view.now - 3 * DAY
        case Window.WEEK:
            return view.now - 7 * DAY
        case Window.VISIT:
            return None


def _card(
    listed_story: ListedStory,
    muted_words: tuple[str, ...],
    feedback: Sequence[StoryFeedback],
    *,
    in_full: bool,
) -> StoryCard:
    spoken_text = " ".join(
        (listed_story.telling.headline, *(sentence.text for sentence in listed_story.telling.sentences))
    )
    muted_word, reactions = (
        find_muted_word(spoken_text, muted_words),
        feedback_of(listed_story.story, feedback),
    )
    if not in_full and muted_word is None:
        return StoryCard(listed_story, None, (), None, reactions)
    pictures = pictures_of(listed_story.story, {})
    newest = sorted(listed_story.new, key=lambda post: post.place)[-MAX_NEW_LINES:]
    card = StoryCard(listed_story, pictures[0] if pictures else None, (), muted_word, reactions)
    if card.is_all_new:
        return card
    return replace(card, new_lines=tuple((post.channel, words_of(post), post.posted_at) for post in newest))
