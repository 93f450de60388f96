"""Everything between the stories: opinions, the weather, advertising, polls, service messages,
and small news that nobody takes up.
"""

from collections.abc import Iterator

from telegram_simulator.world.demo.packs import Manner, packs
from telegram_simulator.world.demo.plan import (
    Day,
    Filling,
    Kind,
    Planned,
    Role,
    Shows,
    busyness,
    hour_of,
    moment_within,
    poisson,
)
from telegram_simulator.world.demo.stories import begin, fresh_event, with_fate
from telegram_simulator.world.demo.wording import draw_values

OWN_SHARE = 0.4
"""The share of a channel's posts that take up no story of others."""
DAILY, OPINIONS, POLLS, PINS = 0.26, 0.66, 0.03, 0.02


def fillers_of(day: Day) -> Iterator[Planned]:
    """Each channel's own posts of that day."""
    for channel in packs().channels:
        for _ in range(poisson(channel.per_day * OWN_SHARE * busyness(channel, day.begins), day.rng)):
            yield _filler(day, channel)


def _filler(day: Day, channel: Manner) -> Planned:
    rng = day.rng
    date = moment_within(channel, day.begins, rng)
    if rng.random() < channel.ads * 0.6:
        shows = rng.choice((Shows.PHOTO, Shows.NOTHING))
        return _post(
            day, channel, date, Kind.ADVERTISING, channel.topics[0], _advertising(day, channel), shows
        )
    chance, topic = rng.random(), rng.choice(channel.topics)
    if chance < PINS:
        return _post(day, channel, date, Kind.SERVICE, topic, None)
    if chance < PINS + POLLS:
        return _post(
            day,
            channel,
            date,
            Kind.OPINION,
            topic,
            Filling("", {}, rng.randrange(len(packs().polls))),
            Shows.POLL,
        )
    filling = None
    if chance < DAILY:
        filling, kind, picture = _daily(day, channel, topic, hour_of(channel, date)), Kind.NEWS, 0.3
    elif chance < OPINIONS:
        filling, kind, picture = _opinion(day, channel, topic), Kind.OPINION, 0.15
    if filling is None:
        return begin(day, fresh_event(day, channel.topics), channel, spreads=False)
    return _post(
        day, channel, date, kind, topic, filling, Shows.PHOTO if rng.random() < picture else Shows.NOTHING
    )


def _post(
    day: Day,
    channel: Manner,
    date: int,
    kind: Kind,
    topic: str,
    filling: Filling | None,
    shows: Shows = Shows.NOTHING,
) -> Planned:
    return with_fate(
        Planned(day.key(), channel, date, Role.NONE, kind, topic, filling=filling, shows=shows), day.rng
    )


def _advertising(day: Day, channel: Manner) -> Filling:
    pack = packs().advertising
    texts = pack.texts[channel.language]
    turn = day.turn("advertising", channel.language)
    order = day.order(len(texts), "advertising", channel.language)
    return Filling(texts[order[turn % len(order)]], draw_values(pack.slots, day.rng))


def _daily(day: Day, channel: Manner, topic: str, hour: int) -> Filling | None:
    """None when the readers of the language have seen today what may be said at that hour."""
    pack, language = packs().daily[topic], channel.language
    for number in day.order(len(pack.texts[language]), "daily", topic, language):
        name = ("daily", language, topic, str(number))
        if hour in pack.hours[language][number] and not day.used[name]:
            day.turn(*name)
            return Filling(pack.texts[language][number], draw_values(pack.slots, day.rng))
    return None


def _opinion(day: Day, channel: Manner, topic: str) -> Filling | None:
    pack, rng = packs().notes[topic][channel.language], day.rng
    turn = day.turn("opinion", channel.language, topic)
    if turn >= len(pack["a"]):
        return None
    sentences = [pack["a"][day.order(len(pack["a"]), "a", topic, channel.language)[turn]]]
    if rng.random() < 0.75:
        sentences.append(
            pack["b"][day.order(len(pack["b"]), "b", topic, channel.language)[turn % len(pack["b"])]]
        )
    if rng.random() < 0.35:
        last_words = packs().last_words[channel.language]
        sentences.append(
            last_words[
                day.order(len(last_words), "last", channel.language)[
                    day.turn("last", channel.language) % len(last_words)
                ]
            ]
        )
    return Filling(" ".join(sentences), {})
