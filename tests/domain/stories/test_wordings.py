"""Forwards, copies, near copies and translations are one wording; other words are another."""

from datetime import UTC, datetime

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.wordings import Voices, WordedPost, find_wordings

NOW = datetime(2026, 11, 1, tzinfo=UTC)
FIRST = "Старый мост в Туманске закрыли на девять дней из-за трещины в опоре."
OTHER = "Девять суток без переправы: в Туманске ремонтируют треснувшую опору моста."


def post_id(number: int) -> PostId:
    return PostId(ChannelId(number), MessageId(1))


def worded(number: int, text: str, origin: int | None = None, language: str | None = None) -> WordedPost:
    return WordedPost(post_id(number), text, None if origin is None else post_id(origin), language)


def linked(later: int, earlier: int, kind: LinkKind) -> dict[PostId, Link]:
    return {post_id(later): Link(post_id(later), post_id(earlier), kind, 5.0, NOW, NOW)}


def test_a_text_with_another_signature_is_the_same_wording() -> None:
    posts = [worded(1, FIRST), worded(2, f"⚡️ Срочно! {FIRST}\n\n@other_channel")]
    assert set(find_wordings(posts, {}).values()) == {post_id(1)}


def test_a_text_with_a_few_other_words_is_the_same_wording() -> None:
    changed = FIRST.replace("на девять дней", "на целых девять дней")
    assert set(find_wordings([worded(1, FIRST), worded(2, changed)], {}).values()) == {post_id(1)}


def test_other_words_for_the_same_event_are_another_wording() -> None:
    posts = [worded(1, FIRST), worded(2, OTHER)]
    assert find_wordings(posts, {}) == {post_id(1): post_id(1), post_id(2): post_id(2)}


def test_a_translation_is_the_wording_of_its_source_and_a_rewrite_is_not() -> None:
    posts = [worded(1, FIRST), worded(2, "The Old Bridge in Tumansk is closed for nine days.")]
    assert set(find_wordings(posts, linked(2, 1, LinkKind.TRANSLATION)).values()) == {post_id(1)}
    assert len(set(find_wordings(posts, linked(2, 1, LinkKind.REWRITE)).values())) == 2


def test_nobody_translates_a_translation_back() -> None:
    english = "The Old Bridge in Tumansk is closed for nine days."
    posts = [
        worded(1, FIRST, language="ru"),
        worded(2, english, language="en"),
        worded(3, OTHER, language="ru"),
    ]
    follows = linked(2, 1, LinkKind.TRANSLATION) | linked(3, 2, LinkKind.TRANSLATION)
    wordings = find_wordings(posts, follows)
    assert wordings[post_id(2)] == post_id(1)
    assert wordings[post_id(3)] == post_id(3)


def test_two_forwards_of_a_post_that_nobody_sees_are_one_wording() -> None:
    posts = [worded(1, "", origin=9), worded(2, OTHER, origin=9), worded(3, FIRST)]
    wordings = find_wordings(posts, {})
    assert wordings[post_id(1)] == wordings[post_id(2)] != wordings[post_id(3)]


def test_channels_of_one_owner_speak_once_and_so_do_those_who_repeat() -> None:
    posts = [worded(1, FIRST), worded(2, OTHER), worded(3, FIRST), worded(4, "Мост снова открыт.")]
    voices = Voices(find_wordings(posts, {}), {ChannelId(2): ChannelId(2), ChannelId(4): ChannelId(2)})
    assert voices.count(map(post_id, (1, 3))) == 1
    assert voices.count(map(post_id, (1, 2))) == 2
    assert voices.count(map(post_id, (2, 4))) == 1
