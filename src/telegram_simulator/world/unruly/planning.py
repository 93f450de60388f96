"""Plans how the stories of a day spread in the unruly world: second witnesses, named sources, networks and
copyists, turns, numbers that grow, and the same kind of event in the same place a day later.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from telegram_simulator.world.demo.fillers import fillers_of
from telegram_simulator.world.demo.packs import Manner, Name, Numbers
from telegram_simulator.world.demo.plan import (
    DAY,
    HOUR,
    Day,
    Kind,
    Piece,
    Planned,
    Planted,
    Role,
    Story,
    Wording,
    moment_after,
)
from telegram_simulator.world.demo.stories import (
    another_number,
    interested_channels,
    stories_of,
    take_up,
    wording,
)
from telegram_simulator.world.demo.wording import fill_template, number_of
from telegram_simulator.world.unruly.fillers import unruly_fillers
from telegram_simulator.world.unruly.numbers import noun_of, plant_number, say_number
from telegram_simulator.world.unruly.pack import unruly_pack

NUMBER, NAMED_SOURCE, WITNESS, TURN, RISING, SECOND_NIGHT = 0.35, 0.3, 0.2, 0.45, 0.6, 0.12
"""How many posts get a number beside the story's own; how many stories each of the others."""
NETWORK, SISTER, COPYIST = 0.7, 0.7, 0.5
NO_REPLY = 0.55
NO_WORDING = Wording(0, 0, (), None)


def plan_unruly_day(day: Day) -> Iterator[Planned]:
    """Everything that is planned on the day, some of it for later days."""
    posts = [*stories_of(day), *fillers_of(day)]
    by_story: dict[int, list[Planned]] = {}
    for post in posts:
        if post.story is not None:
            by_story.setdefault(post.story.number, []).append(post)
    firsts: list[Planned] = []
    for story_posts in by_story.values():
        for telling in (story_posts, *_second_night(day, story_posts)):
            planted_posts = list(_plant(day, telling))
            firsts.append(planted_posts[0])
            yield from planted_posts
            if len(planted_posts) > 1:
                yield from _spread(day, planted_posts)
                yield from _turn(day, planted_posts)
                yield from _grow(day, planted_posts)
    yield from (_sign(post) for post in posts if post.story is None)
    yield from unruly_fillers(day, firsts)


def _plant(day: Day, posts: Sequence[Planned]) -> Iterator[Planned]:
    """The same posts with what is planted in them; those that repeat one repeat it with all of that."""
    rng = day.rng
    renewed: dict[int, Planned] = {}
    source_number = rng.randrange(6) if rng.random() < NAMED_SOURCE else None
    for post in posts:
        planted_facts = _planting(day, post, source_number)
        source = renewed.get(post.source.key, post.source) if post.source is not None else None
        renewed[post.key] = replace(post, source=source, planted=planted_facts)
        yield renewed[post.key]


def _planting(day: Day, post: Planned, source_number: int | None) -> Planted | None:
    rng, language, texts = day.rng, post.channel.language, unruly_pack().texts
    kinds: list[str] = []
    planted_sentences: list[str] = []
    named_source = dateline = ""
    if post.role in {Role.FIRST, Role.REWRITE}:
        if rng.random() < NUMBER:
            sentence, kind = plant_number(day, post)
            planted_sentences.append(sentence)
            kinds.append(kind)
        if source_number is not None and rng.random() < 0.85:
            planted_sentences.append(texts["sources"][language][source_number])
            named_source = texts["sources"][f"{language}_names"][source_number]
            kinds.append("named source")
        if post.channel.name in texts["datelines"]["channels"] and rng.random() < 0.6:
            dateline = _dateline(post, rng)
            kinds.append("dateline")
    is_reply = not (post.role is Role.FOLLOW_UP and rng.random() < NO_REPLY)
    signature = _signature(post)
    if not (kinds or signature) and is_reply:
        return None
    return Planted(
        kinds=tuple(kinds),
        beside=tuple(planted_sentences),
        dateline=dateline,
        named_source=named_source,
        signature=signature,
        is_reply=is_reply,
    )


def _dateline(post: Planned, rng: random.Random) -> str:
    texts, language = unruly_pack().texts["datelines"], post.channel.language
    assert post.story is not None
    city = post.story.values.get("city")
    city_name = city.spell(language).upper() if isinstance(city, Name) else "NORTHWICK"
    posted_at = datetime.fromtimestamp(post.date, UTC)
    month = texts[f"months_{language}"][posted_at.month - 1]
    day = f"{posted_at.day} {month}" if language == "ru" else f"{month} {posted_at.day}"
    return str(rng.choice(texts[language]).format(city_name, day, rng.choice(texts[f"agencies_{language}"])))


def _signature(post: Planned) -> tuple[Piece, ...]:
    return unruly_pack().signatures.get(post.channel.name, ()) if post.role is not Role.FORWARD else ()


def _sign(post: Planned) -> Planned:
    signature = _signature(post)
    return replace(post, planted=Planted(kinds=(), signature=signature)) if signature else post


def _retelling(
    day: Day,
    channel: Manner,
    date: int,
    story: Story,
    *,
    role: Role,
    source: Planned | None,
    words: Wording = NO_WORDING,
    planted_facts: Planted | None = None,
) -> Planned:
    topic = story.event.topic
    return Planned(
        day.key(),
        channel,
        date,
        role,
        Kind.NEWS,
        topic,
        story,
        source,
        words,
        planted=planted_facts,
        wrong=source.wrong if source is not None and role is Role.COPY else False,
    )


def _story_of(post: Planned) -> Story:
    assert post.story is not None
    return post.story


def _spread(day: Day, posts: Sequence[Planned]) -> Iterator[Planned]:
    """Witnesses, networks and copyists of a story."""
    rng, first_post, story = day.rng, posts[0], _story_of(posts[0])
    pack = unruly_pack()
    if rng.random() < WITNESS and (channel := _outsider(posts, rng)) is not None:
        date = moment_after(channel, first_post.date, 0.5 + rng.random())
        words = wording(day, story.event, channel, other_than=first_post.wording)
        witness = _retelling(day, channel, date, story, role=Role.REWRITE, source=None, words=words)
        planted_facts = _planting(day, witness, rng.randrange(6)) or Planted(kinds=())
        yield replace(witness, planted=replace(planted_facts, kinds=("witness", *planted_facts.kinds)))
    for channels in pack.networks.values():
        members = [channel for channel in channels if story.event.topic in channel.topics]
        if members and members[0].language == first_post.channel.language and rng.random() < NETWORK:
            yield from _by_network(day, first_post, members)
    for agency, copyists in pack.copyists.items():
        original = next((post for post in posts if post.channel.name == agency), None)
        for channel in copyists if original is not None and original.role is not Role.FORWARD else ():
            if rng.random() < COPYIST and original is not None:
                date = original.date + rng.randrange(300, HOUR)
                yield _retelling(day, channel, date, story, role=Role.COPY, source=original)


def _outsider(posts: Sequence[Planned], rng: random.Random) -> Manner | None:
    """A public channel that cares for the story and has not told it, in the language of its first post."""
    tellers = {post.channel.index for post in posts}
    outsiders = [
        channel
        for channel in interested_channels(_story_of(posts[0]).event)
        if channel.name and channel.index not in tellers and channel.language == posts[0].channel.language
    ]
    return rng.choice(outsiders) if outsiders else None


def _by_network(day: Day, first_post: Planned, members: Sequence[Manner]) -> Iterator[Planned]:
    """Any channel of it writes first, in words of its own; sisters repeat it word for word within minutes."""
    rng, story = day.rng, _story_of(first_post)
    teller, *sisters = rng.sample(list(members), len(members))
    posted_seconds = moment_after(teller, first_post.date, 0.1 + rng.expovariate(2))
    words = wording(day, story.event, teller, other_than=first_post.wording)
    retelling = _retelling(
        day, teller, posted_seconds, story, role=Role.REWRITE, source=first_post, words=words
    )
    retelling = replace(retelling, planted=_planting(day, retelling, None))
    yield retelling
    for sister in sisters:
        if rng.random() < SISTER:
            planted_facts = Planted(kinds=("sister",), is_verbatim=True)
            copied_at = posted_seconds + rng.randrange(90, 1200)
            yield _retelling(
                day, sister, copied_at, story, role=Role.COPY, source=retelling, planted_facts=planted_facts
            )


def _turn(day: Day, posts: Sequence[Planned]) -> Iterator[Planned]:
    """The state of the story changes: one channel says so, others repeat it or say it in other words."""
    rng, first_post, story = day.rng, posts[0], _story_of(posts[0])
    turn = unruly_pack().turns.get(story.event.name)
    if turn is None or rng.random() > TURN:
        return
    tellers = [post for post in posts if post.channel.name]
    original: Planned | None = None
    date = max(post.date for post in posts if post.date < first_post.date + DAY) + HOUR
    for earlier_post in rng.sample(tellers, min(len(tellers), rng.randint(1, 4))):
        channel = earlier_post.channel
        date = moment_after(channel, date + rng.randrange(600, 4 * HOUR), rng.random() / 4)
        repeats = (
            original is not None and original.channel.language == channel.language and rng.random() < 0.5
        )
        number = rng.randrange(2)
        sentence = fill_template(turn.words[channel.language][number], story.values, channel.language, rng)
        planted_facts = Planted(
            kinds=("turn",),
            sentences=original.planted.sentences
            if repeats and original and original.planted
            else (sentence,),
            state=turn.state,
            signature=_signature(earlier_post),
            repeats=repeats,
            is_reply=rng.random() > NO_REPLY,
        )
        source = original if repeats else earlier_post
        post = _retelling(
            day, channel, date, story, role=Role.FOLLOW_UP, source=source, planted_facts=planted_facts
        )
        original = original or post
        yield post


def _grow(day: Day, posts: Sequence[Planned]) -> Iterator[Planned]:
    """The key number rises, and later posts say that it did."""
    rng, first_post, story = day.rng, posts[0], _story_of(posts[0])
    rising = unruly_pack().texts["rising"]
    key = story.event.key
    value = story.values[key]
    if story.event.name not in rising["events"] or not isinstance(value, int) or rng.random() > RISING:
        return
    date = first_post.date
    for _ in range(2):
        earlier_post = rng.choice([post for post in posts if post.channel.name])
        channel, language = earlier_post.channel, earlier_post.channel.language
        forms = noun_of(story.event, language)
        value += rng.randrange(2, 8)
        if forms is None or value == story.wrong[key]:
            return
        heads = [
            head_text for head_text in story.event.words[language]["head"] if f"{{{key}" not in head_text
        ]
        head_text = fill_template(heads[rng.randrange(len(heads))], story.values, language, rng)
        number = say_number(value, forms, language)
        noun = number.partition(" ")[2]
        date = moment_after(channel, date + rng.randrange(HOUR, 5 * HOUR), rng.random() / 4)
        planted_facts = Planted(
            kinds=("rising",),
            sentences=(rng.choice(rising[language]).format(head_text, value, noun),),
            state=f"{key} {value}",
            signature=_signature(earlier_post),
            is_reply=rng.random() > NO_REPLY,
        )
        yield _retelling(
            day, channel, date, story, role=Role.FOLLOW_UP, source=earlier_post, planted_facts=planted_facts
        )


def _second_night(day: Day, posts: Sequence[Planned]) -> Iterable[list[Planned]]:
    """The same kind of event in the same place a day later, with other numbers: another story."""
    rng, first_post, story = day.rng, posts[0], _story_of(posts[0])
    if len(posts) < 2 or rng.random() > SECOND_NIGHT:
        return
    values = {
        slot: value if isinstance(value, Name) else _redrawn(story, slot, rng)
        for slot, value in story.values.items()
    }
    key, date = day.key(), first_post.date + DAY + rng.randrange(-3 * HOUR, 3 * HOUR)
    wrong = {**values, story.event.key: another_number(story.event, values[story.event.key], rng)}
    story_id = f"{day.number}-{key // 16 % 62_500}"
    second_story = Story(
        story_id, key, story.event, values, wrong, date, burst=False, resembles=story.story_id
    )
    other = replace(
        first_post,
        key=key,
        date=date,
        story=second_story,
        wording=wording(day, story.event, first_post.channel),
        wrong=False,
        edit=None,
        edit_at=None,
        deleted_at=None,
    )
    yield [other, *take_up(day, other)]


def _redrawn(story: Story, slot: str, rng: random.Random) -> int | float:
    numbers = story.event.slots[slot]
    assert isinstance(numbers, Numbers)
    return number_of(numbers, rng)
