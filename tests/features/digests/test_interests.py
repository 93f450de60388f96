"""Which interests a story touches."""

from datetime import UTC, datetime

from telegram_assistant.domain.digests.interests import OWN_WEIGHT, Interest, InterestSource
from telegram_assistant.features.digests.interests import touched

BRIDGES = Interest("мосты", OWN_WEIGHT, InterestSource.OWN, "", datetime(2026, 11, 15, tzinfo=UTC))


def test_a_story_touches_an_interest_that_two_of_its_channels_write_about_whichever_is_quoted() -> None:
    assert touched(
        ["Водители едут в объезд.", "Закрыт Портовый мост.", "У моста пробки."], [BRIDGES]
    ).topics == ("мосты",)


def test_one_channel_among_several_that_mentions_a_topic_in_passing_does_not_make_it_the_storys() -> None:
    assert touched(["Открыт музей.", "Музей открыт у моста.", "В музее 30 залов."], [BRIDGES]).topics == ()


def test_the_only_post_of_a_story_suffices() -> None:
    assert touched(["Закрыт Портовый мост."], [BRIDGES]).topics == ("мосты",)


def test_a_story_of_two_languages_touches_a_topic_by_the_text_in_its_own() -> None:
    assert touched(["Закрыт Портовый мост.", "Harbour Bridge is closed."], [BRIDGES]).topics == ("мосты",)
    assert (
        touched(
            ["Музей открыт у моста.", "The museum is open.", "Thirty rooms in the museum."], [BRIDGES]
        ).topics
        == ()
    )
