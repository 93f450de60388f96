"""The demo world: stories that spread, and a truth that knows them."""

import asyncio
import random
import re
from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

import pytest

from telegram_simulator.control.operations import Control
from telegram_simulator.control.seeing import truth
from telegram_simulator.living import live_at_pace, live_on_plan
from telegram_simulator.mtproto.crypto import RsaKey
from telegram_simulator.simulator import Options, Simulator
from telegram_simulator.world.demo.demo import DAYS, Demo
from telegram_simulator.world.demo.journal import Journal
from telegram_simulator.world.demo.packs import LANGUAGES, packs
from telegram_simulator.world.demo.plan import DAY, HOUR, Edit, Kind, Planned, Role
from telegram_simulator.world.demo.texts import core_of, text_of, values_of, version_at
from telegram_simulator.world.demo.timeline import Act
from telegram_simulator.world.demo.wording import draw_values, fill_template
from telegram_simulator.world.post import Photo, Service
from telegram_simulator.world.world import World
from testkit.cpu_time import cpu_limit

NOW = 1_794_700_000


@pytest.fixture(scope="module")
def demo() -> Demo:
    return Demo(seed=1, present=NOW, clock=lambda: NOW)


@pytest.fixture(scope="module")
def posts(demo: Demo) -> list[Planned]:
    return [post for past in demo.pasts for post in past.posts]


def text(post: Planned, version: int = 0) -> str:
    return text_of(post, version, site="https://news.example").text


def test_every_sentence_can_be_said_in_both_languages() -> None:
    rng = random.Random(1)
    sources = [
        (event.slots, language, [phrase for part in event.words[language].values() for phrase in part])
        for event in packs().events
        for language in LANGUAGES
    ]
    fillers = [packs().advertising, *packs().daily.values()]
    sources += [
        (filler.slots, language, list(filler.texts[language])) for filler in fillers for language in LANGUAGES
    ]
    for slots, language, sentences in sources:
        for sentence in sentences:
            for _ in range(5):
                made = fill_template(sentence, draw_values(slots, rng), language, rng)
                assert not re.search(r"[{}\[\]|]|  | ,|\.\.", made), made
                assert language == "ru" or not re.search("[а-яё]", made, re.IGNORECASE), made


@pytest.mark.parametrize(
    ("count", "noun"),
    [
        (1, "1 дом"),
        (2, "2 дома"),
        (5, "5 домов"),
        (11, "11 домов"),
        (12, "12 домов"),
        (21, "21 дом"),
        (112, "112 домов"),
    ],
)
def test_a_russian_noun_agrees_with_its_number(count: int, noun: str) -> None:
    assert fill_template("{n:дом|дома|домов}", {"n": count}, "ru", random.Random(1)) == noun


def test_there_are_channels_with_character(demo: Demo) -> None:
    manners = packs().channels
    assert len(manners) >= 40
    assert {manner.language for manner in manners} == set(LANGUAGES)
    assert sum(manner.is_rumour for manner in manners) == 2
    assert sum(manner.ads >= 0.5 for manner in manners) == 2
    private = [channel for channel in demo.channels if channel.is_private]
    assert [channel.invite for channel in private] == ["kRug7nab1udat"]
    assert len({manner.name for manner in manners}) == len(manners)


def test_history_is_two_weeks_long_in_order_and_never_in_the_future(demo: Demo) -> None:
    for past in demo.pasts:
        dates = [post.date for post in past.posts]
        assert all(earlier <= later for earlier, later in pairwise(dates))
        assert dates[0] >= NOW - 14 * DAY
        assert dates[-1] <= NOW


def test_two_weeks_are_planned_within_two_seconds_of_work() -> None:
    packs()
    with cpu_limit(2):
        Demo(seed=3, present=NOW, clock=lambda: NOW)


def test_the_measuring_size_is_large_enough() -> None:
    measuring = Demo(seed=1, present=NOW, clock=lambda: NOW, days=DAYS["measuring"])
    assert sum(len(past.posts) for past in measuring.pasts) >= 20_000
    spread = [story for story in measuring.stories() if len(story["posts"]) > 1]
    assert len(spread) >= 500


def test_a_forward_says_what_its_origin_said_at_that_moment(demo: Demo, posts: list[Planned]) -> None:
    forwards = [post for post in posts if post.role is Role.FORWARD]
    assert len(forwards) > 400
    for post in forwards:
        assert post.root.role is not Role.FORWARD
        assert post.root.date < post.date
        assert text(post) == text(post.root, version_at(post.root, post.date))
    forward = demo.channel_of(forwards[-1]).get(demo.ids[forwards[-1].key])
    assert forward is None or (
        forward.origin is not None
        and (forward.origin.channel_id, forward.origin.message_id) == demo.where(forwards[-1].root)
    )


def test_copies_are_close_rewrites_are_not_and_translations_are_in_the_other_language(
    posts: list[Planned],
) -> None:
    def likeness(post: Planned) -> float:
        assert post.source is not None
        mine, other = core_of(post, 0), core_of(post.source, version_at(post.source, post.date))
        return SequenceMatcher(
            None, " ".join(mine.sentences[:1]), " ".join(other.sentences[:1]), autojunk=False
        ).ratio()

    copies = [likeness(post) for post in posts if post.role is Role.COPY]
    rewrites = [likeness(post) for post in posts if post.role is Role.REWRITE]
    assert min(copies) > 0.8
    assert sorted(rewrites)[len(rewrites) // 2] < 0.7
    assert max(rewrites) < 0.97
    for post in posts:
        if post.role is Role.TRANSLATION and post.source is not None:
            assert post.channel.language != post.source.channel.language
            cyrillic = bool(re.search("[а-яё]", core_of(post, 0).sentences[0], re.IGNORECASE))
            assert cyrillic is (post.channel.language == "ru")


def test_contradictions_say_another_number_and_corrections_the_true_one(posts: list[Planned]) -> None:
    wrong = [post for post in posts if post.wrong and post.story is not None]
    assert len(wrong) > 50
    for post in wrong:
        assert post.story is not None
        key = post.story.event.key
        assert values_of(post, 0)[key] != post.story.values[key]
        if post.edit is Edit.CORRECTION:
            assert values_of(post, 1)[key] == post.story.values[key]
    assert sum(post.denies for post in posts) > 20


def test_different_events_look_alike(demo: Demo) -> None:
    stories = {story["story"]: story for story in demo.stories()}
    alike = [story for story in stories.values() if story["resembles"] in stories]
    assert len(alike) > 50
    for story in alike:
        other = stories[story["resembles"]]
        assert story["event"] == other["event"]
        assert (story["entities"], story["facts"]) != (other["entities"], other["facts"])


def test_bursts_are_planted_and_larger_than_what_is_usual(demo: Demo) -> None:
    sizes: dict[bool, list[int]] = {True: [], False: []}
    for story in demo.stories():
        if len(story["posts"]) > 1 or story["burst"]:
            sizes[story["burst"]].append(len(story["posts"]))
    assert len(sizes[True]) == 28
    assert sum(sizes[True]) / len(sizes[True]) > 1.5 * sum(sizes[False]) / len(sizes[False])


def test_a_reader_of_one_language_hardly_meets_the_same_sentences_twice_a_day(posts: list[Planned]) -> None:
    """Advertising repeats itself; that is its nature."""
    met: Counter[tuple[object, ...]] = Counter()
    for post in posts:
        if post.part == 0 and post.role in {Role.FIRST, Role.NONE} and post.kind in {Kind.NEWS, Kind.OPINION}:
            day = (post.date // DAY, post.channel.language)
            if post.story is not None:
                met[*day, post.story.event.name, post.wording.head, post.wording.lead] += 1
            elif post.filling is not None and post.filling.poll is None:
                met[*day, post.filling.template] += 1
    again = sum(count - 1 for count in met.values())
    assert again / met.total() < 0.03


def test_albums_have_consecutive_ids_one_date_and_one_caption(demo: Demo) -> None:
    groups: dict[int, list[int]] = {}
    for channel in demo.channels[:8]:
        for number in range(2, channel.newest_id + 1):
            post = channel.get(number)
            if post is not None and post.grouped_id is not None:
                groups.setdefault(post.grouped_id, []).append(number)
    whole = [numbers for numbers in groups.values() if len(numbers) > 1]
    assert len(whole) > 20
    assert all(numbers == list(range(numbers[0], numbers[0] + len(numbers))) for numbers in whole)


def test_truth_tells_of_every_post_what_it_is(demo: Demo) -> None:
    world = World(seed=1, clock=lambda: NOW, channels=demo.channels, stories=demo.stories)
    all_posts = list(truth(world))
    assert len(all_posts) == sum(channel.newest_id for channel in demo.channels)
    assert {post["role"] for post in all_posts} == {role.value for role in Role}
    assert {post["kind"] for post in all_posts} == {kind.value for kind in Kind}
    edited, deleted = (
        [post for post in all_posts if len(post["versions"]) > 1],
        [post for post in all_posts if post["deleted_at"]],
    )
    assert all(post["versions"][0]["text"] != post["versions"][1]["text"] for post in edited)
    assert {post["edit"]["why"] for post in edited} == {edit.value for edit in Edit}
    assert len(deleted) > 50
    assert sum(post["article"] is not None for post in all_posts) > 500
    assert all(post["language"] in LANGUAGES and post["topic"] for post in all_posts)
    named = next(post for post in all_posts if post["entities"])
    assert set(named["entities"][0]) == {"kind", "ru", "en"}


def test_service_messages_polls_pages_and_pictures_are_among_the_posts(demo: Demo) -> None:
    all_posts = [
        channel.get(number) for channel in demo.channels for number in range(1, channel.newest_id + 1)
    ]
    kinds = Counter(type(post.media).__name__ for post in all_posts if post is not None)
    assert {"Photo", "Document", "WebPage", "Poll"} <= set(kinds)
    assert {post.service for post in all_posts if post is not None} == {None, Service.CREATED, Service.PINNED}


def test_a_picture_that_is_forwarded_stays_the_same_file_and_one_that_is_taken_over_does_not(
    demo: Demo, posts: list[Planned]
) -> None:
    def file_id(post: Planned) -> int | None:
        media = demo.pasts[post.channel.index].post(demo.ids[post.key] - 1, 1).media
        return media.file.file_id if isinstance(media, Photo) else None

    with_photo = [
        post for post in posts if post.source is not None and post.shows == "photo" and post.part == 0
    ]
    forwards = [post for post in with_photo if post.role is Role.FORWARD and post.root.shows == "photo"][:20]
    copies = [
        post
        for post in with_photo
        if post.role is Role.COPY and post.source and post.reuse != post.source.reuse
    ][:20]
    assert all(file_id(post) == file_id(post.root) for post in forwards)
    assert all(file_id(post) != file_id(post.source) for post in copies if post.source is not None)


async def test_the_world_lives_on_as_if_it_had_been_built_later(rsa_key: RsaKey) -> None:
    moment = [NOW - 6 * HOUR]
    living = Demo(seed=1, present=NOW, clock=lambda: moment[0], days=2)
    later = Demo(seed=1, present=NOW, clock=lambda: NOW, days=2)
    simulator = Simulator(
        World(seed=1, clock=lambda: moment[0], channels=living.channels), rsa_key, Options(limits={})
    )
    life = asyncio.create_task(live_on_plan(simulator, living))
    moment[0] = NOW
    async with asyncio.timeout(60):
        while living.timeline.next_at() <= NOW:
            await asyncio.sleep(0.02)
    life.cancel()

    def list_truth(demo: Demo) -> list[tuple[object, ...]]:
        lines = truth(World(seed=1, clock=lambda: NOW, channels=demo.channels))
        return [
            (
                line["channel_id"],
                line["message_id"],
                line["date"],
                line["story"],
                line["text"],
                line["deleted_at"] is None,
            )
            for line in lines
        ]

    assert simulator.counters.posts_live > 50
    assert list_truth(living) == list_truth(later)


async def test_a_world_at_a_pace_continues_from_its_journal(rsa_key: RsaKey, tmp_path: Path) -> None:
    journal, moment = Journal(tmp_path / "journal"), [NOW]

    def at_pace(steps: list[int]) -> Demo:
        return Demo(seed=1, present=NOW, clock=lambda: moment[0], days=2, steps=steps)

    def list_truth(demo: Demo) -> list[tuple[object, ...]]:
        lines = truth(World(seed=1, clock=lambda: moment[0], channels=demo.channels))
        return [
            (line["channel_id"], line["message_id"], line["date"], line["text"], line["deleted_at"])
            for line in lines
        ]

    living = at_pace(journal.steps)
    before = list_truth(living)
    simulator = Simulator(
        World(seed=1, clock=lambda: moment[0], channels=living.channels), rsa_key, Options(limits={})
    )

    life = asyncio.create_task(live_at_pace(simulator, living, seconds=0.0, before_step=journal.add))
    for _ in range(300):
        moment[0] += 60
        await asyncio.sleep(0)
    life.cancel()
    with (tmp_path / "journal").open("a", encoding="ascii") as lines:
        lines.write("17")  # a step that was not written to its end

    steps = Journal(tmp_path / "journal").steps
    after = list_truth(at_pace(steps))
    assert after == list_truth(living)
    assert {line[:2] for line in before} <= {line[:2] for line in after}
    new = [line for line in after if line[2] > NOW]  # type: ignore[operator]  # a date
    assert len(new) > 200
    assert {line[2] for line in new} <= set(steps)
    assert any(line[4] is not None and line[4] > NOW for line in after)  # type: ignore[operator]  # a date


def test_what_others_post_in_between_shifts_ids_and_nothing_else(rsa_key: RsaKey) -> None:
    demo = Demo(seed=1, present=NOW, clock=lambda: NOW, days=2)
    control = Control(
        Simulator(World(seed=1, clock=lambda: NOW, channels=demo.channels), rsa_key, Options(limits={}))
    )
    channel = demo.channels[0]
    stranger = control.post(channel.channel_id, "чужое")
    happening = next(
        event
        for event in demo.timeline.until(NOW + DAY)
        if event.act is Act.POST and event.post.channel.index == 0 and event.post.story is not None
    )
    control.publish_foretold(channel, demo.publish(happening.post, channel.newest_id + 1))
    assert channel.newest_id == stranger.message_id + 1
    assert channel.about(stranger.message_id) == {}
    assert happening.post.story is not None
    assert channel.about(channel.newest_id)["story"] == happening.post.story.story_id
