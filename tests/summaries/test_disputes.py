"""Which differing numbers of a story's posts are a dispute, and which are none."""

from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.visible import Grouping, VisiblePost, stories_of
from telegram_assistant.summaries.summary import summarise
from telegram_assistant.summaries.values import Dispute, StoryPost

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


def post(channel: int, text: str, *, minutes: int = 0, group: int = 0) -> StoryPost:
    return StoryPost(
        post_id=PostId(ChannelId(channel), MessageId(100 + minutes)),
        channel=f"Канал {channel}",
        text=text,
        posted_at=NOON + timedelta(minutes=minutes or channel),
        group=group,
    )


def disputes_of(*texts: str) -> tuple[Dispute, ...]:
    summary = summarise([post(number, text) for number, text in enumerate(texts, start=1)])
    assert summary is not None
    return summary.disputed


def test_two_numbers_of_one_thing_are_a_dispute() -> None:
    (dispute,) = disputes_of("На складе в Ольхове сгорели 8 машин.", "В Ольхове на складе сгорели 5 машин.")
    assert {dispute.stands.number, dispute.others[0].number} == {"8 машин", "5 машин"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            "На складе сгорели 8 машин. Три машины, а не 5 машин, успели вывезти со склада.",
            "На складе сгорели 5 машин.",
            id="one post has both",
        ),
        pytest.param("Завод выпустил 9140 тонн стали.", "Завод выпустил 9100 тонн стали.", id="rounded"),
        pytest.param("На складе сгорели 8 машин.", "На складе сгорели более 5 машин.", id="more than"),
        pytest.param("The fire destroyed 8 cars.", "The fire destroyed at least 5 cars.", id="at least"),
        pytest.param(
            "В Ольхове на складе сгорели 8 машин.", "В Туманске на складе сгорели 5 машин.", id="places"
        ),
        pytest.param(
            "Биржа: доллар подорожал сразу на 8 процентов.",
            "Биржа: евро подорожал сразу на 5 процентов.",
            id="currencies",
        ),
        pytest.param(
            "За 2 часа на складе сгорели 8 машин.", "За 4 часа на складе сгорели 5 машин.", id="hours"
        ),
        pytest.param(
            "После пожара на складе в больницу попали 8 рабочих.",
            "На пожар у склада выехали сразу 5 рабочих соседнего завода.",
            id="frames",
        ),
        pytest.param(
            "На складе погибли 4 человека.",
            "На складе погибли люди: число выросло до 7 человек.",
            id="growth",
        ),
        pytest.param("The crash killed 4 people.", "The crash killed now 7 people.", id="now"),
    ],
)
def test_numbers_that_may_both_be_true_are_no_dispute(first: str, second: str) -> None:
    assert disputes_of(first, second) == ()


def test_a_number_that_is_given_on_the_next_day_is_no_dispute() -> None:
    first, second = "На складе в Ольхове сгорели 8 машин.", "В Ольхове на складе сгорели 5 машин."
    for minutes, count in ((60, 1), (60 * 22, 0)):
        summary = summarise([post(1, first), post(2, second, minutes=minutes)])
        assert summary is not None
        assert len(summary.disputed) == count


def test_a_number_that_its_own_channel_replaced_is_no_dispute() -> None:
    old, new = "На складе погибли 4 человека.", "На складе погибли 7 человек."
    summary = summarise([post(1, old, minutes=1), post(2, old, minutes=5), post(1, new, minutes=60)])
    assert summary is not None
    assert summary.disputed == ()


def test_posts_that_hold_together_by_weak_links_do_not_contradict_each_other() -> None:
    old, new = "На складе погибли 4 человека.", "На складе погибли 7 человек."
    for group, disputes in ((0, 1), (1, 0)):
        summary = summarise([post(1, old), post(2, new, group=group)])
        assert summary is not None
        assert len(summary.disputed) == disputes


def test_a_story_names_the_groups_that_strong_links_hold_together() -> None:
    posts = [
        VisiblePost(
            post_id=PostId(ChannelId(channel), MessageId(1)),
            channel=f"Канал {channel}",
            username=None,
            posted_at=NOON + timedelta(minutes=channel),
            stored_at=NOON,
            text="",
        )
        for channel in (1, 2, 3)
    ]
    links = [
        Link(later.post_id, earlier.post_id, LinkKind.REWRITE, score, later.posted_at, earlier.posted_at)
        for later, earlier, score in ((posts[1], posts[0], 0.5), (posts[2], posts[1], 1.0))
    ]
    (story,) = stories_of(posts, links, Grouping.LOOSE)
    assert [story.groups[visible.post_id] for visible in posts] == [0, 1, 1]
