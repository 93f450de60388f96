"""Which interests a story touches."""

from datetime import UTC, datetime

from telegram_assistant.domain.digests.interests import OWN_WEIGHT, Interest, InterestSource
from telegram_assistant.features.digests.interests import match_interests, text_without_channel

BRIDGES = Interest("мосты", OWN_WEIGHT, InterestSource.OWN, "", datetime(2026, 11, 15, tzinfo=UTC))


def test_a_story_touches_an_interest_that_two_of_its_channels_write_about_whichever_is_quoted() -> None:
    assert match_interests(
        ["Водители едут в объезд.", "Закрыт Портовый мост.", "У моста пробки."], [BRIDGES]
    ).topics == ("мосты",)


def test_one_channel_among_several_that_mentions_a_topic_in_passing_does_not_make_it_the_storys() -> None:
    assert (
        match_interests(["Открыт музей.", "Музей открыт у моста.", "В музее 30 залов."], [BRIDGES]).topics
        == ()
    )


def test_the_only_post_of_a_story_suffices() -> None:
    assert match_interests(["Закрыт Портовый мост."], [BRIDGES]).topics == ("мосты",)


def test_a_story_of_two_languages_touches_a_topic_by_the_text_in_its_own() -> None:
    assert match_interests(["Закрыт Портовый мост.", "Harbour Bridge is closed."], [BRIDGES]).topics == (
        "мосты",
    )
    assert (
        match_interests(
            ["Музей открыт у моста.", "The museum is open.", "Thirty rooms in the museum."], [BRIDGES]
        ).topics
        == ()
    )


def test_a_dislike_reaches_stories_in_the_other_language() -> None:
    football = Interest("футбол", -OWN_WEIGHT, InterestSource.OWN, "", datetime(2026, 11, 15, tzinfo=UTC))
    assert match_interests(["The goalkeeper and the striker left the club."], [football]).factor < 1
    assert match_interests(["A football match in Westmere ended 2:1."], [football]).factor < 1
    assert match_interests(["The goal of the new law is clear."], [football]).factor == 1


def test_an_interest_stays_in_its_language() -> None:
    football = Interest("футбол", OWN_WEIGHT, InterestSource.OWN, "", datetime(2026, 11, 15, tzinfo=UTC))
    assert match_interests(["A football match in Westmere ended 2:1."], [football]).topics == ()


def test_the_name_of_a_channel_is_no_reason() -> None:
    startups = Interest("startups", OWN_WEIGHT, InterestSource.OWN, "", datetime(2026, 11, 15, tzinfo=UTC))
    signed = "Wheat became cheaper.\n\nStartups  Kitchen | subscribe"
    assert match_interests([signed], [startups]).topics == ("startups",)
    assert match_interests([text_without_channel(signed, "Startups Kitchen")], [startups]).topics == ()
