"""The line of an alert in the inbox."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.watches.watch import AlertKind, AlertSeverity, WatchKind
from telegram_assistant.features.watches.inbox import make_line
from telegram_assistant.stores.postgres.watches.alerts import Alert

NOW = datetime(2026, 11, 18, tzinfo=UTC)


def make_alert(text: str, query: str = "мост OR bridge") -> Alert:
    return Alert(
        alert_id=uuid4(),
        watch_id=uuid4(),
        watch="Мосты",
        kind=AlertKind.POSTED,
        severity=AlertSeverity.NORMAL,
        channel_id=ChannelId(5),
        message_id=MessageId(1),
        happened_at=NOW,
        created_at=NOW,
        seen_at=None,
        seen_by=None,
        channel="Вестник",
        username="vestnik",
        text=text,
        posted_at=NOW,
        watch_kind=WatchKind.WORDS,
        watch_query=query,
    )


@pytest.mark.parametrize(
    ("text", "headline"),
    [
        (
            "Что известно. Литейный мост закрыли на 12 недель.",
            "Литейный мост закрыли на 12 недель.",
        ),
        (
            "What is known. A bridge in Lisbon was closed for 12 weeks.",
            "A bridge in Lisbon was closed for 12 weeks.",
        ),
        (
            "Analysis. The old bridge is open again, said the mayor.",
            "The old bridge is open again, said the mayor.",
        ),
        ("Мост закрыли. Осмотр опор нашёл 4 трещины.", "Мост закрыли."),
        ("Мост закрыли.", "Мост закрыли."),
        ("Рано утром закрыли старый мост\nОсмотр опор нашёл 4 трещины.", "Рано утром закрыли старый мост"),
    ],
)
def test_the_headline_of_an_alert_is_the_first_sentence_that_says_something(text: str, headline: str) -> None:
    assert make_line(make_alert(text)).headline.text == headline
