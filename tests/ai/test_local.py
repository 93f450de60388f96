"""Understanding on this machine: words, names, vectors; and with nothing installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from telegram_assistant.ai.gate_results import Material
from telegram_assistant.ai.local.models import DEFAULT_MODEL
from telegram_assistant.ai.local.understanding import LocalModels, examine
from telegram_assistant.ai.local.vocabulary import packaged_vocabulary
from telegram_assistant.ai.outputs import EntityKind, NamedEntity, Tags
from telegram_assistant.ai.protocols import TextKind
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.domain.understanding.policy import PostSort
from telegram_assistant.domain.understanding.vocabulary import Vocabulary, tag_in
from telegram_assistant.errors import Rejected
from telegram_assistant.settings import AiSettings, read_group
from testkit.cpu_time import cpu_limit
from testkit.models import MINILM

RUSSIAN = (
    "Центральный банк повысил ставку. Решение банка о ставке объяснила Эльвира Набиуллина в Москве. "
    "#Экономика"
)
ENGLISH = "The central banks raised rates. Banks say rates will stay high; a bank in London disagrees."


@pytest.fixture
def vocabulary() -> Vocabulary:
    return packaged_vocabulary()


async def read_locally(
    tmp_path: Path,
    text: str,
    vocabulary: Vocabulary,
    *,
    addresses: tuple[str, ...] = (),
    is_service: bool = False,
) -> Tags:
    (tags,) = await LocalModels(models=tmp_path).tags(
        [Material(text, ChannelId(1), addresses=addresses, is_service=is_service)], vocabulary=vocabulary
    )
    return tags


async def test_a_russian_post_is_read_by_all_forms_of_its_words(
    tmp_path: Path, vocabulary: Vocabulary
) -> None:
    tags = await read_locally(tmp_path, RUSSIAN, vocabulary)
    assert (tags.topic, tags.language, tags.kind) == ("economy", "ru", PostSort.NEWS)
    assert {"центробанк", "банки", "экономика"} <= set(tags.tags)
    assert NamedEntity(text="Москва", kind=EntityKind.PLACE) in tags.entities
    assert NamedEntity(text="Эльвира Набиуллина", kind=EntityKind.PERSON) in tags.entities


async def test_an_english_post_is_read_with_the_english_vocabulary(
    tmp_path: Path, vocabulary: Vocabulary
) -> None:
    tags = await read_locally(tmp_path, ENGLISH, vocabulary)
    assert tags.tags[:2] == ("banks", "central bank")
    assert NamedEntity(text="London", kind=EntityKind.PLACE) in tags.entities


async def test_a_grown_tag_is_found_by_its_own_words_and_only_whole(tmp_path: Path) -> None:
    grown = Vocabulary({"ru": {"ключевая ставка": "economy", "ставка на спорт": "sports"}})
    assert (await read_locally(tmp_path, "Ключевую ставку повысили", grown)).tags == ("ключевая ставка",)
    assert (await read_locally(tmp_path, "Ставку повысили", grown)).tags == ()


async def test_where_it_is_one_word_against_another_no_topic_is_said(tmp_path: Path) -> None:
    two = Vocabulary({"ru": {"музеи": "culture", "рынки": "markets"}})
    even = await read_locally(tmp_path, "Музей открылся рядом с биржей", two)
    assert (even.tags, even.topic) == ((), "")
    assert (
        await read_locally(tmp_path, "Биржа закрылась, музей и его экспонаты остались", two)
    ).topic == "culture"
    assert (
        await read_locally(tmp_path, "Биржа и трейдеры против музея и экспонатов", two)
    ).topic == "markets"


async def test_a_word_of_many_meanings_needs_another_beside_it(
    tmp_path: Path, vocabulary: Vocabulary
) -> None:
    assert (await read_locally(tmp_path, "Подробности на нашем сайте", vocabulary)).tags == ()
    tags = await read_locally(tmp_path, "Сайт упал: провайдер не справился с трафиком", vocabulary)
    assert (tags.tags[0], tags.topic) == ("интернет", "technology")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            (
                "Проезд в автобусе подорожает, а пересадка на трамвай станет бесплатной: "
                "перевозчик меняет тарифы на маршрутах"
            ),
            "хирургия",
        ),
        (
            (
                "Склад загорелся ночью. Пожар тушат спасатели МЧС, огонь охватил кровлю; "
                "посол доволен работой пожарных"
            ),
            "дипломатия",
        ),
        (
            (
                "Firefighters fight a warehouse fire overnight; the blaze spread over the roof "
                "while a marathon passed by"
            ),
            "athletics",
        ),
    ],
)
async def test_one_misleading_word_gives_no_tag_of_another_topic(
    tmp_path: Path, vocabulary: Vocabulary, text: str, wrong: str
) -> None:
    tags = await read_locally(tmp_path, text, vocabulary)
    assert tags.tags
    assert wrong not in tags.tags


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Задержали Ивана Петрова", "Иван Петров"),
        ("Слова Анны Петровой повторили", "Анна Петрова"),
        ("Сегодня в Екатеринбурге снег", "Екатеринбург"),
        ("Снег в Чебоксарах и Санкт-Петербурге", "Чебоксары"),
        ("Снег в Чебоксарах и Санкт-Петербурге", "Санкт-Петербург"),
        ("Отчёт «Газпрома» вышел", "Газпром"),
        ("Опрос провёл ФОМ вчера", "ФОМ"),
        ("It was Moscow's snow in London’s parks by Ivan Petrov's hand", "Ivan Petrov"),
    ],
)
async def test_a_name_is_given_in_its_dictionary_form(
    tmp_path: Path, vocabulary: Vocabulary, text: str, name: str
) -> None:
    assert name in {entity.text for entity in (await read_locally(tmp_path, text, vocabulary)).entities}


async def test_no_local_tag_lies_outside_the_vocabulary_and_there_are_never_more_than_eight(
    tmp_path: Path, vocabulary: Vocabulary
) -> None:
    everything = " ".join(vocabulary.tags_of("ru"))
    tags = await read_locally(tmp_path, everything, vocabulary)
    assert len(tags.tags) == 8
    assert set(tags.tags) <= set(vocabulary.tags_of("ru"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Мост закрыли на ремонт до декабря", PostSort.NEWS),
        ("Я считаю, что мост закрыли напрасно", PostSort.OPINION),
        ("In my opinion the bridge should stay open", PostSort.OPINION),
        ("Новый курс по йоге. erid: 2VtzqxKz", PostSort.ADVERTISING),
        ("Скидка 40% по промокоду ЗИМА, успейте заказать", PostSort.ADVERTISING),
        ("Sponsored: a better mattress", PostSort.ADVERTISING),
        ("Власти обсудили закон о рекламе и скидках", PostSort.NEWS),
        ("Лампа для чтения.\nРеклама. ООО «Свет»", PostSort.ADVERTISING),
        ("Лампа для чтения.\nИнформация о рекламодателе по ссылке", PostSort.ADVERTISING),
        ("Рекламодателей обязали показывать договоры", PostSort.NEWS),
        ("Реклама на трамваях подорожала втрое", PostSort.NEWS),
        ("Разыгрываем самокат: подпишитесь на канал, чтобы участвовать", PostSort.ADVERTISING),
        ("Розыгрыш самоката закончился скандалом: победителя не назвали", PostSort.NEWS),
        (
            "We are giving away a scooter! Join and follow us; the winner is drawn at noon",
            PostSort.ADVERTISING,
        ),
        ("A raffle for a scooter ended in a fight", PostSort.NEWS),
    ],
)
async def test_what_a_post_is_shows_by_its_signs(
    tmp_path: Path, vocabulary: Vocabulary, text: str, kind: PostSort
) -> None:
    tags = await read_locally(tmp_path, text, vocabulary)
    assert (tags.kind, tags.is_ad) == (kind, kind is PostSort.ADVERTISING)
    assert (await read_locally(tmp_path, text, vocabulary, is_service=True)).kind is PostSort.SERVICE


@pytest.mark.parametrize(
    ("address", "is_ad"),
    [
        ("https://bank.example/card?utm_source=tg&erid=2Vtzq", True),
        ("https://bank.example/go/erid_2Vtzq", True),
        ("https://bank.example/erid2Vtzq1", True),
        ("https://bank.example/?utm_medium=cpa&x=1", True),
        ("https://lamp.onelink.me/x1", True),
        ("https://sponsored.link/lamp", True),
        ("https://paper.example/?utm_source=telegram&utm_medium=social", False),
        ("https://paper.example/?utm_medium=paidoff", False),
        ("https://paper.example/meridian-line", False),
        ("https://paper.example/eridan", False),
        ("https://notonelink.me.example/x1", False),
    ],
)
async def test_a_paid_address_makes_a_post_advertising(
    tmp_path: Path, vocabulary: Vocabulary, address: str, *, is_ad: bool
) -> None:
    tags = await read_locally(tmp_path, "Лампа для чтения вечером", vocabulary, addresses=(address,))
    assert tags.is_ad == is_ad


@pytest.mark.parametrize(
    ("address", "is_ad"),
    [
        ("https://clck.example/a1b2c3", True),
        ("https://t.me/a1b2c3", False),
        ("https://paper.example/2026/11/lamps", False),
    ],
)
async def test_a_discount_behind_an_address_that_hides_its_page_is_advertising(
    tmp_path: Path, vocabulary: Vocabulary, address: str, *, is_ad: bool
) -> None:
    tags = await read_locally(tmp_path, "Лампа со скидкой до пятницы", vocabulary, addresses=(address,))
    assert tags.is_ad == is_ad
    assert not (await read_locally(tmp_path, "Лампа упала", vocabulary, addresses=(address,))).is_ad


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ставка останется прежней — Набиуллина", {"Набиуллина": "person"}),
        ("Об этом Набиуллина сообщила утром", {"Набиуллина": "person"}),
        ("Лавров ответил на вопрос", {"Лавров": "person"}),
        ("Как пишут СМИ, это ЧП, а не ДТП", {}),
        ("Они уехали из Южной Кореи утром", {"Южная Корея": "place"}),
        ("Мост в Нижнем Новгороде закрыт", {"Нижний Новгород": "place"}),
        ("Шторм на Каспийском море утих", {}),
        ("Мост закрыт в Самаре\n\n👉 Подписаться на Москву", {"Самара": "place"}),
    ],
)
async def test_russian_names_are_whole_and_no_abbreviations_of_things(
    tmp_path: Path, vocabulary: Vocabulary, text: str, names: dict[str, str]
) -> None:
    tags = await read_locally(tmp_path, text, vocabulary)
    assert {entity.text: entity.kind.value for entity in tags.entities} == names


async def test_hashtags_that_we_lack_are_proposed(tmp_path: Path, vocabulary: Vocabulary) -> None:
    tags = await read_locally(
        tmp_path, "Открыли #Новый_Мост и #погода #123 #a https://site.example/#якорь", vocabulary
    )
    assert tags.proposed == ("новый мост",)


def test_both_packaged_vocabularies_have_the_same_topics_and_enough_tags(vocabulary: Vocabulary) -> None:
    russian, english = (
        list(dict.fromkeys(vocabulary.tags_of(language).values())) for language in ("ru", "en")
    )
    assert russian == english
    assert len(russian) >= 25
    assert all(150 <= len(vocabulary.tags_of(language)) <= 300 for language in ("ru", "en"))
    assert all(tag == tag_in(tag) for language in ("ru", "en") for tag in vocabulary.tags_of(language))


async def test_long_and_strange_texts_are_no_trouble(tmp_path: Path, vocabulary: Vocabulary) -> None:
    for text in (
        "",
        "😀" * 5000,
        "а" * 200_000,
        "\x00\u202e#" * 1000,
        "слово " * 50_000,
        "А-" * 5000,
        "Ab " * 5000,
        "Ab." * 5000,
        "A’" * 5000,
    ):
        await read_locally(tmp_path, text, vocabulary)


@pytest.mark.turns("MODELS_DIR")
async def test_texts_of_one_meaning_have_near_vectors(minilm: Path) -> None:
    settings = read_group(AiSettings, {"MODELS_DIR": str(minilm), "AI_EMBEDDINGS_MODEL": MINILM})
    local = LocalModels(models=settings.models)
    texts = [
        "The cat sleeps on the sofa",
        "A kitten is napping on the couch",
        "Parliament passed the budget",
    ] * 8
    made = await local.embed(
        texts, TextKind.DOCUMENT, model=settings.embeddings_model_in_force, timeout_seconds=0
    )

    def nearness(first: int, other: int) -> float:
        return sum(a * b for a, b in zip(made.vectors[first], made.vectors[other], strict=True))

    assert len(made.vectors[0]) == 384
    assert nearness(0, 0) == pytest.approx(1.0, abs=1e-5)
    assert nearness(0, 21) == pytest.approx(1.0, abs=1e-5)  # of another batch, padded differently
    assert nearness(0, 1) > 0.6
    assert nearness(0, 2) < 0.3
    with pytest.raises(Rejected, match="tga models pull"):
        await local.embed(["x"], TextKind.DOCUMENT, model=DEFAULT_MODEL, timeout_seconds=0)


def test_the_doctor_says_which_model_is_missing(minilm: Path) -> None:
    assert Severity.WARNING in {finding.verdict for finding in examine(minilm, DEFAULT_MODEL)}
    assert "sentence model" in {
        finding.subject for finding in examine(minilm, MINILM) if finding.verdict is Severity.OK
    }


def test_the_program_understands_a_little_with_nothing_installed(tmp_path: Path) -> None:
    """In a Python that has none of the optional libraries."""
    absent = (
        "pymorphy3",
        "onnxruntime",
        "tokenizers",
        "gigachat",
        "langchain_gigachat",
        "langchain_openai",
        "openai",
        "PIL",
        "numpy",
    )
    program = f"""
import asyncio, sys
from importlib.abc import MetaPathFinder
class Absent(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(name)
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {absent!r} else real(name, package)
sys.meta_path.insert(0, Absent())
from pathlib import Path
from telegram_assistant import assembly
from telegram_assistant.ai.local.understanding import LocalModels, examine
from telegram_assistant.ai.protocols import TextKind
from telegram_assistant.errors import Rejected
from telegram_assistant.ai.providers import open_sources
from telegram_assistant.errors import CannotStart
from telegram_assistant.settings import read_settings
local = LocalModels(models=Path({str(tmp_path)!r}))
from telegram_assistant.ai.gate_results import Material
from telegram_assistant.ai.local.vocabulary import packaged_vocabulary
posts = [Material("The banks raised interest rates", 1), Material("Банки подняли ставки по ипотеке", 1)]
print([one.tags[0] for one in asyncio.run(local.tags(posts, vocabulary=packaged_vocabulary()))])
try:
    asyncio.run(local.embed(["x"], TextKind.QUERY, model="a/b", timeout_seconds=0))
except Rejected as error:
    print(error)
async def keyed():
    settings = read_settings(
        {{"DATABASE_URL": "postgresql://x", "REDIS_URL": "redis://x", "OPENAI_API_KEY": "x"}}
    )
    async with open_sources(settings, token=None): pass
try:
    asyncio.run(keyed())
except CannotStart as error:
    print(error)
print(examine(Path("."), None)[0].remedy)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tags, vectors, key, remedy = done.stdout.strip().splitlines()
    assert tags == "['banks', 'банки']"
    assert "telegram-assistant[local-ai]" in vectors
    assert "telegram-assistant[local-ai]" in remedy
    assert "openai is configured" in key
    assert "telegram-assistant[ai]" in key


async def test_words_that_were_made_to_keep_the_dictionary_busy_take_little_time(
    tmp_path: Path, vocabulary: Vocabulary
) -> None:
    """It takes words apart, prefix by prefix: one of a thousand prefixes ended in a RecursionError."""
    await read_locally(tmp_path, RUSSIAN, vocabulary)
    letters = [chr(ord("а") + number) for number in range(32)]
    strange = " ".join(f"Пере{first}{second}архи{second}" for first in letters for second in letters)[:4096]
    for text in ("Пере" + "пере" * 1000, strange, "Ж" + "ж" * 4095):
        with cpu_limit(0.25):
            await read_locally(tmp_path, text, vocabulary)
