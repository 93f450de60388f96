"""What holds visible posts of a story together."""

from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.ranking import is_news, weight_of
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.visible import Grouping, VisiblePost, VisibleStory, stories_of

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def post(channel: int, minutes: int = 0, *, text: str = "", **more: object) -> VisiblePost:
    at = NOON + timedelta(minutes=minutes)
    made = {
        "post_id": PostId(ChannelId(channel), MessageId(1)),
        "channel": f"channel {channel}",
        "username": None,
        "posted_at": at,
        "stored_at": at,
    }
    return VisiblePost(**{**made, "text": text, **more})  # type: ignore[arg-type]  # a factory


def link(
    later: VisiblePost, earlier: VisiblePost, *, kind: LinkKind = LinkKind.REWRITE, score: float = 3.0
) -> Link:
    is_leaf = later.is_private or earlier.is_private
    return Link(later.post_id, earlier.post_id, kind, score, later.posted_at, earlier.posted_at, is_leaf)


def channels(stories: tuple[VisibleStory, ...]) -> list[list[int]]:
    return sorted(sorted(story.channel_ids) for story in stories)


def test_posts_joined_only_through_an_invisible_one_are_shown_apart() -> None:
    first, unseen, other = post(1), post(2, 1), post(3, 2)
    links = [link(unseen, first), link(other, unseen)]
    assert channels(stories_of([first, unseen, other], links, Grouping.NORMAL)) == [[1, 2, 3]]
    assert channels(stories_of([first, other], links, Grouping.NORMAL)) == [[1], [3]]


def test_a_private_post_joins_the_surest_story_and_never_holds_two_together() -> None:
    first, other, private = post(1), post(2, 1), post(3, 2, is_private=True)
    links = [link(private, first), link(private, other, kind=LinkKind.COPY, score=9.0)]
    assert channels(stories_of([first, other, private], links, Grouping.NORMAL)) == [[1], [2, 3]]


def test_stricter_grouping_lets_weak_links_go_and_keeps_what_telegram_says() -> None:
    posts = [post(1), post(2, 1), post(3, 2), post(4, 3)]
    links = [
        link(posts[1], posts[0], score=0.5),
        link(posts[2], posts[0], score=1.5),
        link(posts[3], posts[0], kind=LinkKind.FORWARD, score=20.0),
    ]
    grouped = {grouping: channels(stories_of(posts, links, grouping)) for grouping in Grouping}
    assert grouped[Grouping.LOOSE] == [[1, 2, 3, 4]]
    assert grouped[Grouping.NORMAL] == [[1, 3, 4], [2]]
    assert grouped[Grouping.STRICT] == [[1, 4], [2], [3]]


def test_a_story_begins_with_its_first_visible_post_whatever_the_order_of_reading() -> None:
    posts = [post(3, 5), post(1, 9), post(2, 1)]
    (story,) = stories_of(
        posts, [link(posts[0], posts[2]), link(posts[1], posts[0], kind=LinkKind.COPY)], Grouping.NORMAL
    )
    assert [post.channel_id for post in story.posts] == [2, 3, 1]
    assert story.story_id == posts[2].post_id
    assert [story.repeats(post) for post in story.posts] == [False, False, True]


def test_one_channel_alone_or_advertising_is_no_news() -> None:
    posts = [post(1), post(2, 1)]
    shared, alone = (
        stories_of(posts, [link(posts[1], posts[0])], Grouping.NORMAL)[0],
        stories_of(posts[:1], [], Grouping.NORMAL)[0],
    )
    sold = stories_of(
        [post(1, is_ad=True), post(2, 1, is_ad=True)], [link(posts[1], posts[0])], Grouping.NORMAL
    )[0]
    assert [is_news(candidate) for candidate in (shared, alone, sold)] == [True, False, False]


def test_many_own_words_outweigh_copies_and_age() -> None:
    posts = [post(number, number) for number in range(1, 5)]
    rewritten = stories_of(posts, [link(post, posts[0]) for post in posts[1:]], Grouping.NORMAL)[0]
    copied = stories_of(
        posts, [link(post, posts[0], kind=LinkKind.COPY) for post in posts[1:]], Grouping.NORMAL
    )[0]
    now = NOON + timedelta(hours=1)
    assert (
        weight_of(rewritten, now=now)
        > weight_of(copied, now=now)
        > weight_of(rewritten, now=now + timedelta(days=2))
    )
