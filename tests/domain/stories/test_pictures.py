"""Which pictures of a story are one: the same file, or copies that look alike and say the same."""

import random

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.similarity import Look
from telegram_assistant.domain.stories.pictures import ReadPicture, pictures_of
from telegram_assistant.domain.stories.visible import StoryPicture, VisiblePost, VisibleStory
from tests.domain.stories.test_visible import post

HAND = random.Random(5)
LOOK = Look(HAND.getrandbits(64), HAND.getrandbits(256))
NOTICE = "Движение по мосту через Охту закрыто до 1 апреля, объезд по улице Каменка"
Shown = tuple[str, int]


def flip_bits(look: Look, coarse: int, fine: int) -> Look:
    """The same look with so many other bits."""
    rng = random.Random(coarse * 1000 + fine)
    for bit in rng.sample(range(64), coarse):
        look = Look(look.coarse ^ 1 << bit, look.fine)
    for bit in rng.sample(range(256), fine):
        look = Look(look.coarse, look.fine ^ 1 << bit)
    return look


def story(*posts: tuple[Shown, ...]) -> VisibleStory:
    """Each post a minute later, in a channel of its own, with these pictures: their files and widths."""
    return VisibleStory(tuple(_post(number, pictures) for number, pictures in enumerate(posts, 1)))


def _post(number: int, pictures: tuple[Shown, ...]) -> VisiblePost:
    return post(
        number,
        number,
        pictures=tuple(
            StoryPicture(ordinal, file, width, 100) for ordinal, (file, width) in enumerate(pictures)
        ),
    )


def fold_pictures(visible_story: VisibleStory, read: dict[str, ReadPicture]) -> list[list[int]]:
    return [[post_id.channel_id for post_id in picture.posts] for picture in pictures_of(visible_story, read)]


def test_a_copy_saved_again_is_shown_once_as_the_largest_and_named_by_the_first_post() -> None:
    visible_story = story((("small", 320),), (("large", 1280),), (("small", 320),))
    (picture,) = pictures_of(
        visible_story,
        {"small": ReadPicture(LOOK, NOTICE), "large": ReadPicture(flip_bits(LOOK, 5, 14), NOTICE)},
    )
    assert (picture.picture.sha256, picture.shown_by.channel_id) == ("large", 2)
    assert [post_id.channel_id for post_id in picture.posts] == [1, 2, 3]
    assert picture.in_posts == 3


def test_two_notices_that_look_alike_and_say_something_else_stay_apart() -> None:
    other = NOTICE.replace("1 апреля", "9 апреля")
    read = {
        "one": ReadPicture(LOOK, NOTICE),
        "other": ReadPicture(LOOK, other),
        "unlike": ReadPicture(LOOK, "Концерт в парке отменён из-за дождя"),
    }
    assert fold_pictures(story((("one", 600),), (("other", 600),), (("unlike", 600),)), read) == [
        [1],
        [2],
        [3],
    ]


def test_a_cropped_copy_is_the_same_if_enough_words_in_it_agree() -> None:
    cropped = flip_bits(LOOK, 12, 50)
    visible_story = story((("whole", 640),), (("part", 600),))
    assert fold_pictures(
        visible_story, {"whole": ReadPicture(LOOK, NOTICE), "part": ReadPicture(cropped, NOTICE + " @gorod")}
    ) == [[1, 2]]
    assert fold_pictures(
        visible_story,
        {"whole": ReadPicture(LOOK, "Новости Края"), "part": ReadPicture(cropped, "Новости Края")},
    ) == [[1], [2]]
    assert fold_pictures(
        visible_story, {"whole": ReadPicture(LOOK, ""), "part": ReadPicture(cropped, "")}
    ) == [
        [1],
        [2],
    ]


def test_other_pictures_with_the_same_words_stay_apart() -> None:
    read = {"one": ReadPicture(LOOK, NOTICE), "other": ReadPicture(flip_bits(LOOK, 30, 120), NOTICE)}
    assert fold_pictures(story((("one", 600),), (("other", 600),)), read) == [[1], [2]]


def test_photographs_without_words_are_the_same_by_a_near_look_alone() -> None:
    read = {"one": ReadPicture(LOOK, ""), "other": ReadPicture(flip_bits(LOOK, 3, 9), "")}
    assert fold_pictures(story((("one", 600),), (("other", 600),)), read) == [[1, 2]]


def test_pictures_in_which_nobody_has_read_are_compared_by_their_files() -> None:
    visible_story = story((("one", 600),), (("other", 600),), (("one", 600),))
    assert fold_pictures(visible_story, {}) == [[1, 3], [2]]
    assert fold_pictures(visible_story, {"one": ReadPicture(LOOK, "")}) == [[1, 3], [2]]


def test_a_picture_twice_in_an_album_is_in_one_post() -> None:
    pictures = (StoryPicture(0, "one", 600, 100),)
    album = tuple(
        post(1, number, post_id=PostId(ChannelId(1), MessageId(number)), pictures=pictures, grouped_id=7)
        for number in (1, 2)
    )
    (picture,) = pictures_of(VisibleStory(album), {})
    assert picture.in_posts == 1
