"""The world `tiny`: three channels, small and always the same, for unit tests. It has one of everything."""

from collections.abc import Iterator

from telegram_simulator.world.chance import number64
from telegram_simulator.world.channel import Channel, Listed
from telegram_simulator.world.post import (
    Document,
    Entity,
    File,
    FileKind,
    Media,
    Origin,
    Photo,
    Poll,
    Post,
    Service,
    Unsupported,
    WebPage,
)
from telegram_simulator.world.world import HOME_DC

CITY, TECH, CLUB = 1_500_000_001, 1_500_000_002, 1_500_000_003
CLUB_INVITE = "c1ubInv1te"
SECOND_DC = 4
HOUR = 3600

CITY_NEWS = (
    "Мост через реку закрыт до пятницы: дорожники меняют плиты.",
    "Утром в городе снег, к вечеру гололёд. Водителей просят не торопиться.",
    "Новая школа на Садовой приняла первых учеников.",
    "Театр объявил премьеру: «Вишнёвый сад» покажут в декабре.",
    "Автобус № 7 меняет маршрут из-за ремонта теплотрассы.",
)
TECH_NEWS = (
    "The 3.15 release makes imports lazy and start-up twice as fast.",
    "A new satellite constellation passed its first latency test.",
    "Researchers trained a small model that reads tables.",
    "The chip plant reports a yield of 71 percent.",
    "An old bug in a compression library was found by a student.",
)
CLUB_NOTES = (
    "Встречаемся в четверг в восемь.",
    "Протокол прошлой встречи — в файле.",
    "Кто принесёт проектор?",
)


def tiny_channels(now: int) -> list[Channel]:
    """Their posts end at `now`."""
    city = _channel(CITY, "Городские новости", "gorod_news", _city(now))
    tech = _channel(TECH, "Tech Daily", "tech_daily", _tech(now))
    club = _channel(CLUB, "Закрытый клуб", None, _club(now))
    club.invite, club.protected = CLUB_INVITE, True
    return [city, tech, club]


def _channel(channel_id: int, title: str, username: str | None, posts: Iterator[Post]) -> Channel:
    past = Listed(tuple(posts))
    return Channel(
        channel_id,
        title=title,
        username=username,
        created=past.date(0),
        past=past,
        past_count=len(past.posts),
    )


def _city(now: int) -> Iterator[Post]:
    yield Post(message_id=1, date=now - 60 * HOUR, service=Service.CREATED)
    for number in range(2, 41):
        date = now - (41 - number) * HOUR
        text = f"{CITY_NEWS[number % len(CITY_NEWS)]} ({number})"
        media, grouped_id = _city_media(number), None
        if 20 <= number <= 22:  # an album, with its caption on the first item
            grouped_id, date, text = 777, now - 21 * HOUR, text if number == 20 else ""
        if number == 30:
            yield Post(message_id=number, date=date, service=Service.PINNED, reply_to=12)
            continue
        yield Post(
            message_id=number,
            date=date,
            text=text,
            entities=(Entity("bold", 0, 5), Entity("hashtag", 6, 4)) if text else (),
            media=media,
            origin=Origin(TECH, 5, date - HOUR) if number == 15 else None,
            reply_to=number - 1 if number % 10 == 6 else None,
            grouped_id=grouped_id,
            views=number * 100,
            forwards=number,
            comments=number % 7 if number % 2 else None,
            reactions=(("👍", number), ("🔥", 2)) if number % 3 == 0 else (),
        )


def _city_media(number: int) -> Media | None:
    """One of everything, each at a number of its own."""
    media: dict[int, Media] = {
        8: Photo(_file(CITY, 8, FileKind.JPEG)),
        9: Photo(_file(CITY, 9, FileKind.JPEG, dc_id=SECOND_DC)),
        10: Document(_file(CITY, 10, FileKind.PDF), "plan.pdf"),
        11: WebPage("https://news.example/most", "Мост закрыт", "Что известно о ремонте"),
        12: Poll("Как вы добираетесь?", ("пешком", "на автобусе")),
        13: Unsupported(),
        14: Document(_file(CITY, 14, FileKind.PNG), "map.png"),
        16: Document(_file(CITY, 16, FileKind.WEBP), "sign.webp"),
        17: Document(_file(CITY, 17, FileKind.MP4, dc_id=SECOND_DC), "snow.mp4"),
        20: Photo(_file(CITY, 20, FileKind.JPEG)),
        21: Photo(_file(CITY, 21, FileKind.JPEG)),
        22: Document(_file(CITY, 22, FileKind.MP4), "album.mp4"),
    }
    return media.get(number)


def _tech(now: int) -> Iterator[Post]:
    yield Post(message_id=1, date=now - 200 * HOUR, service=Service.CREATED)
    for number in range(2, 31):
        text = f"{TECH_NEWS[number % len(TECH_NEWS)]} See https://tech.example/{number}"
        link = Entity("url", text.index("https"), len(text) - text.index("https"))
        date = now - (31 - number) * 6 * HOUR
        yield Post(
            message_id=number,
            date=date,
            text=text,
            entities=(link,),
            author="Ann Lee" if number % 5 == 0 else None,
            views=number * 1000,
            forwards=number,
        )


def _club(now: int) -> Iterator[Post]:
    yield Post(message_id=1, date=now - 90 * 24 * HOUR, service=Service.CREATED)
    for number in range(2, 11):
        date = now - (11 - number) * 24 * HOUR
        yield Post(
            message_id=number,
            date=date,
            text=f"{CLUB_NOTES[number % len(CLUB_NOTES)]} ({number})",
            views=number,
            forwards=0,
        )


def _file(channel_id: int, number: int, kind: FileKind, *, dc_id: int = HOME_DC) -> File:
    file_id = number64("tiny", channel_id, number) & (2**62 - 1)
    return File(file_id, kind, size=40_000 + number * 1000, dc_id=dc_id)
