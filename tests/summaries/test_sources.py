"""The source that posts name, and when a line says that all of them retell one source."""

from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.summaries.sources import common_source, sources_in
from telegram_assistant.summaries.summary import summarise
from telegram_assistant.summaries.values import StoryPost

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)
CLOSED = "Мост через Охту закрыли до апреля. Об этом сообщает агентство «Рассвет»."
RETOLD = "До апреля закрыт мост через Охту. По данным «Рассвета»."


def headline_source(*texts: str) -> str:
    posts = [
        StoryPost(
            post_id=PostId(ChannelId(number), MessageId(100)),
            channel=f"Канал {number}",
            text=text,
            posted_at=NOON + timedelta(minutes=number),
        )
        for number, text in enumerate(texts)
    ]
    summary = summarise(posts)
    assert summary is not None
    assert summary.headline.wordings == len(texts)
    return summary.headline.source


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Об этом сообщает агентство «Рассвет».", "По данным «Рассвета», мост закрыт."),
        ("Об этом заявил Дмитрий Песков.", "Песков сообщил, что моста не будет."),
        ("The news agency Dawn Press reports this.", "An official told Dawn Press."),
        ("Dawn Press first reported it.", "The bridge is shut, according to the Dawn Press."),
        ("Пишет @dawn_press", "via @dawn_press"),
    ],
)
def test_a_source_is_the_same_in_other_words(text: str, other: str) -> None:
    assert common_source([text, other])


@pytest.mark.parametrize(
    "text", ["Мост через Охту закрыли до апреля.", "The bridge in Elmstead is shut.", "сообщили очевидцы"]
)
def test_a_text_that_names_nobody_has_no_source(text: str) -> None:
    assert not sources_in(text)


def test_a_line_says_that_all_wordings_name_one_source() -> None:
    assert headline_source(CLOSED, RETOLD) == "Рассвет"


def test_a_wording_that_names_another_source_or_none_breaks_it() -> None:
    assert headline_source(CLOSED, RETOLD.replace("Рассвета", "Заката")) == ""
    assert headline_source(CLOSED, "До апреля закрыт мост через Охту.") == ""


def test_long_words_cost_little() -> None:
    began = datetime.now(UTC)
    assert not sources_in("А" * 4000)
    assert datetime.now(UTC) - began < timedelta(seconds=1)
