"""The posts of a story with their forwards and copies folded."""

from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.timeline import place_of_visit, timeline_of
from telegram_assistant.domain.stories.visible import VisiblePost, VisibleStory

START = datetime(2026, 11, 17, 8, tzinfo=UTC)


def make_story(*kinds: tuple[LinkKind, int] | None) -> VisibleStory:
    """A post a minute; each follows an earlier one, by its number."""
    posts = tuple(
        VisiblePost(
            post_id=PostId(ChannelId(number), MessageId(1)),
            channel=f"Channel {number}",
            username=None,
            posted_at=START + timedelta(minutes=number),
            stored_at=START + timedelta(minutes=number),
            text=f"Text {number}",
        )
        for number in range(len(kinds))
    )
    follows = {
        post.post_id: Link(
            post.post_id, posts[kind[1]].post_id, kind[0], 9.0, post.posted_at, posts[kind[1]].posted_at
        )
        for post, kind in zip(posts, kinds, strict=True)
        if kind
    }
    return VisibleStory(posts, follows)


def read_rows(story: VisibleStory) -> list[tuple[int, list[int], int, int]]:
    return [
        (row.post.channel_id, [post.channel_id for post in row.repeats], row.forwards, row.copies)
        for row in timeline_of(story)
    ]


def test_forwards_and_copies_are_folded_under_the_first_of_their_chain() -> None:
    story = make_story(
        None, (LinkKind.FORWARD, 0), (LinkKind.REWRITE, 0), (LinkKind.COPY, 1), (LinkKind.TRANSLATION, 2)
    )
    assert read_rows(story) == [(0, [1, 3], 1, 1), (2, [], 0, 0), (4, [], 0, 0)]
    assert [row.span for row in timeline_of(story)] == [timedelta(minutes=3), timedelta(), timedelta()]


def test_no_post_is_lost_or_repeated() -> None:
    story = make_story(None, (LinkKind.COPY, 0), (LinkKind.COPY, 1), None, (LinkKind.FORWARD, 3))
    rows = timeline_of(story)
    assert sorted(post.post_id for row in rows for post in (row.post, *row.repeats)) == sorted(
        post.post_id for post in story.posts
    )


def test_a_visit_lies_between_the_rows_before_and_after_it() -> None:
    rows = timeline_of(make_story(None, None, None))
    seen_at = START + timedelta(minutes=1)
    assert place_of_visit(rows, seen_at) == 2
    assert place_of_visit(rows[::-1], seen_at) == 1
    assert place_of_visit(rows, START - timedelta(hours=1)) is None
    assert place_of_visit((), seen_at) is None
