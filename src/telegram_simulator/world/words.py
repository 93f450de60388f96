"""Sentences for worlds that are made for load: grammatical enough to look like posts,
made once per language.
"""

import random
from functools import cache

SENTENCES = 2048

_RUSSIAN = (
    (
        "Городские власти|Учёные|Депутаты|Жители района|Строители|Эксперты банка|Врачи|Студенты|"
        "Инженеры завода|Волонтёры|Спортсмены|Аналитики рынка"
    ),
    (
        "сообщили о|рассказали про|обсудили|подтвердили|опровергли|объявили|опубликовали|завершили|начали|"
        "отложили"
    ),
    (
        "новый проект моста|ремонт дороги|результаты исследования|рост цен|запуск станции|открытие школы|"
        "бюджет на год|итоги матча|прогноз погоды"
        "|закупку автобусов|реставрацию театра|поставки оборудования"
    ),
    (
        "в центре города|на севере области|после долгих споров|в понедельник утром|вопреки ожиданиям|по "
        "данным ведомства|за счёт инвесторов"
        "|впервые за десять лет|без лишнего шума|накануне праздников"
    ),
)
_ENGLISH = (
    (
        "City officials|Researchers|Lawmakers|Residents|Builders|Bank analysts|Doctors|Students|"
        "Plant engineers|Volunteers|Athletes|Market watchers"
    ),
    "reported|discussed|confirmed|denied|announced|published|completed|started|postponed|praised",
    (
        "the new bridge project|the road repairs|the results of the study|rising prices|the launch of the "
        "station|the school opening"
        "|next year's budget|the final score|the weather outlook|the bus purchase|the theatre restoration|"
        "the equipment supply"
    ),
    (
        "in the city centre|in the north of the region|after a long debate|on Monday morning|against "
        "expectations|according to the agency"
        "|with private money|for the first time in ten years|without much noise|on the eve of the holidays"
    ),
)


@cache
def sentences(language: str) -> tuple[str, ...]:
    """The language's sentences, always the same."""
    rng = random.Random(f"sentences {language}")
    parts = [part.split("|") for part in (_RUSSIAN if language == "ru" else _ENGLISH)]
    drawn_sentences = []
    for _ in range(SENTENCES):
        words = [rng.choice(part) for part in parts]
        if rng.random() < 0.35:
            words.append(f"— {rng.randint(2, 900)} {'тысяч' if language == 'ru' else 'thousand'}")
        drawn_sentences.append(" ".join(words) + ".")
    return tuple(drawn_sentences)
