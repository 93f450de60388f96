"""The sentences of a summary, and their support in the posts of the story."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.language.citations import CitedPost, Verdict, check_sentence
from telegram_assistant.summaries.summary import summarise
from telegram_assistant.summaries.values import ChangeSort, StoryPost

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


def post(
    channel: int,
    text: str,
    *,
    minutes: int = 0,
    is_deleted: bool = False,
    is_ad: bool = False,
    wording: int | None = None,
    owner: int | None = None,
) -> StoryPost:
    moment = NOON + timedelta(minutes=minutes or channel)
    return StoryPost(
        post_id=PostId(ChannelId(channel), MessageId(100 + minutes)),
        channel=f"Канал {channel}",
        text=text,
        posted_at=moment,
        is_deleted=is_deleted,
        is_ad=is_ad,
        wording=None if wording is None else PostId(ChannelId(wording), MessageId(100)),
        owner=None if owner is None else ChannelId(owner),
    )


FIRST = (
    "😱 Шепчут, но уверенно. Трасса перекрыта на 149-м километре. Столкнулись 11 машин, 7 человек ранены.\n\n"
    "Будем обновлять.\n\n#авария @slukhi"
)
SECOND = (
    "Трасса у Кроссхейвена стоит\n\nНа 149-м километре столкнулись 11 машин. Ранены 7 человек. "
    "Объезд идёт через просёлочную дорогу."
)
THIRD = (
    "Трасса у Кроссхейвена стоит\n\nНа 149-м километре столкнулись 11 машин. Ранены 8 человек. "
    "Двух водителей достали спасатели Петрова."
    "\n\nПодпишитесь!"
)
ENGLISH = "Highway near Crosshaven blocked\n\n11 cars collided at kilometre 149. More to come."
STORY = (post(1, FIRST), post(2, SECOND), post(3, THIRD), post(4, ENGLISH))


def test_a_story_is_told_in_its_own_sentences_whatever_the_order_of_its_posts() -> None:
    summary = summarise(STORY)
    assert summary is not None
    assert (summary.language, summary.channels) == ("ru", 4)
    assert summary.headline.text == "Трасса у Кроссхейвена стоит"
    assert summary.lead is not None
    assert summary.lead.text == "На 149-м километре столкнулись 11 машин."
    shuffled = list(STORY)
    random.Random(1).shuffle(shuffled)
    assert summarise(shuffled) == summary


def test_every_sentence_is_supported_by_the_posts_it_cites_and_signatures_are_gone() -> None:
    summary = summarise(STORY)
    assert summary is not None
    posts = {
        story_post.post_id: CitedPost(story_post.text, story_post.posted_at.date(), story_post.channel)
        for story_post in STORY
    }
    sentences = [
        *summary.known,
        *(dispute.sentence for dispute in summary.disputed),
        *(addition.sentence for addition in summary.added),
    ]
    for sentence in sentences:
        assert (
            check_sentence(sentence.text, [posts[post] for post in sentence.posts]).verdict
            is Verdict.SUPPORTED
        )
        assert not any(word in sentence.text for word in ("Шепчут", "обновлять", "#авария", "Подпишитесь"))


def test_the_number_of_most_channels_stands_and_the_others_are_named() -> None:
    summary = summarise(STORY)
    assert summary is not None
    (dispute,) = summary.disputed
    assert (dispute.stands.number, [other.number for other in dispute.others]) == ("7 человек", ["8 человек"])
    assert [post.channel_id for post in dispute.stands.posts] == [1, 2]
    sentences = [*summary.known, *(addition.sentence for addition in summary.added)]
    assert not any("8 человек" in sentence.text for sentence in sentences)


def test_a_correction_of_the_source_outweighs_copies_of_its_old_text() -> None:
    corrected = "В порту сгорели 8 складов.\n\nИсправление: В порту сгорели 8 складов."
    summary = summarise(
        [post(1, corrected), post(2, "В порту сгорели 5 складов."), post(3, "В порту сгорели 5 складов.")]
    )
    assert summary is not None
    assert summary.disputed[0].stands.number == "8 складов"
    assert [(change.kind, change.text) for change in summary.changes] == [
        (ChangeSort.CORRECTION, "В порту сгорели 8 складов.")
    ]


def test_what_one_channel_adds_has_its_name_and_deleted_posts_support_nothing() -> None:
    gone = post(
        5, "На 149-м километре столкнулись 11 машин. Виноват водитель автобуса Сидоров.", is_deleted=True
    )
    summary = summarise([*STORY, gone])
    assert summary is not None
    assert "Двух водителей достали спасатели Петрова." in [
        addition.sentence.text for addition in summary.added if addition.channel == "Канал 3"
    ]
    assert not any(gone.post_id in sentence.posts for sentence in summary.known)
    assert [(change.kind, change.channel) for change in summary.changes] == [(ChangeSort.DELETED, "Канал 5")]


def test_the_readers_language_is_used_where_there_is_one_and_advertising_never() -> None:
    summary = summarise(STORY, language="en")
    assert summary is not None
    assert summary.headline.text == "Highway near Crosshaven blocked"
    assert summarise([post(1, "Купите самокат за 100 рублей.", is_ad=True)]) is None
    german = summarise(STORY, language="de")
    assert german is not None
    assert german.language == "ru"


@pytest.mark.parametrize(
    ("opening", "news"),
    [
        ("Read it and had to share.", "Wheat got dearer on the exchange. It costs 320 dollars."),
        ("Не смог пройти мимо такого сегодня.", "Пшеница на бирже подорожала. Она стоит 320 долларов."),
    ],
)
def test_an_opening_that_has_nothing_to_do_with_the_rest_is_not_told(opening: str, news: str) -> None:
    summary = summarise([post(1, f"{opening} {news}")])
    assert summary is not None
    assert summary.headline.text == news.split(".", maxsplit=1)[0] + "."


def test_a_first_sentence_that_the_rest_goes_on_about_is_told() -> None:
    summary = summarise([post(1, "Цены на пшеницу снова растут третью неделю. Пшеница стоит 320 долларов.")])
    assert summary is not None
    assert summary.headline.text == "Цены на пшеницу снова растут третью неделю."


@pytest.mark.parametrize(
    "dangling", ["В ней находят переписку с поддержкой за год.", "Они просят сменить пароли в других местах."]
)
def test_a_sentence_that_speaks_of_something_named_before_it_is_not_quoted_alone(dangling: str) -> None:
    text = (
        "Утечка у сервиса «Ольха»\n\nВ открытом доступе нашли базу сервиса «Ольха». "
        f"{dangling} В этом году регулятор оштрафовал 12 компаний."
    )
    summary = summarise([post(1, text), post(2, text)])
    assert summary is not None
    quoted = [sentence.text for sentence in (summary.headline, *summary.sentences)]
    assert dangling not in quoted
    assert "В этом году регулятор оштрафовал 12 компаний." in quoted


def test_a_sentence_that_only_names_a_source_is_not_quoted() -> None:
    source = "An official told Aldren Press."
    text = (
        f"A warehouse in Kamnegorsk burns\n\nThe fire spread to the roof at noon and nobody is hurt. {source}"
    )
    summary = summarise([post(1, text), post(2, text)])
    assert summary is not None
    assert source not in [sentence.text for sentence in summary.sentences]
    alone = summarise([post(1, f"A warehouse in Kamnegorsk burns\n\n{source}")])
    assert alone is not None
    assert alone.lead is None


def test_a_preposition_is_not_what_a_disputed_number_counts() -> None:
    posts = [
        post(number, f"Цены в Туманске\n\nБилет в Туманске будет стоить {price} вместо 47.")
        for number, price in enumerate((78, 78, 73), start=1)
    ]
    summary = summarise(posts)
    assert summary is not None
    assert not any(
        "вместо" in claim.number
        for dispute in summary.disputed
        for claim in (dispute.stands, *dispute.others)
    )


def test_a_number_without_a_noun_is_disputed_where_everything_around_it_is_the_same() -> None:
    fares = (
        "Fares in Halbrook go up\n\nFrom Monday a ticket in Halbrook costs {} instead of 49. "
        "Cards of pensioners stay free."
    )
    summary = summarise([post(1, fares.format(63)), post(2, fares.format(77)), post(3, fares.format(63))])
    assert summary is not None
    (dispute,) = summary.disputed
    assert (dispute.stands.number, [other.number for other in dispute.others]) == ("63", ["77"])
    assert not any("77" in sentence.text for sentence in summary.known)


def test_two_sums_of_a_story_are_no_dispute() -> None:
    first = "Lumenta raises 17 million\n\nLumenta received 17 million from a group of funds."
    second = "Lumenta raises 17 million\n\nAfter the round the funds value Lumenta at 210 million."
    summary = summarise([post(1, first), post(2, second), post(3, first)])
    assert summary is not None
    assert summary.disputed == ()


def test_the_number_of_a_minority_is_no_headline() -> None:
    texts = [
        f"Прибыль компании «Агроволна» достигла {sum_} млрд\n\nОтчёт вышел утром."
        for sum_ in ("9,4", "12,1", "12,1")
    ]
    summary = summarise([post(number, text) for number, text in enumerate(texts, start=1)])
    assert summary is not None
    assert summary.headline.text == "Прибыль компании «Агроволна» достигла 12,1 млрд"


STAYED_GREEN = "Страница состояния горела зелёным. Инженеров 12."
OUTAGE = (
    f"Сервис «Ольха» лёг\n\nБольше 24 тысяч жалоб за 2 часа: упал сервис «Ольха». {STAYED_GREEN}",
    f"Сервис «Ольха» лёг\n\nУ сервиса «Ольха» сбой: за 2 часа больше 24 тысяч жалоб. {STAYED_GREEN}",
    (
        "Пользователи жалуются на сервис «Ольха»\n\n"
        f"«У нас касса встала», — жалуется владелец кофейни. {STAYED_GREEN}"
    ),
)
ENTER_FREE = "Children under fourteen enter free. Tickets cost 7 dollars."
EXHIBITION = (
    (
        "Museum of Old Film opens a large exhibition\n\n"
        f"An exhibition about lost trades opens at the Museum of Old Film. {ENTER_FREE}"
    ),
    (
        "Museum of Old Film opens a large exhibition\n\n"
        f"Lost trades: the Museum of Old Film shows 310 works. {ENTER_FREE}"
    ),
    (
        "What to see: lost trades\n\nThe Museum of Old Film has gathered 310 works about lost trades. "
        f"{ENTER_FREE}"
    ),
)


@pytest.mark.parametrize(
    ("texts", "lead", "remark"),
    [
        (
            OUTAGE,
            "Больше 24 тысяч жалоб за 2 часа: упал сервис «Ольха».",
            "Страница состояния горела зелёным.",
        ),
        (
            EXHIBITION,
            "Lost trades: the Museum of Old Film shows 310 works.",
            "Children under fourteen enter free.",
        ),
    ],
)
def test_what_happened_comes_before_a_side_remark_that_more_channels_repeat(
    texts: tuple[str, ...], lead: str, remark: str
) -> None:
    summary = summarise([post(number, text) for number, text in enumerate(texts, start=1)])
    assert summary is not None
    assert summary.lead is not None
    assert summary.lead.text == lead
    assert remark in [addition.sentence.text for addition in summary.added]


def test_a_sentence_with_the_words_of_the_headline_and_new_facts_is_told() -> None:
    lead = "Владелец меняется: 53 % компании «Янтарьхим» достанутся компании «Дальний берег»."
    text = f"Компания «Янтарьхим» меняет владельца\n\n{lead} Сокращений не обещают."
    summary = summarise([post(1, text), post(2, text)])
    assert summary is not None
    assert summary.lead is not None
    assert summary.lead.text == lead


def test_what_was_before_is_neither_the_headline_nor_the_lead() -> None:
    earlier = "Ранее мэр Ольхова Иван Петров освободил Андрея Семёнова от должности заместителя."
    texts = [
        f"Бывший заместитель мэра Семёнов арестован по делу о растрате. {earlier}",
        f"Семёнова отправили под арест: дело касается 40 млн рублей. {earlier}",
    ]
    summary = summarise([post(number, text) for number, text in enumerate(texts, start=1)])
    assert summary is not None
    assert earlier not in (summary.headline.text, summary.lead and summary.lead.text)


@pytest.mark.parametrize(
    "news",
    [
        "Клуб «Гранит» подписал вратаря Сидорова на 3 года.",
        "Cargo Meridian has agreed to buy Khlebodar for 42 billion.",
    ],
)
def test_words_that_only_look_like_advertising_are_told(news: str) -> None:
    summary = summarise([post(1, f"{news} Подпишитесь на канал!")])
    assert summary is not None
    assert summary.headline.text == news


def test_a_score_is_a_headline() -> None:
    text = "Kometa 4:1 Hornets of Greyford\n\nThe losing coach did not come out to the press at all."
    summary = summarise([post(1, text), post(2, text)])
    assert summary is not None
    assert summary.headline.text == "Kometa 4:1 Hornets of Greyford"


def test_a_disputed_number_that_the_lead_has_is_told_once_with_what_others_say() -> None:
    texts = [
        (
            f"Эвакуация в Северограде\n\n{people} человек ждут у здания на Северном проспекте. "
            f"В Северограде эвакуировали {people} человек."
        )
        for people in (520, 520, 610)
    ]
    summary = summarise([post(number, text) for number, text in enumerate(texts, start=1)])
    assert summary is not None
    with_number = [sentence.text for sentence in summary.sentences if "520 человек" in sentence.text]
    assert len(with_number) == 1
    assert summary.others_say(with_number[0]) == ("610 человек",)
    assert summary.others_say("Приехали 1520 человек.") == ()


def test_a_sentence_that_goes_on_from_the_headline_may_follow_it() -> None:
    text = "A phone was not the hero of the Gryphon Systems show. It was a folding tablet for 550 dollars."
    summary = summarise([post(1, text), post(2, text)])
    assert summary is not None
    assert [sentence.text for sentence in summary.known] == text.replace(". It", ".\nIt").split("\n")


def test_a_lead_does_not_give_another_sum_than_the_headline() -> None:
    headline = "Прибыль компании «Агроволна» — 13,5 млрд"
    right, wrong = (
        "Чистая прибыль компании «Агроволна» выросла на 14 %.",
        "Компания «Агроволна» получила 6,2 млрд за квартал.",
    )
    summary = summarise(
        [
            post(1, f"{headline}\n\n{right}"),
            post(2, f"{headline}\n\n{right}"),
            post(3, f"Отчёт: сюрприз\n\n{wrong}"),
        ]
    )
    assert summary is not None
    assert [sentence.text for sentence in summary.known[:2]] == [headline, right]


CLOSED = "Мост через Охту закрыли до апреля. Объезд идёт через Малый проспект и длиннее на 12 километров."
RETOLD = (
    "До апреля закрыт мост через Охту. Длиннее на 12 километров стал объезд: он идёт по Малому проспекту."
)


REPAIRS = (
    "Ремонт моста через Охту займёт 13 дней, в объезд поедут 40 тысяч машин.",
    "Через Охту не проехать\n\nРемонт моста через Охту займёт 13 дней, в объезд поедут 40 тысяч машин.",
    "Мост через Охту: сроки\n\nРемонт моста через Охту займёт 17 дней, в объезд поедут 40 тысяч машин.",
    "Мост через Охту: объезд\n\nРемонт моста через Охту займёт 13 дней, в объезд поедут 55 тысяч машин.",
)
"""Two numbers of one sentence are disputed."""


@pytest.mark.parametrize("texts", [OUTAGE, EXHIBITION, (FIRST, SECOND, THIRD), (CLOSED, RETOLD), REPAIRS])
def test_a_line_stands_in_one_block_only(texts: tuple[str, ...]) -> None:
    summary = summarise([post(number, text) for number, text in enumerate(texts, start=1)])
    assert summary is not None
    lines = [
        *(sentence.text for sentence in summary.known),
        *(sentence.text for sentence in summary.disputed_sentences),
        *(addition.sentence.text for addition in summary.added),
    ]
    assert len(lines) == len(set(lines))
