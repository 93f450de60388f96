"""The newest state of a story, and the newest thing that was said of it."""

from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.language.parsed_text import parse_text
from telegram_assistant.summaries.change_words import change_words_in
from telegram_assistant.summaries.summary import summarise
from telegram_assistant.summaries.values import StoryPost, StorySummary

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)
CLOSED = "Мост в Ольхове закрыли до апреля.\n\nГрузовики едут в объезд через Туманск."
REOPENED = "Мост в Ольхове снова открыт: машины пошли утром."
CLOSED_ENGLISH = "The bridge in Elmstead is shut for lorries.\n\nThe detour takes an hour."
REOPENED_ENGLISH = "The bridge in Elmstead has reopened: cars are crossing since the morning."


def story(*posts: tuple[int, int, str], is_one_wording: bool = False) -> StorySummary:
    """Of posts, each with its channel and its minute."""
    ids = [PostId(ChannelId(channel), MessageId(100 + minutes)) for channel, minutes, _ in posts]
    summary = summarise(
        [
            StoryPost(
                post_id=post_id,
                channel=f"Канал {channel}",
                text=text,
                posted_at=NOON + timedelta(minutes=minutes),
                wording=ids[0] if is_one_wording else None,
            )
            for post_id, (channel, minutes, text) in zip(ids, posts, strict=True)
        ]
    )
    assert summary is not None
    return summary


@pytest.mark.parametrize(
    ("old", "new"),
    [(CLOSED, REOPENED), (CLOSED_ENGLISH, REOPENED_ENGLISH)],
    ids=["russian", "english"],
)
def test_a_change_of_state_becomes_the_headline_with_its_time(old: str, new: str) -> None:
    summary = story((1, 0, old), (2, 5, old), (3, 300, new))
    assert summary.headline.text == new
    assert summary.state_at == NOON + timedelta(minutes=300)
    assert summary.before is not None
    assert summary.before.text == old.split("\n", maxsplit=1)[0]
    assert summary.latest is None


def in_english(*posts: tuple[int, str, str]) -> StorySummary:
    """For an English reader; of posts, each with its minute and language."""
    summary = summarise(
        [
            StoryPost(
                post_id=PostId(ChannelId(minutes), MessageId(100)),
                channel=f"Channel {minutes}",
                text=text,
                posted_at=NOON + timedelta(minutes=minutes),
                language=language,
            )
            for minutes, language, text in posts
        ],
        language="en",
    )
    assert summary is not None
    return summary


def test_a_change_that_only_the_other_language_tells_is_the_headline_too() -> None:
    posts = (0, "en", CLOSED_ENGLISH), (5, "ru", CLOSED), (300, "ru", REOPENED)
    summary = in_english(*posts)
    assert (summary.language, summary.headline.text) == ("en", REOPENED)
    assert summary.before is not None
    assert summary.before.text == "The bridge in Elmstead is shut for lorries."
    before = in_english(*posts[:2])
    assert before.headline.text == "The bridge in Elmstead is shut for lorries."


def test_a_change_in_the_readers_language_is_not_outdone_by_an_earlier_one_of_another() -> None:
    summary = in_english(
        (0, "en", "The maker recalls kettles\n\nA fault was found in 78 thousand kettles."),
        (5, "ru", "Завод отзывает чайники\n\nБрак нашли в 78 тысячах чайников."),
        (120, "ru", "Завод отзывает чайники: число возросло до 84 тысяч."),
        (300, "en", "The maker recalls kettles.\n\nNow 87 thousand, up from earlier reports."),
    )
    assert "84" not in summary.headline.text
    assert summary.latest is not None
    assert "87 thousand" in summary.latest.text


def test_a_sentence_that_adds_nothing_but_the_change_is_the_headline() -> None:
    summary = story(
        (1, 0, "Пожар на складе в Ветрограде\n\nГорит склад с бытовой техникой, пострадали 4 человека."),
        (2, 300, "Пожар на складе в Ветрограде ликвидирован."),
    )
    assert summary.headline.text == "Пожар на складе в Ветрограде ликвидирован."


def test_a_change_that_a_long_retelling_has_is_no_new_state() -> None:
    """Rewrites use such words of the same moment: «договорилась», «закрыл раунд»."""
    summary = story(
        (1, 0, "Инвесторы вложились в стартап «Тримарис»\n\nНовый раунд стартапа — 14 млн."),
        (2, 90, "Стартап «Тримарис» закрыл раунд\n\nНовый раунд — 14 млн. Вложились инвесторы. Это стартап."),
    )
    assert summary.state_at is None


def test_a_number_that_earlier_posts_have_of_other_things_may_have_grown() -> None:
    summary = story(
        (1, 0, "Пожар на складе в Ветрограде\n\nГорит склад, работают 15 расчётов. Пострадали 4 человека."),
        (2, 200, "Пожар на складе в Ветрограде: теперь 10 человек."),
        (3, 400, "В Ветрограде горит склад с бытовой техникой: теперь 15 человек."),
    )
    assert "10 человек" not in summary.headline.text
    assert summary.latest is not None
    assert "15 человек" in summary.latest.text


@pytest.mark.parametrize(
    "later",
    [
        pytest.param("Мост в Ольхове перекрыт до апреля из-за трещин опоры.", id="retelling"),
        pytest.param("Возобновление движения через мост в Ольхове намечено губернатором.", id="noun"),
        pytest.param("Возобновить движение через мост в Ольхове обещает губернатор.", id="infinitive"),
        pytest.param("Аэропорт Туманска возобновил полёты ночью после шторма.", id="another thing"),
    ],
)
def test_what_changes_no_state_is_the_latest_line_and_no_headline(later: str) -> None:
    summary = story((1, 0, CLOSED), (2, 5, CLOSED), (3, 300, later))
    assert (summary.state_at, summary.before) == (None, None)
    assert summary.headline.text == "Мост в Ольхове закрыли до апреля."
    assert summary.latest is not None
    assert (summary.latest.text, summary.latest.channel) == (later, "Канал 3")
    assert summary.latest.posted_at == NOON + timedelta(minutes=300)


def test_a_change_within_minutes_of_the_first_post_is_no_new_state() -> None:
    assert story((1, 0, CLOSED), (3, 10, REOPENED)).state_at is None


def test_a_copy_of_an_earlier_post_is_never_the_latest() -> None:
    copied = "Мост в Ольхове закрыли до апреля. Грузовики едут в объезд через Туманск. Подробности позже 17."
    assert story((1, 0, CLOSED), (2, 300, copied)).latest is None


def test_a_sentence_of_an_earlier_post_is_never_the_latest() -> None:
    over = "Olkha works again: the outage is over."
    summary = story(
        (1, 0, "Olkha is down\n\nThe app has not opened for 10 hours."),
        (2, 300, f"{over} Our editors wish everybody in Northwick a quiet evening."),
        (3, 400, f"Remember this? {over}"),
    )
    assert summary.latest is not None
    assert summary.latest.channel == "Канал 2"


@pytest.mark.parametrize(
    ("claim", "denial"),
    [
        (
            "Утечка данных в компании «Ольха»\n\nВ сеть попали 40 тысяч записей клиентов.",
            "Утечки не было, заявили в компании «Ольха».",
        ),
        (
            "Olkhov to build a tram line\n\nEight stops are planned along the river.",
            "There will be no tram line in Olkhov: the council does not want it.",
        ),
    ],
    ids=["russian", "english"],
)
def test_what_a_later_post_says_does_not_exist_is_news(claim: str, denial: str) -> None:
    summary = story((1, 0, claim), (2, 300, denial))
    assert denial in {summary.headline.text, summary.latest.text if summary.latest else ""}


def test_a_post_about_something_else_of_the_same_name_is_not_the_latest() -> None:
    other = (
        "В Ольхове вырос внутренний долг мэрии\n\nРевизоры насчитали 370 счетов за 5 лет. Слушания назначены "
        "на вторник. Документ подписан."
    )
    assert story((1, 0, CLOSED), (2, 300, other)).latest is None


def test_a_number_that_grew_is_told_although_the_words_are_those_of_an_earlier_post() -> None:
    grown = "Мост в Ольхове закрыли до апреля: число машин выросло до 900."
    summary = story((1, 0, CLOSED), (2, 300, grown), is_one_wording=True)
    assert summary.headline.text == grown


def test_a_copy_with_a_spelling_mistake_tells_no_growth() -> None:
    update = "Пожар на складе в Ветрограде: теперь 15 человек."
    summary = story(
        (1, 0, "Пожар на складе в Ветрограде\n\nГорит склад с бытовой техникой. Пострадали 4 человека."),
        (2, 300, update),
        (3, 400, update.replace("человек", "чеолвек")),
    )
    assert (summary.headline.text, summary.latest) == (update, None)


def test_a_number_that_an_earlier_post_has_with_its_noun_has_not_grown() -> None:
    summary = story(
        (1, 0, "The maker recalls kettles\n\nA fault was found in 78 thousand kettles of the plant."),
        (2, 200, "Shops return 87 thousand kettles to the plant, and the maker pays them."),
        (3, 400, "The maker has now 87 thousand."),
    )
    assert summary.latest is None or "87 thousand." not in summary.latest.text


def test_a_concert_that_takes_place_after_all_is_a_change() -> None:
    assert change_words_in(parse_text("Концерт всё-таки состоится.")) == {"всё-таки"}
    assert change_words_in(parse_text("The concert is on again.")) == {"on again"}


def test_a_word_of_change_that_an_earlier_post_has_is_no_change() -> None:
    died, again = "Скончался художник Петров из Ольхова.", "Художник Петров умер ночью в больнице Туманска."
    summary = story((1, 0, died), (2, 300, again))
    assert summary.state_at is None


def test_only_finite_verbs_and_participles_are_words_of_change() -> None:
    assert change_words_in(parse_text("Пожар потушен.")) == change_words_in(
        parse_text("Пожар ликвидировали.")
    )
    assert change_words_in(parse_text("Возобновление, отменить, освободительной.")) == frozenset()
