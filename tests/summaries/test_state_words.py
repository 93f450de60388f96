"""The one word for what became of a story: from its headline, or from its newest post in words of its own."""

from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.visible import VisiblePost, VisibleStory
from telegram_assistant.summaries.state_words import StateWord, find_state_word

BEGAN = datetime(2026, 11, 15, 8, tzinfo=UTC)
FIRE = "На складе в Ветрограде горит крыша, пожар тушат 12 машин"
CLOSED = "Вантовый мост в Ветрограде закрыт на 13 дней"


def make_story(*texts: str, deleted_at: datetime | None = None) -> VisibleStory:
    """A post of another channel every hour; the last may be deleted."""
    posts = tuple(
        VisiblePost(
            post_id=PostId(ChannelId(place), MessageId(1)),
            channel=f"Channel {place}",
            username=None,
            posted_at=BEGAN + timedelta(hours=place),
            stored_at=BEGAN + timedelta(hours=place),
            text=text,
            deleted_at=deleted_at if place == len(texts) else None,
        )
        for place, text in enumerate(texts, 1)
    )
    return VisibleStory(posts, {})


@pytest.mark.parametrize(
    ("before", "headline", "word"),
    [
        (CLOSED, "Вантовый мост в Ветрограде открыли раньше срока", StateWord.REOPENED),
        ("The cable bridge is closed for 13 days", "The cable bridge has reopened early", StateWord.REOPENED),
        ("Движение трамваев остановлено", "Движение трамваев возобновлено", StateWord.RESUMED),
        ("340 домов остались без воды", "Воду вернули, но её советуют кипятить", StateWord.RESTORED),
        ("The town is without power", "Power is restored in the town", StateWord.RESTORED),
        (FIRE, "Пожар на складе в Ветрограде потушили", StateWord.PUT_OUT),
        ("A warehouse is on fire in Northtown", "The warehouse fire was put out", StateWord.PUT_OUT),
        ("В тайге ищут двух туристов", "Туристов нашли живыми", StateWord.FOUND),
        ("Матч «Сокола» в субботу", "Матч «Сокола» отменён из-за снега", StateWord.CANCELLED),
        ("Концерт в субботу", "Концерт перенесли на март", StateWord.POSTPONED),
    ],
)
def test_a_changed_headline_gives_the_word_of_its_event(before: str, headline: str, word: StateWord) -> None:
    assert find_state_word(make_story(before, headline), headline, before) is word


@pytest.mark.parametrize(
    ("before", "headline"),
    [
        (CLOSED, "Вантовый мост в Ветрограде не открыли"),
        (CLOSED, "Вантовый мост могут открыть раньше, участок уже открыт"),
        (CLOSED, "Вантовый мост откроют завтра"),
        (CLOSED, "Второй мост закрыт, объезд открыли"),
        (CLOSED, "Мост открыли?"),
        ("Выборы мэра", "В городе открыли новую станцию"),
        ("Банк выдал кредит", "Завод погасил долг"),
        (FIRE, "Пожар почти потушили"),
        ("The bridge is closed", "The bridge will be reopened in May"),
        ("Нефть дорожает", "Нефть подешевела на 4 %"),
        ("", "Пожар на складе потушили"),
    ],
)
def test_a_headline_that_leaves_doubt_gives_no_word(before: str, headline: str) -> None:
    assert find_state_word(make_story(before or headline, headline), headline, before) is None


def test_the_newest_post_that_repeats_no_other_is_denied_corrected_or_deleted() -> None:
    claim = "Завод «Вымпел» в Северограде закрывают, людей сокращают"
    denial = "Мэрия опровергла закрытие завода «Вымпел» в Северограде"
    correction = "Уточнение: на заводе сократят 40 человек, а не 400."
    assert find_state_word(make_story(claim, correction), claim, "") is StateWord.CORRECTED
    gone = make_story(claim, "Людей уже вызвали в отдел кадров", deleted_at=BEGAN + timedelta(hours=5))
    assert find_state_word(gone, claim, "") is StateWord.DELETED
    assert find_state_word(make_story(claim, denial), claim, "") is StateWord.DENIED
    assert find_state_word(make_story("Совсем другое сообщение о погоде", denial), claim, "") is None
    assert find_state_word(make_story(claim, denial, "Директор завода дал интервью"), claim, "") is None


def test_a_story_of_one_post_has_no_word() -> None:
    gone = make_story(FIRE, deleted_at=BEGAN + timedelta(hours=5))
    assert find_state_word(gone, FIRE, "") is None
