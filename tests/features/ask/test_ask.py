"""Questions are answered with the posts that say it, or refused."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.search.snippets import Snippet
from telegram_assistant.errors import Rejected
from telegram_assistant.features.ask.answers import Answer, Outcome
from telegram_assistant.features.ask.ask import answer_from, answer_question, final_answer
from telegram_assistant.features.search.results import SearchResult
from telegram_assistant.language.parsed_text import goes_on, parse_text
from telegram_assistant.language.questions.matching import parse_question
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from testkit.factories import make_channel, make_page, make_post, make_subscription, make_tenant

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
CLOSED = (
    "Каменный мост в Солнцеборе закрыли\n\nКаменный мост в Солнцеборе закрыли на 16 дней из-за трещины. "
    "Автобусы идут в объезд."
)
OTHERS = "Дорожники обещают: Каменный мост в Солнцеборе закрыли на 18 дней."
QUESTION = "На сколько дней закрыли Каменный мост в Солнцеборе?"
HOSTILE = (Path(__file__).parent.parent / "hostile_answers.txt").read_text(encoding="utf-8").splitlines()


def make_result(number: int, text: str) -> SearchResult:
    return SearchResult(
        post_id=PostId(ChannelId(number), MessageId(1)),
        posted_at=NOW + timedelta(minutes=number),
        channel=f"Channel {number}",
        link=f"https://t.me/c/{number}/1",
        text=text,
        snippet=Snippet(text, ()),
        lang="ru",
        kind=None,
        tags=(),
        copies=(),
        by_words=True,
        by_meaning=False,
        by_names=False,
    )


def answer_texts(*texts: str, question: str = QUESTION) -> Answer:
    return answer_from(
        parse_question(question), [make_result(number, text) for number, text in enumerate(texts, start=1)]
    )


async def test_a_question_is_answered_from_the_tenants_posts_and_goes_on_without_names(
    pool: Pool, system: SystemStores
) -> None:
    tenant_id, channel_id = await make_tenant(system), await make_channel(system)
    await system.channels.subscribe(tenant_id, make_subscription(channel_id))
    posts = [
        make_post(channel_id=channel_id, message_id=1 + place, text=text, posted_at=NOW)
        for place, text in enumerate((CLOSED, "Дождь"))
    ]
    await system.landing.land(make_page(*posts), Claim(channel_id, 0))
    await system.posts.save_derived([Derived(post, 1, "ru", ()) for post in posts])

    async def asks(typed: str, *previous: str) -> Answer:
        later = NOW + timedelta(hours=1)
        stores = tenant_stores(pool, tenant_id)
        return await final_answer(
            answer_question(
                typed, tenant_id=tenant_id, stores=stores, index=None, now=later, previous=previous
            )
        )

    answer = await asks(QUESTION)
    assert (answer.outcome, [sentence.text for sentence in answer.sentences]) == (
        Outcome.ANSWERED,
        ["Каменный мост в Солнцеборе закрыли на 16 дней из-за трещины."],
    )
    assert answer.passages[0].post_id == posts[0].id
    assert (await asks("Почему из-за трещины?", QUESTION)).outcome is Outcome.ANSWERED
    assert (await asks("Сколько стоит билет на концерт в Солнцеборе?")).outcome is Outcome.NEAREST
    assert (await asks("Когда родился Шекспир?")).outcome is Outcome.NOTHING
    with pytest.raises(Rejected):
        await asks("А что?")


def test_who_gives_another_number_is_shown_too() -> None:
    answer = answer_texts(CLOSED, OTHERS)
    assert [sentence.text for sentence in answer.sentences] == [
        "Каменный мост в Солнцеборе закрыли на 16 дней из-за трещины.",
        OTHERS,
    ]


def test_a_question_for_a_number_is_answered_with_one_and_not_with_the_headline() -> None:
    text = (
        "Компания «Тримарис» показала новинку\n\n"
        "Часы компании «Тримарис» стоят 910 долларов. Заряда хватает на неделю."
    )
    headline = "«Тримарис» показала новинку: в компании довольны"
    answer = answer_texts(text, headline, question="Сколько долларов стоит новинка компании «Тримарис»?")
    assert [sentence.text for sentence in answer.sentences] == [
        "Часы компании «Тримарис» стоят 910 долларов."
    ]


def test_a_line_without_words_does_not_stop_the_answer() -> None:
    answer = answer_texts(
        "🚧🚧🚧\n\nКаменный мост", "🚧🚧", question="Что случилось с Каменным мостом в Солнцеборе?"
    )
    assert answer.outcome is Outcome.NEAREST
    assert not goes_on(parse_text("🚧🚧"))


def test_a_university_is_not_its_town() -> None:
    text = "Экспедиция Университета Солнцебора закрыла Каменный мост у Элмстеда на 16 дней."
    assert answer_texts(text).outcome is Outcome.NEAREST


def test_the_order_in_which_posts_were_found_does_not_matter() -> None:
    results = [make_result(1, CLOSED), make_result(2, OTHERS), make_result(3, "Каменный мост закрыли")]
    assert answer_from(parse_question(QUESTION), results) == answer_from(
        parse_question(QUESTION), results[::-1]
    )


def test_there_are_enough_hostile_posts_in_both_languages() -> None:
    assert len(HOSTILE) >= 40
    assert sum(text[:1].isascii() for text in HOSTILE) >= 15


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_post_changes_nothing_but_its_own_passage(text: str) -> None:
    before, after = answer_texts(CLOSED, OTHERS), answer_texts(CLOSED, OTHERS, text)
    assert after.outcome is Outcome.ANSWERED
    own = [passage for passage in after.passages if passage.post_id.channel_id == 3]
    assert [passage for passage in after.passages if passage not in own] == list(before.passages)
    assert all(passage.text in text for passage in own)
    for sentence in after.sentences:
        assert all(after.passages[place].text == sentence.text for place in sentence.passages)
    honest = [sentence.text for sentence in before.sentences]
    assert [sentence.text for sentence in after.sentences if sentence.text in honest] == honest[
        : sum(sentence.text in honest for sentence in after.sentences)
    ]
    assert answer_texts(text, question="Сколько стоит билет в Элмстеде?").outcome is not Outcome.ANSWERED


@pytest.mark.parametrize(
    ("question", "post", "answer"),
    [
        (
            "Сколько человек пострадали на пожаре на складе в Ветрограде?",
            (
                "Пожар на складе в Ветрограде\n\nНа складе в Ветрограде загорелись 300 метров кровли. "
                "На пожаре пострадали 5 человек."
            ),
            "На складе в Ветрограде загорелись 300 метров кровли. На пожаре пострадали 5 человек.",
        ),
        (
            "How many people were hurt in the warehouse fire in Vetrograd?",
            (
                "Warehouse fire in Vetrograd\n\nForty lorries stood at the warehouse. "
                "The fire in Vetrograd hurt 5 people, doctors say."
            ),
            "The fire in Vetrograd hurt 5 people, doctors say.",
        ),
        (
            "Which club does Denis Karpinets move to?",
            (
                "Transfer: Denis Karpinets changes clubs\n\n"
                "Denis Karpinets moves from Granit to Halbrook City. The deal is worth 8 million."
            ),
            "Denis Karpinets moves from Granit to Halbrook City.",
        ),
        (
            "Кто победил на марафоне в Уэстмире?",
            (
                "В Уэстмире пробежали марафон\n\nМарафон в Уэстмире собрал 12 тысяч участников; "
                "победил Денис Карпинец."
            ),
            "Марафон в Уэстмире собрал 12 тысяч участников; победил Денис Карпинец.",
        ),
        (
            "Who won the marathon in Westmere?",
            (
                "Marathon in Westmere: a win and a course record\n\n"
                "The marathon in Westmere was won by Emma Tailford."
            ),
            "The marathon in Westmere was won by Emma Tailford.",
        ),
        (
            "Почему отменили концерт в Краснолесье?",
            (
                "Концерт в Краснолесье отменили\n\nКонцерт в Краснолесье отменили из-за протечки в зале. "
                "Деньги за билеты вернут."
            ),
            "Концерт в Краснолесье отменили из-за протечки в зале.",
        ),
        (
            "Why was the concert in Krasnolesye cancelled?",
            (
                "Concert in Krasnolesye cancelled\n\nThe concert in Krasnolesye is cancelled "
                "because the hall leaks."
            ),
            "The concert in Krasnolesye is cancelled because the hall leaks.",
        ),
        (
            "Где в Халбруке нашли пропавшую картину?",
            "В Халбруке нашли пропавшую картину\n\nПропавшую картину в Халбруке нашли на чердаке школы.",
            "Пропавшую картину в Халбруке нашли на чердаке школы.",
        ),
        (
            "When will the bridge in Stonely open?",
            "The bridge in Stonely will open\n\nThe bridge in Stonely will open on 3 March.",
            "The bridge in Stonely will open on 3 March.",
        ),
        (
            "Какую выставку открывает Музей старого кино?",
            (
                "Музей старого кино открывает большую выставку\n\n"
                "Музей старого кино открывает выставку «Немой век»: 120 афиш."
            ),
            "Музей старого кино открывает выставку «Немой век»: 120 афиш.",
        ),
        (
            "С каким счётом команда «Молния» обыграла команду «Ладья»?",
            (
                "Команда «Молния» обыграла команду «Ладья»\n\n"
                "Команда «Молния» обыграла команду «Ладья» со счётом 3:1."
            ),
            "Команда «Молния» обыграла команду «Ладья» со счётом 3:1.",
        ),
        (
            "What does Dairy House pay to buy Khlebodar?",
            (
                "Dairy House buys Khlebodar\n\nDairy House will buy 53 percent of Khlebodar. "
                "Dairy House will pay 40 billion to buy Khlebodar."
            ),
            "Dairy House will pay 40 billion to buy Khlebodar.",
        ),
    ],
)
def test_the_sentence_that_brings_what_is_asked_for_is_quoted_and_not_the_headline(
    question: str, post: str, answer: str
) -> None:
    assert [sentence.text for sentence in answer_texts(post, question=question).sentences] == [answer]
    headline = post.split("\n", maxsplit=1)[0]
    assert answer_texts(headline, question=question).outcome is Outcome.NEAREST


@pytest.mark.parametrize(
    ("question", "post"),
    [
        (
            "С каким счётом команда «Молния» обыграла команду «Элмстед Таун»?",
            "Команда «Элмстед Таун» обыграла команду «Молния» со счётом 3:1.",
        ),
        (
            "С каким счётом команда «Молния» обыграла команду «Элмстед Таун»?",
            "Команду «Молния» обыграла команда «Элмстед Таун»: 3:1.",
        ),
        (
            "С каким счётом команда «Молния» обыграла команду «Элмстед Таун»?",
            "«Молния» обыграна командой «Элмстед Таун» со счётом 1:3.",
        ),
        ("By what score did North Wind beat Tornado?", "Tornado have beaten North Wind by 4:0."),
        (
            "By what score did North Wind beat Tornado?",
            "North Wind were beaten by Tornado, the score is 4:0.",
        ),
        (
            "By what score did North Wind beat Tornado?",
            "Tornado 4:0 North Wind: nobody beat them at this score before.",
        ),
        (
            "За сколько компания «Бирюза» покупает компанию «Нордвуд»?",
            "Компания «Нордвуд» покупает компанию «Бирюза» за 14 млрд.",
        ),
        (
            "За сколько компания «Бирюза» покупает компанию «Нордвуд»?",
            "Владелец меняется: 70 % компании «Бирюза» достанутся компании «Нордвуд» за 14 млрд.",
        ),
        ("What does Dairy House pay to buy Khlebodar?", "Khlebodar will pay 40 billion to buy Dairy House."),
    ],
)
def test_who_did_it_to_whom_is_not_swapped(question: str, post: str) -> None:
    assert answer_texts(post, question=question).outcome is Outcome.NEAREST


@pytest.mark.parametrize(
    ("question", "post"),
    [
        (
            "С каким счётом команда «Молния» обыграла команду «Ладья»?",
            "Команду «Ладья» обыграла команда «Молния» со счётом 3:1.",
        ),
        (
            "By what score did North Wind beat Tornado?",
            "Tornado were beaten by North Wind, the score is 0:4.",
        ),
        ("By what score did North Wind beat Tornado?", "North Wind beat Tornado: the score is 4:0."),
    ],
)
def test_the_same_deed_in_another_order_of_words_is_an_answer(question: str, post: str) -> None:
    assert answer_texts(post, question=question).outcome is Outcome.ANSWERED


@pytest.mark.parametrize(
    ("question", "post"),
    [
        (
            "Сколько миллионов привлекла компания «Кедр Облако»?",
            "Компания «Кедр Облако» привлекла внимание: уязвимость с оценкой 9,1 из десяти.",
        ),
        (
            "Сколько рейсов задержали в Ветрограде из-за дрона?",
            "Рейсы в Ветрограде задержали на 40 минут из-за дрона.",
        ),
        (
            "How many flights were delayed in Severograd by a drone?",
            "A drone over Severograd: flights delayed for 90 minutes.",
        ),
        (
            "How long will Old Bridge in Severograd be closed?",
            "Old Bridge in Severograd is closed to 400 cars for long.",
        ),
        ("What prize did August Forever win?", "August Forever wins a prize"),
        ("Сколько человек погибли на пожаре в Туманске?", "Пожар в Туманске: пострадали 3 человека."),
        (
            "How many people were killed in the fire in Tumansk?",
            "The fire in Tumansk: 3 people were injured.",
        ),
    ],
)
def test_a_number_of_something_else_answers_nothing(question: str, post: str) -> None:
    assert answer_texts(post, question=question).outcome is Outcome.NEAREST


def test_people_are_counted_with_and_without_their_noun() -> None:
    text = "Пожар в Туманске: пострадали трое, двоих увезли врачи."
    assert (
        answer_texts(text, question="Сколько человек пострадали на пожаре в Туманске?").outcome
        is Outcome.ANSWERED
    )


def test_posts_about_different_names_do_not_stand_for_each_other() -> None:
    others = "Северный мост в Тихореченске закрыли для машин"
    own = "Старый мост в Северограде закрыли для машин"
    answer = answer_texts(others, own, question="На сколько дней закрыли Старый мост в Северограде?")
    assert answer.outcome is Outcome.NEAREST
    assert answer.passages[0].text == own


def test_a_post_with_fewer_words_of_the_question_does_not_answer_for_a_nearer_one() -> None:
    nearer = "В Туманске построят новую трамвайную линию"
    other = "Билет на автобусной линии в Туманске будет стоить 78 вместо 47."
    assert (
        answer_texts(nearer, other, question="Сколько стоит новая трамвайная линия в Туманске?").outcome
        is Outcome.NEAREST
    )


def test_a_question_for_yes_or_no_is_answered_by_who_says_so() -> None:
    text = "Пропавших туристов нашли у Грейфорда"
    assert [
        sentence.text
        for sentence in answer_texts(text, question="Нашли ли туристов, пропавших у Грейфорда?").sentences
    ] == [text]


def test_a_single_word_in_common_is_not_near() -> None:
    text = "Traders point to the weather and empty warehouses."
    assert answer_texts(text, question="What is the boiling point of ethanol?").outcome is Outcome.NOTHING


def test_the_names_of_earlier_questions_are_no_answer_to_the_next_one() -> None:
    question = replace(
        parse_question("В какой клуб переходит?"),
        names=parse_question("Что слышно о вратаре Карпинце?").names,
    )
    headline = "Вратарь Карпинец переходит в другой клуб"
    assert answer_from(question, [make_result(1, headline)]).outcome is Outcome.NEAREST
    assert (
        answer_from(question, [make_result(1, "Вратарь Карпинец переходит в клуб «Гранит».")]).outcome
        is Outcome.ANSWERED
    )
