"""Posts of real channels between stories: hidden advertising, round-ups, lists of statements, greetings,
jokes, other languages.
"""

import random
from collections.abc import Iterator, Sequence

from telegram_simulator.world.demo.packs import Manner, packs
from telegram_simulator.world.demo.plan import (
    DAY,
    HOUR,
    Day,
    Kind,
    Piece,
    Planned,
    Planted,
    Role,
    moment_within,
)
from telegram_simulator.world.demo.wording import draw_values, fill_template
from telegram_simulator.world.unruly.pack import unruly_pack

ADVERTISEMENTS, ABOUT_ADVERTISING, ROUND_UPS, STATEMENTS, GREETINGS, FOREIGN = 16, 2, 5, 2, 2, 3
"""How many a day."""
KINDS_OF_ADVERTISING = ("erid", "utm", "giveaway", "native")
IN_ROUND_UP = 10


def unruly_fillers(day: Day, firsts: Sequence[Planned]) -> Iterator[Planned]:
    """`firsts` are the first posts of the day's stories, for those who sum them up."""
    rng = day.rng
    channels = [channel for channel in unruly_pack().manners if channel.name]
    for _ in range(ADVERTISEMENTS):
        weights = [channel.ads * channel.per_day for channel in channels]
        yield from _advertise(day, *rng.choices(channels, weights, k=2))
    for _ in range(ABOUT_ADVERTISING):
        channel = rng.choice(channels)
        texts = unruly_pack().texts["not_advertising"][channel.language]
        yield _post(
            day,
            channel,
            Kind.NEWS,
            "about advertising",
            [(_filled(rng.choice(texts), channel, rng), "", "")],
        )
    for _ in range(ROUND_UPS):
        yield from _sum_up(day, rng.choice(channels), firsts)
    for _ in range(STATEMENTS):
        yield _list_statements(day, rng.choice(channels))
    for language in ("ru", "en"):
        for _ in range(GREETINGS):
            yield from _greet(day, [channel for channel in channels if channel.language == language])
    for _ in range(FOREIGN):
        texts = unruly_pack().texts["foreign"]
        language = rng.choice(list(texts))
        yield _post(
            day,
            rng.choice(channels),
            Kind.OPINION,
            f"foreign {language}",
            [(rng.choice(texts[language]), "", "")],
        )


def _post(
    day: Day, channel: Manner, kind: Kind, planted_kind: str, pieces: Sequence[Piece], date: int | None = None
) -> Planned:
    signature = unruly_pack().signatures.get(channel.name, ())
    signed = (*pieces, ("\n\n", "", ""), *signature) if signature else tuple(pieces)
    return Planned(
        day.key(),
        channel,
        date or moment_within(channel, day.begins, day.rng),
        Role.NONE,
        kind,
        channel.topics[0],
        planted=Planted(kinds=(planted_kind,), pieces=signed),
    )


def _advertise(day: Day, channel: Manner, other: Manner) -> Iterator[Planned]:
    """An advertisement; a third of them appear in an unrelated channel, too."""
    rng, language = day.rng, channel.language
    kind = rng.choice(KINDS_OF_ADVERTISING)
    text = rng.choice(unruly_pack().texts["advertising"][f"{kind}_{language}"])
    code = format(rng.randrange(16**6), "06x")
    pieces: list[Piece] = [(text if isinstance(text, str) else text[0], "", "")]
    if kind == "native":
        pieces += [("\n\n", "", ""), (f"https://{text[1].format(code)}", "url", "")]
    elif kind != "giveaway":
        pieces += [("\n\n", "", ""), (text[1], "text_url", text[2].format(code))]
    yield _post(day, channel, Kind.ADVERTISING, f"advertising {kind}", pieces)
    if other.language == language and other is not channel and rng.random() < 0.5:
        yield _post(day, other, Kind.ADVERTISING, f"advertising {kind}", pieces)


def _sum_up(day: Day, channel: Manner, firsts: Sequence[Planned]) -> Iterator[Planned]:
    """The headlines of many stories in one post."""
    rng, language = day.rng, channel.language
    stories = [
        post.story for post in firsts if post.story is not None and post.story.begins < day.begins + DAY
    ]
    if len(stories) < IN_ROUND_UP:
        return
    lines = [
        fill_template(story.event.words[language]["head"][0], story.values, language, rng)
        for story in rng.sample(stories, IN_ROUND_UP)
    ]
    title = rng.choice(unruly_pack().texts["round_ups"][language])
    date = day.begins + rng.randrange(19 * HOUR, 23 * HOUR)
    body = "\n".join(f"▪️ {line}" for line in lines)
    yield _post(day, channel, Kind.NEWS, "round-up", [(title, "bold", ""), (f"\n\n{body}", "", "")], date)


def _list_statements(day: Day, channel: Manner) -> Planned:
    rng, language, texts = day.rng, channel.language, unruly_pack().texts["round_ups"]
    title = _filled(rng.choice(texts[f"{language}_statements"]), channel, rng)
    lines = rng.sample(texts[f"{language}_said"], 5)
    body = "\n".join(f"▪️ {line}" for line in lines)
    return _post(day, channel, Kind.NEWS, "statements", [(f"{title}\n\n{body}", "", "")])


def _greet(day: Day, channels: Sequence[Manner]) -> Iterator[Planned]:
    """The same few words in several channels."""
    rng = day.rng
    text = rng.choice(unruly_pack().texts["greetings"][channels[0].language])
    for channel in rng.sample(list(channels), rng.randint(2, 5)):
        yield _post(day, channel, Kind.OPINION, "greeting", [(text, "", "")])


def _filled(template: str, channel: Manner, rng: random.Random) -> str:
    """The template with a city and a firm."""
    slots = {
        name: choice
        for event in packs().events
        for name, choice in event.slots.items()
        if name in {"city", "firm"}
    }
    return fill_template(template, draw_values(slots, rng), channel.language, rng)
