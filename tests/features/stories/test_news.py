"""Which stories are listed among news."""

from datetime import UTC, datetime

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.visible import Grouping, VisiblePost, VisibleStory, stories_of
from telegram_assistant.features.stories.news import tells_news

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def story(*texts: str, how: LinkKind, is_ad: bool = False) -> VisibleStory:
    """Each channel tells it once; all but the first follow the first."""
    posts = [
        VisiblePost(
            post_id=PostId(ChannelId(number), MessageId(1)),
            channel=f"{number}",
            username=None,
            posted_at=NOW,
            stored_at=NOW,
            text=text,
            is_ad=is_ad,
        )
        for number, text in enumerate(texts, start=1)
    ]
    links = [Link(post.post_id, posts[0].post_id, how, 9.0, NOW, NOW) for post in posts[1:]]
    return stories_of(posts, links, Grouping.NORMAL)[0]


@pytest.mark.parametrize(
    "text",
    ["Доброе утро, друзья! Хорошего всем дня.", "What to read on the way: stories, funny on every page."],
)
def test_words_that_channels_only_repeat_and_that_name_nothing_are_no_news(text: str) -> None:
    assert not tells_news(story(text, text, text, how=LinkKind.COPY))


@pytest.mark.parametrize("text", ["В Самаре закрыли мост.", "Мост закрыли на 12 дней."])
def test_a_copied_post_with_a_name_or_a_number_is_news(text: str) -> None:
    assert tells_news(story(text, text, how=LinkKind.COPY))


def test_what_two_channels_say_in_their_own_words_is_news_without_any_name() -> None:
    assert tells_news(
        story("Воздушная тревога отменена.", "Тревога закончилась, можно выходить.", how=LinkKind.REWRITE)
    )


def test_advertising_is_no_news_whatever_it_names() -> None:
    assert not tells_news(
        story("Скидка 20 % в Самаре.", "В Самаре скидка 20 %.", how=LinkKind.REWRITE, is_ad=True)
    )
