"""The kind of answer that a question wants, and the sentences that contain it."""

from datetime import date

import pytest

from telegram_assistant.language.parsed_text import parse_text
from telegram_assistant.language.questions.answering import brings
from telegram_assistant.language.questions.matching import match_post, parse_question
from telegram_assistant.language.questions.periods import Period, cut_period
from telegram_assistant.language.questions.wanted import parse_wanted


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        (
            "Во сколько начнётся матч в Туманске?",
            "Матч в Туманске начнётся в 19:30.",
            "На матче в Туманске ждут 40 тысяч зрителей.",
        ),
        (
            "Как зовут нового тренера «Маяка»?",
            "Тренером «Маяка» стал Пётр Сидоров.",
            "Новый тренер «Маяка» приехал в город.",
        ),
        (
            "Who is the new mayor of Westmere?",
            "Anna Petrova is the new mayor of Westmere.",
            "The new mayor of Westmere was elected.",
        ),
        ("На сколько процентов выросла прибыль?", "Прибыль выросла на 17 %.", "Прибыль выросла за 3 месяца."),
        ("By how many percent did profit grow?", "Profit grew by 17%.", "Profit grew within 3 months."),
        ("Сколько пострадавших на трассе?", "На трассе 6 пострадавших.", "На трассе столкнулись 11 машин."),
        (
            "How many were injured on the highway?",
            "On the highway 6 people were injured.",
            "On the highway 11 cars collided.",
        ),
        ("Где пройдёт концерт?", "Концерт пройдёт 5 мая в Ледовом дворце.", "Концерт пройдёт в мае."),
        (
            "Where will the concert be?",
            "The concert will be in the ice arena.",
            "The concert will be on Friday.",
        ),
        ("Когда откроют мост?", "Мост откроют через 8 дней.", "Мост откроют для машин."),
        ("Сколько лет Ивану Петрову?", "Ивану Петрову исполнилось 45 лет.", "У Ивана Петрова 3 сына."),
        ("How much did the flat cost?", "The flat cost $400,000.", "The flat has 3 rooms."),
        (
            "What is the population of Elmstead?",
            "The population of Elmstead is 40 thousand.",
            "The population of Elmstead.",
        ),
    ],
)
def test_a_sentence_brings_what_the_question_wants(question: str, answer: str, other: str) -> None:
    parsed = parse_text(question)
    assert brings(parse_wanted(parsed), parsed, parse_text(answer)) > 0
    assert brings(parse_wanted(parsed), parsed, parse_text(other)) == 0


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        (
            "Умер ли Павел Громов?",
            "Павел Громов умер в четверг в Туманске.",
            "Попугай, который был подарен Павлом Громовым музею, умер от старости.",
        ),
        ("Has Pavel Gromov died?", "Pavel Gromov died on Thursday.", "The parrot of Pavel Gromov died."),
        ("Has Pavel Gromov died?", "Pavel Gromov died on Thursday.", "Pavel Gromov's parrot died."),
        (
            "Кто выиграл турнир по шашкам в Туманске?",
            "Победителем турнира по шашкам в Туманске стал Иван Лосев.",
            "Перед турниром по шашкам в Туманске выставку открыл Иван Лосев.",
        ),
        (
            "Who won the draughts final in Westmere?",
            "Anna Petrova was first in the draughts final in Westmere.",
            "Anna Petrova opened a show before the draughts final in Westmere.",
        ),
        (
            "Когда вступил в силу запрет на костры в Туманске?",
            "Запрет на костры в Туманске вступил в силу 12 мая.",
            "О запрете на костры в Туманске спорят с тех пор, как в 2009 году сгорел лес.",
        ),
        (
            "Что такое «Ясень»?",
            "«Ясень» — это новый комплекс связи для спасателей.",
            "Депутат пришёл на заседание в футболке с надписью «Ясень» и портретом Лосева.",
        ),
        (
            "Почему в Туманске митинги?",
            "Митинги в Туманске начались из-за вырубки парка.",
            "Митинги в Туманске: задержаны двое, 18 и 24 лет.",
        ),
        (
            "Что сказал Лосев про доллар?",
            "Рост доллара людям не заметен, заявил Лосев в среду.",
            "Переговорам с соседями мешают 3 причины, заявил Лосев.",
        ),
        (
            "Почему в Туманске митинги?",
            "Митинги в Туманске начались из-за вырубки парка.",
            "Митинги в Туманске: горит сцена. Предварительно, огонь начался после того, как упал фонарь.",
        ),
        (
            "Сколько стоит концерт Ивана Лосева?",
            "Концерт Ивана Лосева стоит 12 миллионов рублей.",
            "Концерт Ивана Лосева подешевел на 5 миллионов рублей.",
        ),
        (
            "Сколько дронов сбили в Туманске?",
            "В Туманске сбили 24 дрона.",
            "Ранее в Туманске сообщали о 10 сбитых дронах.",
        ),
        (
            "Сколько домов затопило в Туманске?",
            "В Туманске затопило 24 дома.",
            "В Туманске затопило ещё 8 домов.",
        ),
        (
            "Что сказал Песков про храм?",
            "Храм построят за 2 года, сказал Песков.",
            "Депутат Лосев сказал про храм в посёлке Пески 2 слова.",
        ),
        (
            "Сколько человек задержали на митинге в Туманске?",
            "На митинге в Туманске задержали 107 человек.",
            "На митинге в Туманске пострадали 44 человека.",
        ),
        (
            "How many people were arrested at the rally in Westmere?",
            "At the rally in Westmere 107 people were arrested.",
            "At the rally in Westmere 44 people were hurt.",
        ),
        (
            "Кто стал мэром Туманска?",
            "Мэром Туманска избран Иван Лосев.",
            "Жители срывают портреты мэра Туманска Ивана Лосева.",
        ),
        (
            "Кто стал мэром Туманска?",
            "Иван Лосев назначен на пост мэра Туманска.",
            "Мэр Туманска Иван Лосев стал дедушкой.",
        ),
        (
            "Какой была весна в Туманске?",
            "Весна в Туманске стала самой тёплой за 100 лет.",
            "Ночь в Туманске стала самой холодной за эту весну: минус 7 градусов.",
        ),
        (
            "Сколько пассажиров автобуса госпитализировали в Туманске?",
            "После аварии автобуса в Туманске госпитализировали 6 пассажиров.",
            "После аварии автобуса в Туманске 20 пассажиров выбрались сами.",
        ),
        (
            "До какого года в Туманске закрыли мост?",
            "Мост в Туманске закрыли до 2028 года.",
            "Мост в Туманске закрыли 3 рабочих.",
        ),
        (
            "На сколько часов задержали рейс в Туманске?",
            "Рейс в Туманске опоздал: задержка составила 2 часа.",
            "Рейс в Туманске задержали из-за снега.",
        ),
        (
            "Где нашли картину Анны Ребровой?",
            "Картину Анны Ребровой обнаружили на чердаке школы.",
            "Картину Анны Ребровой повесят на чердаке школы.",
        ),
        (
            "Где скончалась Анна Реброва?",
            "Анна Реброва скончалась в Туманске.",
            "Певица скончалась накануне. Анна Реброва прославилась ролями в трёх сериалах.",
        ),
        (
            "Кто прибыл в Туманск?",
            "⚡️В Туманск с визитом прибыли Иван Лосев и Анна Реброва.",
            "В Туманск прибыли 3 машины.",
        ),
        (
            "Почему Norvik закрывает завод в Туманске?",
            "Norvik планирует закрыть свой завод на юге Туманска из-за плохого спроса.",
            "Norvik планирует закрыть свой завод на юге Туманска.",
        ),
        (
            "Из-за чего встанет экспорт, по словам Чемезова?",
            "Экспорт встанет из-за высокой ставки, заявил Чемезов.",
            "Экспорт встанет, заявил Чемезов.",
        ),
        ("Who is Pope?", "Pope is a painter from Westmere.", "Popeye is a painter from Westmere."),
    ],
)
def test_a_post_answers_with_the_verb_and_the_subject_of_the_question(
    question: str, answer: str, other: str
) -> None:
    parsed = parse_question(question)
    assert match_post(parsed, answer).answers(parsed)
    assert not match_post(parsed, other).answers(parsed)


def test_a_question_in_a_post_answers_nothing() -> None:
    parsed = parse_question("Что случилось с судном «Нордика»?")
    assert not match_post(parsed, "Что случилось с судном «Нордика» в порту Туманска?").answers(parsed)


@pytest.mark.parametrize(
    ("question", "rest", "since", "until"),
    [
        ("Что было в Туманске сегодня ночью?", "Что было в Туманске ?", 18, 18),
        ("What happened in Westmere yesterday?", "What happened in Westmere ?", 17, 17),
        ("Что было в Туманске в субботу?", "Что было в Туманске ?", 14, 14),
        ("What happened in Westmere on Wednesday?", "What happened in Westmere ?", 18, 18),
        ("Что было на этой неделе в Туманске?", "Что было в Туманске?", 16, 18),
        ("Что было за неделю в Туманске?", "Что было в Туманске?", 12, 18),
        ("What happened last week?", "What happened ?", 9, 15),
        ("Что было 12 ноября в Туманске?", "Что было в Туманске?", 12, 12),
        ("What happened in the last 3 days?", "What happened ?", 16, 18),
        ("Что было за последние 3 дня?", "Что было ?", 16, 18),
        ("What happened over the past 0 days?", "What happened ?", 18, 18),
        ("Что было 3 дня назад в Туманске?", "Что было в Туманске?", 15, 15),
        ("What happened a week ago?", "What happened ?", 11, 11),
        ("Что было в выходные в Туманске?", "Что было в Туманске?", 14, 15),
        ("What happened at the weekend?", "What happened ?", 14, 15),
        ("Что было с 12 по 14 ноября в Туманске?", "Что было в Туманске?", 12, 14),
        ("What happened from 12 to 14 November?", "What happened ?", 12, 14),
        ("Что было 12–14 ноября в Туманске?", "Что было в Туманске?", 12, 14),
        ("Что было с 12 ноября в Туманске?", "Что было в Туманске?", 12, 18),
        ("What happened since 12 November?", "What happened ?", 12, 18),
    ],
)
def test_a_question_says_which_days_it_is_about(question: str, rest: str, since: int, until: int) -> None:
    period = Period(date(2026, 11, since), date(2026, 11, until))
    assert cut_period(question, date(2026, 11, 18)) == (rest, period)


def test_a_day_to_come_is_no_day_of_posts() -> None:
    for question in (
        "Что будет 30 ноября в Туманске?",
        "Где пройдёт матч в субботу?",
        "Where will the match be on Saturday?",
        "Какая инфляция была в октябре?",
    ):
        assert cut_period(question, date(2026, 11, 18)) == (question, None)
