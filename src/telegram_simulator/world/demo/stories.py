"""Stories of a day: where each begins, who takes it up and how, who contradicts it,
and what comes of it days later.
"""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice

from telegram_simulator.world.demo.packs import EventType, Manner, Numbers, packs
from telegram_simulator.world.demo.plan import (
    DAY,
    HOUR,
    Day,
    Edit,
    Kind,
    Planned,
    Reuse,
    Role,
    Shows,
    Story,
    Wording,
    moment_after,
    moment_within,
)
from telegram_simulator.world.demo.wording import draw_values, number_of

STORIES_PER_DAY = 36
WORKING_DAY, WEEKEND = 1.1, 0.75
BURSTS_PER_DAY = 2
TAKEN_UP = 0.85
"""The share of a channel's posts that take up stories of others."""
BURST_ECHO = 3.0
"""How much more a burst is taken up than a story usually is."""
BROAD = ("city", "incident", "tech", "market")
"""Topics that interest many channels: bursts happen there, and even small channels join."""
ABROAD, AT_HOME = 0.45, 1.4
"""Interest in what the other language and one's own tell."""
LOOK_ALIKE, CONTRADICTED, MISREPORTED, CONTINUED = 0.2, 0.14, 0.08, 0.4
FROM_THE_FIRST = 0.65
"""The share of those who take a story from where it began, and not from somebody in between."""
REUSES = (
    Reuse.ORIGINAL,
    Reuse.RECOMPRESSED,
    Reuse.RECOMPRESSED,
    Reuse.CROPPED,
    Reuse.WATERMARKED,
    Reuse.WATERMARKED,
)


def stories_of(day: Day) -> Iterator[Planned]:
    """Posts of all stories that begin on that day; some of them are posted days later."""
    earlier_stories: list[Story] = []
    for number in range(round(STORIES_PER_DAY * (WEEKEND if day.is_weekend else WORKING_DAY))):
        is_burst = number < BURSTS_PER_DAY
        resembled_story = (
            day.rng.choice(earlier_stories) if earlier_stories and day.rng.random() < LOOK_ALIKE else None
        )
        event = resembled_story.event if resembled_story else fresh_event(day, BROAD if is_burst else ())
        first_channel = _teller(event, day.rng)
        first_post = begin(
            day,
            event,
            first_channel,
            is_burst=is_burst,
            resembles=resembled_story.story_id if resembled_story else None,
        )
        assert first_post.story is not None
        earlier_stories.append(first_post.story)
        posts = [first_post, *take_up(day, first_post)]
        yield from posts
        yield from _after(day, posts)


def fresh_event(day: Day, topics: Sequence[str] = ()) -> EventType:
    """An event of a kind that was rare today."""
    events = [event for event in packs().events if not topics or event.topic in topics]
    min_uses = min(day.used["event", event.name] for event in events)
    event = day.rng.choice([event for event in events if day.used["event", event.name] == min_uses])
    day.turn("event", event.name)
    return event


def begin(
    day: Day,
    event: EventType,
    channel: Manner,
    *,
    is_burst: bool = False,
    resembles: str | None = None,
    spreads: bool = True,
) -> Planned:
    """A story and its first post."""
    rng, key = day.rng, day.key()
    values = draw_values(event.slots, rng)
    date = moment_within(channel, day.begins, rng)
    story_id = f"{day.number}-{key // 16 % 62_500}"
    story = Story(
        story_id,
        key,
        event,
        values,
        {**values, event.key: another_number(event, values[event.key], rng)},
        date,
        is_burst,
        resembles,
    )
    is_misreported = spreads and rng.random() < MISREPORTED
    first_post = Planned(
        key=key,
        channel=channel,
        date=date,
        role=Role.FIRST,
        kind=Kind.NEWS,
        topic=event.topic,
        story=story,
        wording=wording(day, event, channel),
        shows=_shows(event, rng),
        wrong=is_misreported,
        links=rng.random() < 0.3,
    )
    if is_misreported:
        return replace(first_post, edit=Edit.CORRECTION, edit_at=date + rng.randrange(600, 2 * HOUR))
    return with_fate(first_post, rng)


def wording(day: Day, event: EventType, channel: Manner, other_than: Wording | None = None) -> Wording:
    """Sentences that today's readers of the language have not seen of this kind of event,
    as far as there are any.
    """
    rng, words = day.rng, event.words[channel.language]
    if other_than is None:
        turn = day.turn("wording", event.name, channel.language)
        head, lead = day.order(3, event.name, "head")[turn % 3], day.order(3, event.name, "lead")[turn % 3]
    else:
        head, lead = (other_than.head + rng.randint(1, 2)) % 3, (other_than.lead + rng.randint(1, 2)) % 3
    low, high = channel.voice.sentences
    count = rng.randint(low, high) - 1
    side_facts = event.beside[channel.language][lead]
    other_facts = other_than.facts if other_than is not None else ()
    facts = tuple(
        sorted(rng.sample(side_facts, len(side_facts)), key=lambda fact: fact in other_facts)[:count]
    )
    quote = rng.randrange(len(words["quote"])) if rng.random() < 0.4 and count else None
    return Wording(head, lead, facts, quote)


def with_fate(post: Planned, rng: random.Random) -> Planned:
    """Some posts are edited later, some are deleted."""
    chance, changed_at = rng.random(), post.date + int(300 + rng.expovariate(1 / (2 * HOUR)))
    deleted = 0.06 if post.channel.is_rumour else 0.012
    if chance < deleted:
        return replace(post, deleted_at=changed_at)
    if chance < deleted + 0.045 and post.role not in {Role.FORWARD, Role.NONE}:
        brings_news = chance < deleted + 0.025 and post.role is not Role.FOLLOW_UP
        return replace(post, edit=Edit.UPDATE if brings_news else Edit.TYPO, edit_at=changed_at)
    return post


def in_album(post: Planned, rng: random.Random) -> Iterator[Planned]:
    """The post, and with it the other pictures of its album, if it is one."""
    if post.shows is not Shows.PHOTO or rng.random() > 0.07:
        yield post
        return
    part_count = rng.randint(2, 6)
    yield replace(post, parts=part_count)
    for part in range(1, part_count):
        shows = Shows.VIDEO if rng.random() < 0.1 else Shows.PHOTO
        yield replace(
            post,
            key=post.key + part,
            part=part,
            parts=part_count,
            shows=shows,
            edit=None,
            edit_at=None,
            links=False,
        )


def another_number(event: EventType, value: object, rng: random.Random) -> int | float:
    numbers = event.slots[event.key]
    assert isinstance(numbers, Numbers)
    return next(other for other in iter(lambda: number_of(numbers, rng), None) if other != value)


def _shows(event: EventType, rng: random.Random) -> Shows:
    chance = rng.random()
    if event.scene == "screenshot" and chance < 0.3:
        return Shows.PDF
    steps = (
        (0.56, Shows.PHOTO),
        (0.65, Shows.VIDEO),
        (0.67, Shows.WEBP),
        (0.68, Shows.GIF),
        (0.69, Shows.PNG),
        (0.89, Shows.PAGE),
    )
    return next((shows for until, shows in steps if chance < until), Shows.NOTHING)


def interested_channels(event: EventType) -> list[Manner]:
    return [channel for channel in packs().channels if event.topic in channel.topics]


def _weight(channel: Manner) -> float:
    return channel.per_day / len(channel.topics)


def _teller(event: EventType, rng: random.Random) -> Manner:
    public = [channel for channel in interested_channels(event) if channel.name]
    return rng.choices(public, [_weight(channel) ** 0.6 for channel in public])[0]


def take_up(day: Day, first_post: Planned) -> list[Planned]:
    """The posts of channels that take a story up, in the order of time."""
    rng, story = day.rng, first_post.story
    assert story is not None
    interest = BURST_ECHO if story.burst else rng.expovariate(1.0)
    chosen_manners = [
        channel
        for channel in interested_channels(story.event)
        if rng.random() > math.exp(-interest * _appetite(channel, first_post))
    ]
    median_hours = 0.15 if story.burst else 0.6
    dated = sorted(
        (moment_after(channel, first_post.date, median_hours * rng.lognormvariate(0, 1.1)), channel.index)
        for channel in chosen_manners
    )
    posts = [first_post]
    for date, index in dated:
        posts.append(_echo(day, posts, packs().channels[index], date))
    return posts[1:]


def _appetite(channel: Manner, first_post: Planned) -> float:
    """How many posts the channel makes of such a story on average."""
    if channel is first_post.channel:
        return 0.0
    usual_share = channel.per_day * TAKEN_UP / _stories_a_day(channel.topics)
    least_appetite = 0.2 if first_post.story is not None and first_post.story.burst else 0.0
    return max(usual_share, least_appetite) * (
        AT_HOME if channel.language == first_post.channel.language else ABROAD
    )


@cache
def _stories_a_day(topics: tuple[str, ...]) -> float:
    return STORIES_PER_DAY * sum(event.topic in topics for event in packs().events) / len(packs().events)


def _echo(day: Day, posts: Sequence[Planned], channel: Manner, date: int) -> Planned:
    rng, first_post = day.rng, posts[0]
    earlier_posts = [post for post in posts if post.date < date and post.channel.name and not post.denies]
    source = first_post if rng.random() < FROM_THE_FIRST or not earlier_posts else rng.choice(earlier_posts)
    role = _role(channel, source, rng)
    source = source.root
    assert first_post.story is not None
    contradicts = role is Role.REWRITE and rng.random() < CONTRADICTED
    words, is_wrong = source.wording, source.wrong and (source.edit_at is None or date < source.edit_at)
    if role is Role.REWRITE:
        words, is_wrong = (
            wording(day, first_post.story.event, channel, other_than=source.wording),
            is_wrong or contradicts,
        )
    shows, reuse = source.shows, Reuse.ORIGINAL
    if role is not Role.FORWARD:
        reuse = rng.choice(REUSES)
        if shows is Shows.PHOTO and rng.random() < 0.35:
            shows = Shows.NOTHING
        elif shows is Shows.PAGE:
            shows = rng.choice((Shows.PAGE, Shows.NOTHING))
    post = Planned(
        key=day.key(),
        channel=channel,
        date=date,
        role=role,
        kind=Kind.NEWS,
        topic=first_post.topic,
        story=first_post.story,
        source=source,
        wording=words,
        shows=shows,
        reuse=reuse,
        wrong=is_wrong,
        links=source.links if role is Role.FORWARD else rng.random() < 0.2,
    )
    return with_fate(post, rng)


def _role(channel: Manner, source: Planned, rng: random.Random) -> Role:
    if channel.language != source.root.channel.language:
        return Role.FORWARD if rng.random() < 0.08 else Role.TRANSLATION
    forward_count, copy_count, rewrite_count = channel.habits
    return rng.choices(
        (Role.FORWARD, Role.COPY, Role.REWRITE), (2 * forward_count, copy_count, rewrite_count)
    )[0]


def _after(day: Day, posts: Sequence[Planned]) -> Iterator[Planned]:
    """The later posts of a story: another channel denies it, or the story goes on."""
    rng, first_post = day.rng, posts[0]
    assert first_post.story is not None
    words = first_post.story.event.words
    if rng.random() < (0.3 if first_post.channel.is_rumour else CONTRADICTED / 2):
        other = _teller(first_post.story.event, rng)
        yield _later(
            day,
            first_post,
            other,
            HOUR + rng.expovariate(1 / (8 * HOUR)),
            head_index=rng.randrange(len(words["ru"]["deny"])),
            denies=True,
        )
    if rng.random() < CONTINUED:
        turns = rng.sample(range(len(words["ru"]["later"])), rng.choice((1, 1, 2)))
        for turn_index, turn in enumerate(turns):
            for post in islice(rng.sample(list(posts), min(len(posts), 3)), rng.randint(1, 3)):
                delay_seconds = DAY * (0.6 + turn_index * 2 + 2 * rng.random())
                yield _later(day, post, post.channel, delay_seconds, head_index=turn)


def _later(
    day: Day, source: Planned, channel: Manner, delay_seconds: float, *, head_index: int, denies: bool = False
) -> Planned:
    date = moment_after(channel, source.date + int(delay_seconds), day.rng.random())
    shows = Shows.PHOTO if day.rng.random() < 0.2 else Shows.NOTHING
    plain_wording = Wording(head_index, 0, (), None)
    post = Planned(
        day.key(),
        channel,
        date,
        Role.FOLLOW_UP,
        Kind.NEWS,
        source.topic,
        source.story,
        source,
        plain_wording,
        shows=shows,
        reuse=Reuse.RECOMPRESSED,
        denies=denies,
    )
    return with_fate(post, day.rng)


def with_albums(posts: Iterable[Planned], rng: random.Random) -> Iterator[Planned]:
    """Albums are forwarded and repeated as single pictures: what others show of them is the first."""
    for post in posts:
        if post.role in {Role.FIRST, Role.REWRITE, Role.TRANSLATION, Role.NONE}:
            yield from in_album(post, rng)
        else:
            yield post
