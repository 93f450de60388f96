"""Values that follow from a story alone, made once for each: stories are kept between pages."""

from collections.abc import Callable
from functools import wraps
from weakref import WeakKeyDictionary

from telegram_assistant.domain.stories.visible import VisibleStory


def kept_with_story[T](
    make: Callable[[VisibleStory, str | None], T],
) -> Callable[[VisibleStory, str | None], T]:
    """Keeps what the function returns for a story and a reader's language as long as the story itself."""
    values_by_story = WeakKeyDictionary[VisibleStory, dict[str | None, T]]()

    @wraps(make)
    def make_once(story: VisibleStory, language: str | None) -> T:
        values = values_by_story.setdefault(story, {})
        if language not in values:
            values[language] = make(story, language)
        return values[language]

    return make_once
