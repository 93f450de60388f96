import pytest

from telegram_assistant.ai.local.morphology import dictionary
from telegram_assistant.ai.local.name_dictionary import NameDictionary
from telegram_assistant.ai.local.names import names_in
from telegram_assistant.language.russian import analyser


@pytest.fixture(scope="module")
def russian() -> NameDictionary:
    words = analyser()
    assert words is not None
    return dictionary(words)[1]


def names_of(text: str, russian: NameDictionary) -> dict[str, str]:
    return {name.text: name.kind.value for name in names_in(text, russian)}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Вчера Илья Брендалев открыл мост", "Илья Брендалев"),
        ("Вчера Антон Крюгерсон открыл мост", "Антон Крюгерсон"),
        ("Об этом сказал Тони Вальдре", "Тони Вальдре"),
        ("Встретили Бориса Альбертовича Крендлина", "Борис Альбертович Крендлин"),
        ("Приехал Ким Сун Хо с женой", "Ким Сун Хо"),
        ("Поговорили с Анной фон Рихтен утром", "Анна фон Рихтен"),
        ("Памятник Ивану III открыли", "Иван III"),
        ("Спела София Кравцова", "София Кравцова"),
        ("Там видели Джаннела Иванова", "Джаннел Иванов"),
    ],
)
def test_words_behind_a_given_name_belong_to_the_person(
    text: str, name: str, russian: NameDictionary
) -> None:
    assert names_of(text, russian) == {name: "person"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Задержали Андрея Крелина", "Андрей Крелин"),
        ("Рядом стоял Сергей Мраликов", "Сергей Мраликов"),
        ("Наградили Ольгу Мраликову", "Ольга Мраликова"),
        ("Слова Полины Мраликовой", "Полина Мраликова"),
        ("Адвокат Юлия Мраликова возразила", "Юлия Мраликова"),
        ("По просьбе Александра Мраликова", "Александр Мраликов"),
        ("Письмо Михаилу Чкаришвили", "Михаил Чкаришвили"),
        ("Дом Джо Хартона продали", "Джо Хартон"),
        ("Встреча с Николаем Заборским", "Николай Заборский"),
        ("Рассказ о Саломе Чкаришвили", "Саломе Чкаришвили"),
    ],
)
def test_base_forms_agree_with_the_given_name_or_stay_as_written(
    text: str, name: str, russian: NameDictionary
) -> None:
    assert names_of(text, russian) == {name: "person"}


def test_a_womans_surname_stays_hers_within_a_text(russian: NameDictionary) -> None:
    text = "Ставку объяснила Ирина Мраликова. Потом слушали Мраликову. Речь Мраликовой записали"
    assert names_of(text, russian) == {"Ирина Мраликова": "person", "Мраликова": "person"}
    assert names_of("Приговор певице Мраликовой", russian) == {"Мраликова": "person"}


@pytest.mark.parametrize(
    "text",
    [
        "Пожар на улице Лизы Крановой потушен",
        "Трубу чинят на площади Сахарова",
        "Музей имени Гоголя закрыт",
        "Пожар на Сахарова проспекте",
        "Вышел новый роман «Каменская»",
        "Сегодня включили Радио Петров",
        "Снеговики\nПряники\nКвакозавр\nПлюшевик",
        "Рядом стоит БТР и стреляет РСЗО",
        "Купили С-400 и Х-101 по МЦД-1",
        "Проверили ФГУП и МБОУ СОШ",
        "Смотрели ММА и учили ПДД",
        "Суд на Оттавской конвенции",
        "У дома лежал Плюшебокс и пили Мракеллу",
        "Рассказали о Деде Морозе детям",
    ],
)
def test_streets_titles_things_and_unknown_words_are_no_names(text: str, russian: NameDictionary) -> None:
    assert names_of(text, russian) == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Об этом пишет РИА Новости", {"РИА Новости": "organisation"}),
        ("Сообщили в ГУ МВД", {"МВД": "organisation"}),
        (
            "Приехал глава МИД Норвегии Брамвик",
            {"МИД": "organisation", "Норвегия": "place", "Брамвик": "person"},
        ),
        ("Слова представителя Трампа Анны Крюгерсон", {"Трамп": "person", "Анна Крюгерсон": "person"}),
        ("Бои идут в ЛНР", {"ЛНР": "place"}),
        ("Самолёт сел в Грозном утром", {"Грозный": "place"}),
        ("Соперник Петрова Сидоров ушёл", {"Петров": "person", "Сидоров": "person"}),
        ("Экспорт в страны Латинской Америки вырос", {"Латинская Америка": "place"}),
    ],
)
def test_a_run_of_capitals_is_cut_into_its_names(
    text: str, names: dict[str, str], russian: NameDictionary
) -> None:
    assert names_of(text, russian) == names
