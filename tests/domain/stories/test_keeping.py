"""Values that are made once for each story, and go with it."""

import gc
from datetime import UTC, datetime
from weakref import ref

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.keeping import kept_with_story
from telegram_assistant.domain.stories.visible import VisiblePost, VisibleStory

MOMENT = datetime(2026, 11, 1, tzinfo=UTC)


def make_story(text: str) -> VisibleStory:
    post = VisiblePost(
        post_id=PostId(ChannelId(1), MessageId(1)),
        channel="City",
        username=None,
        posted_at=MOMENT,
        stored_at=MOMENT,
        text=text,
    )
    return VisibleStory((post,))


def test_a_value_is_made_once_for_each_story_and_language() -> None:
    made: list[tuple[str, str | None]] = []

    @kept_with_story
    def title(story: VisibleStory, language: str | None) -> str:
        made.append((story.first.text, language))
        return f"{story.first.text} {language}"

    snow, same_words = make_story("snow"), make_story("snow")
    assert [title(snow, "en"), title(snow, "en"), title(snow, None)] == ["snow en", "snow en", "snow None"]
    assert title(same_words, "en") == "snow en"
    assert made == [("snow", "en"), ("snow", None), ("snow", "en")]


def test_a_value_goes_with_its_story() -> None:
    class Value:
        pass

    @kept_with_story
    def value_of(_story: VisibleStory, _language: str | None) -> Value:
        return Value()

    story = make_story("ice")
    value = ref(value_of(story, None))
    assert value() is value_of(story, None)
    del story
    gc.collect()
    assert value() is None
