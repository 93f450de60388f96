"""Realistic channels and posts, the same for the same seed: Russian and English, heavy-tailed, with albums,
links and forwards.
"""

import random
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any

from telegram_assistant.domain.channels.coverage import proven_by
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.post import Origin, Post, PostKind, TextEntity, fingerprint
from telegram_assistant.stores.postgres.posts.landing import PostPage

RUSSIAN_SHARE = 0.75
FORWARD_SHARE = 0.15
PHOTO_SHARE = 0.40
LINK_SHARE = 0.25
REPLY_SHARE = 0.05
ALBUM_SHARE = 0.05
EDITED_SHARE = 0.08
PHRASES_PER_LANGUAGE = 4000


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


RUSSIAN = words("""
город власть рынок дорога завод школа больница мост река погода снег дождь суд закон налог бюджет рубль доллар
нефть газ цена рост падение банк кредит вклад акция биржа компания сделка договор министр депутат губернатор
мэр президент совет комиссия проект план отчёт стройка квартал район улица метро поезд самолёт рейс вокзал
аэропорт порт корабль граница таможня товар поставка склад магазин покупатель учёный открытие опыт космос
ракета спутник орбита двигатель энергия станция сеть связь оператор телефон приложение сервис алгоритм данные
команда матч гол счёт тренер игрок лига кубок чемпионат стадион зритель театр премьера фильм режиссёр актёр
книга автор выставка музей картина врач пациент лечение вакцина исследование результат причина следствие
полиция пожар авария спасатель помощь волонтёр фонд средства программа студент экзамен университет конкурс
победа участник фестиваль праздник парк сад урожай поле ферма цех смена рабочий зарплата отпуск
""")
RUSSIAN_VERBS = words("""
сообщил заявил отметил подчеркнул объявил открыл закрыл построил отремонтировал увеличил сократил принял
отклонил обсудил подписал запустил остановил проверил обнаружил опубликовал представил выиграл проиграл
изменил поддержал раскритиковал предложил
""")
RUSSIAN_LINKS = words("""
в на по из для без через после перед около между вместо из-за благодаря согласно
""")

ENGLISH = words("""
city market road factory school hospital bridge river weather court law tax budget dollar oil gas price growth
decline bank loan share exchange company deal contract minister mayor council project plan report district
street metro train flight airport port ship border goods supply warehouse shop buyer scientist discovery space
rocket satellite orbit engine energy station network operator phone app service algorithm data team match goal
coach player league cup championship stadium theatre premiere film director actor book author exhibition
museum doctor patient treatment vaccine study result police fire accident rescue volunteer fund programme
student exam university contest festival park harvest farm
""")
ENGLISH_VERBS = words("""
reported announced noted stressed opened closed built repaired raised cut adopted rejected discussed signed
launched halted checked found published presented won lost changed supported criticised proposed
""")
ENGLISH_LINKS = words("""
in on by from for without through after before near between despite according to because of
""")


@dataclass(frozen=True, slots=True)
class Writer:
    """A random generator of rows. Phrases are made once, so that a post costs a few picks."""

    rng: random.Random
    russian: tuple[str, ...]
    english: tuple[str, ...]


def make_writer(seed: int) -> Writer:
    rng = random.Random(seed)
    russian = tuple(_phrase(rng, RUSSIAN, RUSSIAN_VERBS, RUSSIAN_LINKS) for _ in range(PHRASES_PER_LANGUAGE))
    english = tuple(_phrase(rng, ENGLISH, ENGLISH_VERBS, ENGLISH_LINKS) for _ in range(PHRASES_PER_LANGUAGE))
    return Writer(rng, russian, english)


def _phrase(
    rng: random.Random, nouns: tuple[str, ...], verbs: tuple[str, ...], links: tuple[str, ...]
) -> str:
    words = [_zipf(rng, nouns), rng.choice(verbs), _zipf(rng, nouns)]
    for _ in range(rng.randint(2, 6)):
        words += [rng.choice(links), _zipf(rng, nouns)]
    if rng.random() < 0.3:
        words.append(str(rng.randint(2, 5000)))
    return " ".join(words).capitalize() + "."


def _zipf(rng: random.Random, choices: tuple[str, ...]) -> str:
    """Few words are said often, most seldom."""
    return choices[
        min(int(rng.paretovariate(0.7)) - 1, len(choices) - 1)
        if rng.random() < 0.6
        else rng.randrange(len(choices))
    ]


def posts_of(
    writer: Writer, channel_id: int, *, first_id: int, count: int, newest: datetime, span: timedelta
) -> Iterator[Post]:
    """`count` posts with ascending ids and dates that end at `newest`; here and there an album of several."""
    rng = writer.rng
    is_russian = rng.random() < RUSSIAN_SHARE
    moments = sorted(newest - span * rng.random() for _ in range(count))
    if moments:
        moments[-1] = newest
    album_left, album_id = 0, None
    for number, moment in enumerate(moments):
        if album_left == 0 and rng.random() < ALBUM_SHARE:
            album_left, album_id = rng.randint(2, 10), rng.getrandbits(62)
        in_album = album_left > 0
        yield make_post(
            writer,
            channel_id,
            first_id + number,
            moment,
            is_russian=is_russian,
            grouped_id=album_id if in_album else None,
        )
        album_left -= in_album


def make_post(
    writer: Writer,
    channel_id: int,
    message_id: int,
    posted_at: datetime,
    *,
    is_russian: bool = True,
    grouped_id: int | None = None,
) -> Post:
    rng = writer.rng
    phrases = writer.russian if is_russian else writer.english
    text = " ".join(rng.choices(phrases, k=rng.randint(3, 9)))
    entities: tuple[TextEntity, ...] = (TextEntity("bold", 0, min(len(text), 20)),)
    if rng.random() < LINK_SHARE:
        url = f"https://news.example/{rng.randrange(100_000)}"
        entities += (TextEntity("url", len(text) + 1, len(url)),)
        text = f"{text} {url}"
    has_photo = grouped_id is not None or rng.random() < PHOTO_SHARE
    media_ids = (rng.getrandbits(60),) if has_photo else ()
    forwarded = (
        Origin(ChannelId(rng.randrange(1, 1_000_000)), MessageId(rng.randrange(1, 5000)))
        if rng.random() < FORWARD_SHARE
        else None
    )
    return Post(
        channel_id=ChannelId(channel_id),
        message_id=MessageId(message_id),
        posted_at=posted_at,
        content_hash=fingerprint(text, entities, media_ids),
        kind=PostKind.PHOTO if has_photo else PostKind.TEXT,
        text=text,
        entities=entities,
        edited_at=posted_at + timedelta(minutes=5) if rng.random() < EDITED_SHARE else None,
        reply_to=MessageId(message_id - 1) if message_id > 1 and rng.random() < REPLY_SHARE else None,
        forwarded_from=forwarded,
        grouped_id=grouped_id,
        lang="ru" if is_russian else "en",
        facts={
            "counts": {"views": rng.randrange(100_000)},
            **({"media": {"kind": "photo", "id": media_ids[0]}} if media_ids else {}),
        },
    )


def heavy_tailed_counts(seed: int, *, channels: int, posts: int) -> list[int]:
    """How many posts each channel has: log-normal with a spread of 1.6, adding up to `posts`,
    at least one each.
    """
    if posts < channels:
        raise ValueError(f"{posts} posts are too few for {channels} channels")
    rng = random.Random(seed)
    weights = [rng.lognormvariate(0, 1.6) for _ in range(channels)]
    total = sum(weights)
    counts = [max(1, round(posts * weight / total)) for weight in weights]
    edges = list(accumulate(weights))
    while (missing := posts - sum(counts)) != 0:
        step = 1 if missing > 0 else -1
        for _ in range(abs(missing)):
            lucky = min(bisect(edges, rng.random() * total), channels - 1)
            if counts[lucky] + step >= 1:
                counts[lucky] += step
    return counts


def page_of(posts: tuple[Post, ...], **more: Any) -> PostPage:
    """A page of the newest posts, just read, and what it proves."""
    return PostPage(
        **{
            "posts": posts,
            "proven": proven_by([post.message_id for post in posts]),
            "read_at": datetime.now(UTC),
            **more,
        }
    )
