"""What a list of stories says of each."""

from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.visible import Grouping, VisiblePost, VisibleStory, stories_of
from telegram_assistant.features.stories.telling import newest_state_of, summary_of, tell

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
CLOSED = "Мост в Ольхове закрыли до апреля.\n\nГрузовики едут в объезд через Туманск."
REOPENED = "Мост в Ольхове снова открыт: машины пошли утром."
REPEATED = "В Ольхове до апреля закрыт мост, объезд идёт через Туманск."


def story(*texts: str) -> VisibleStory:
    """Each channel tells it once, an hour after the one before it."""
    posts = [
        VisiblePost(
            post_id=PostId(ChannelId(hour), MessageId(1)),
            channel=f"{hour}",
            username=None,
            posted_at=NOON + timedelta(hours=hour),
            stored_at=NOON + timedelta(hours=hour),
            text=text,
        )
        for hour, text in enumerate(texts, start=1)
    ]
    links = [
        Link(post.post_id, posts[0].post_id, LinkKind.REWRITE, 9.0, post.posted_at, posts[0].posted_at)
        for post in posts[1:]
    ]
    return stories_of(posts, links, Grouping.NORMAL)[0]


def test_a_list_names_the_newest_state_as_the_story_itself_does() -> None:
    changed = story(CLOSED, REPEATED, REOPENED)
    telling, summary = tell(changed), summary_of(changed)
    assert summary is not None
    assert (telling.headline, telling.state_at) == (REOPENED.removesuffix("."), NOON + timedelta(hours=3))
    assert (summary.headline.text, summary.state_at) == (REOPENED, telling.state_at)
    assert telling.before == "Мост в Ольхове закрыли до апреля"


def test_a_story_that_is_only_told_again_keeps_its_headline() -> None:
    telling = tell(story(CLOSED, REPEATED))
    assert (telling.headline, telling.before, telling.state_at) == (
        "Мост в Ольхове закрыли до апреля",
        "",
        None,
    )


def newest_text(*texts: str) -> tuple[str, int] | None:
    """What the story says last, and the number of the post that says it."""
    whole = story(*texts)
    summary = summary_of(whole)
    assert summary is not None
    newest = newest_state_of(whole, summary)
    return None if newest is None else (newest.sentence.text, newest.posts[0].channel_id)


def test_the_newest_state_is_the_change_or_what_was_added_after_it() -> None:
    assert newest_text(CLOSED, REPEATED, REOPENED) == (REOPENED, 3)
    added = "Губернатор пообещал жителям Ольхова второй мост через десять лет."
    assert newest_text(CLOSED, REPEATED, REOPENED, added) == (added, 4)


def test_a_lead_from_before_the_change_is_not_the_newest_state() -> None:
    assert newest_text(f"{CLOSED} Осмотр опор моста нашёл 12 трещин.", REOPENED) == (REOPENED, 2)
    behind = "По мосту в Ольхове пустили 40 автобусов."
    assert newest_text(CLOSED, f"{REOPENED} {behind}") == (behind, 2)


def test_a_story_that_is_only_told_again_has_no_newest_state() -> None:
    assert newest_text(CLOSED, REPEATED) is None
