"""Which stories are news, and not what several channels say every day: greetings, advice, sayings."""

from telegram_assistant.domain.stories.ranking import is_news
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.language.names import names_in
from telegram_assistant.language.numbers import numbers_in

MIN_WORDINGS = 2


def tells_news(story: VisibleStory) -> bool:
    """Whether channels of several owners tell it, not only as advertising, and not only by repeating words
    that name nobody and no number.

    A report by two owners in their own words is news without any name.
    """
    return is_news(story) and (
        _in_own_words(story) or any(numbers_in(post.text) or names_in(post.text) for post in story.posts)
    )


def _in_own_words(story: VisibleStory) -> bool:
    return story.count_wordings(post for post in story.posts if post.text) >= MIN_WORDINGS
