"""A pair of posts is compared by the table of the later one's day, whoever compares it and when."""

from datetime import UTC, date, datetime, timedelta

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.dated_weights import DatedWeights, compare_dated
from telegram_assistant.domain.stories.terms import TermWeights, WeighedPost, weigh
from telegram_assistant.language.terms import terms_of

MIDNIGHT = datetime(2026, 11, 16, tzinfo=UTC)
OLDER, NEWER = TermWeights({1: 1.0}, 6.0), TermWeights({1: 2.0}, 9.0)
DATED = DatedWeights((date(2026, 11, 15), date(2026, 11, 16)), (OLDER, NEWER))


def make_weighed(number: int, moment: datetime, weights: TermWeights) -> WeighedPost:
    text = f"В Нортвике на Заводской улице горит склад, тушат 16 расчётов, пострадали {number} человек"
    return weigh(
        PostId(ChannelId(number), MessageId(1)),
        moment,
        terms_of(text),
        weights,
        is_private=False,
        username=0,
        terms_hash=0,
    )


def test_a_table_weighs_the_posts_from_its_day_on_and_the_oldest_one_older_posts_too() -> None:
    second = timedelta(seconds=1)
    assert DATED.of(MIDNIGHT) is NEWER
    assert DATED.of(MIDNIGHT + timedelta(days=9)) is NEWER
    assert DATED.of(MIDNIGHT - second) is OLDER
    assert DATED.of(MIDNIGHT - timedelta(days=9)) is OLDER
    assert DatedWeights().of(MIDNIGHT).known == {}


def test_a_pair_is_compared_by_the_table_of_the_later_post_however_its_posts_were_weighed() -> None:
    before, after = MIDNIGHT - timedelta(hours=1), MIDNIGHT + timedelta(hours=1)
    links = {
        compare_dated(*pair, DATED)
        for earlier in (OLDER, NEWER)
        for later in (OLDER, NEWER)
        for pair in (
            (make_weighed(1, before, earlier), make_weighed(2, after, later)),
            (make_weighed(2, after, later), make_weighed(1, before, earlier)),
        )
    }
    assert len(links) == 1
