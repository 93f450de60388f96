"""The links that hold the visible posts of a story together, and the ranking of stories."""

from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.bursts import burst_of
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


def test_a_post_that_was_taken_out_is_alone_with_its_album() -> None:
    first, other, third = post(1), post(2, 1, is_apart=True, grouped_id=7), post(3, 2)
    item = post(2, 1, post_id=PostId(ChannelId(2), MessageId(2)), grouped_id=7)
    links = [
        link(other, first),
        link(item, first),
        link(item, other, kind=LinkKind.ALBUM),
        link(third, first),
    ]
    stories = stories_of([first, other, item, third], links, Grouping.NORMAL)
    assert channels(stories) == [[1, 3], [2]]
    assert {len(story.posts) for story in stories} == {2}


def test_by_default_rewrites_are_shown_as_stored_and_translations_need_more() -> None:
    posts = [post(1), post(2, 1), post(3, 2), post(4, 3)]
    links = [
        link(posts[1], posts[0], score=0.1),
        link(posts[2], posts[0], kind=LinkKind.TRANSLATION, score=2.9),
        link(posts[3], posts[0], kind=LinkKind.TRANSLATION, score=3.0),
    ]
    assert channels(stories_of(posts, links, Grouping.NORMAL)) == [[1, 2, 4], [3]]


def test_stricter_grouping_lets_weak_links_go_and_keeps_what_telegram_says() -> None:
    posts = [post(number, number) for number in range(1, 6)]
    links = [
        link(posts[1], posts[0], kind=LinkKind.TRANSLATION, score=0.5),
        link(posts[2], posts[0], score=1.5),
        link(posts[3], posts[0], kind=LinkKind.FORWARD, score=20.0),
        link(posts[4], posts[0], kind=LinkKind.PICTURE, score=2.0),
    ]
    grouped = {grouping: channels(stories_of(posts, links, grouping)) for grouping in Grouping}
    assert grouped[Grouping.LOOSE] == [[1, 2, 3, 4, 5]]
    assert grouped[Grouping.NORMAL] == [[1, 3, 4, 5], [2]]
    assert grouped[Grouping.STRICT] == [[1, 4], [2], [3], [5]]


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


def test_what_one_network_alone_tells_is_no_news() -> None:
    posts = [post(1, text=BRIDGE, network=ChannelId(1)), post(2, 1, text=BRIDGE, network=ChannelId(1))]
    other = post(3, 2, text=BRIDGE)
    (of_network,) = stories_of(posts, [link(posts[1], posts[0])], Grouping.NORMAL)
    (of_two,) = stories_of(
        [*posts, other], [link(each, posts[0]) for each in (posts[1], other)], Grouping.NORMAL
    )
    assert [is_news(of_network), is_news(of_two)] == [False, True]


def test_a_network_counts_once_in_a_burst() -> None:
    def burst_with(network: ChannelId | None) -> bool:
        posts = [post(number, number, text=BRIDGE, network=network) for number in (1, 2)]
        posts += [post(number, number, text=BRIDGE) for number in (3, 4, 5)]
        (story,) = stories_of(posts, [link(each, posts[0]) for each in posts[1:]], Grouping.NORMAL)
        return burst_of(story) is not None

    assert burst_with(None)
    assert not burst_with(ChannelId(1))


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


BRIDGE = "Старый мост в Туманске закрыли на девять дней из-за трещины в опоре."
OTHER_WORDS = "Девять суток без переправы: в Туманске ремонтируют треснувшую опору моста."


def test_wordings_of_different_owners_are_counted_over_all_languages() -> None:
    first, copy = post(1, text=BRIDGE), post(2, 1, text=BRIDGE + "\n@channel2")
    translation = post(3, 2, text="The Old Bridge in Tumansk is closed for nine days.", language="en")
    rewrite = post(4, 3, text=OTHER_WORDS)
    posts = [first, copy, translation, rewrite]
    links = [
        link(copy, first, kind=LinkKind.COPY),
        link(translation, first, kind=LinkKind.TRANSLATION),
        link(rewrite, first),
    ]
    (story,) = stories_of(posts, links, Grouping.NORMAL)
    assert story.count_wordings(story.posts) == 2
    assert story.count_wordings([copy, translation]) == 1


def test_sister_channels_speak_once_and_so_do_forwards_of_a_post_that_nobody_sees() -> None:
    unseen = PostId(ChannelId(9), MessageId(9))
    first, sister = (
        post(1, text=BRIDGE, network=ChannelId(1)),
        post(2, 1, text=OTHER_WORDS, network=ChannelId(1)),
    )
    (story,) = stories_of([first, sister], [link(sister, first)], Grouping.NORMAL)
    assert story.count_wordings(story.posts) == 1
    forwards = post(1, text=BRIDGE, origin=unseen), post(2, 1, text=OTHER_WORDS, origin=unseen)
    (story,) = stories_of(forwards, [link(forwards[1], forwards[0])], Grouping.NORMAL)
    assert story.count_wordings(story.posts) == 1


def test_a_picture_without_words_is_no_wording() -> None:
    first, picture = post(1, text=BRIDGE), post(2, 1)
    (story,) = stories_of(
        [first, picture], [link(picture, first, kind=LinkKind.PICTURE, score=9.0)], Grouping.NORMAL
    )
    assert story.count_wordings(story.posts) == 1


def test_a_copy_is_no_news_and_does_not_make_a_story_newer() -> None:
    words = "Мост через Охту закрыли для грузовиков до 1 апреля, осмотр нашёл 12 трещин"
    first, retold = post(1, text=words), post(2, 10, text="Грузовикам закрыли проезд по мосту до весны")
    copy = post(3, 600, text=words)
    links = [link(retold, first), link(copy, first, kind=LinkKind.COPY, score=9.0)]
    (story,) = stories_of([first, retold, copy], links, Grouping.NORMAL)
    assert story.news_since(NOON + timedelta(minutes=5)) == (retold,)
    assert story.newest_news == retold
    (without,) = stories_of([first, retold], links[:1], Grouping.NORMAL)
    later = NOON + timedelta(hours=12)
    assert weight_of(story, now=later) < 1.2 * weight_of(without, now=later), "it is not as young as its copy"
