"""What questions want, and which sentences bring it."""

import pytest

from telegram_assistant.language.parsed_text import parse_text
from telegram_assistant.language.questions.answering import brings
from telegram_assistant.language.questions.wanted import wanted_by


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
    assert brings(wanted_by(parsed), parsed, parse_text(answer)) > 0
    assert brings(wanted_by(parsed), parsed, parse_text(other)) == 0
