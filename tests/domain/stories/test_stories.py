"""Stories from links: laws of the partition and of ids, and what counts as a copy."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.similarity import Look
from telegram_assistant.domain.stories.assignment import assign
from telegram_assistant.domain.stories.pairs import compare, side_of
from telegram_assistant.domain.stories.partition import find_connected_parts, partition
from telegram_assistant.domain.stories.story import Link, LinkKind, StoryId
from telegram_assistant.domain.stories.terms import TermWeights, WeighedPost, weigh
from telegram_assistant.language.terms import terms_of

NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def post(number: int) -> PostId:
    return PostId(ChannelId(number), MessageId(1))


def link(
    first: int, other: int, score: float = 1.0, kind: LinkKind = LinkKind.REWRITE, *, is_leaf: bool = False
) -> Link:
    later, earlier = max(first, other), min(first, other)
    return Link(post(later), post(earlier), kind, score, at(later), at(earlier), is_leaf)


def at(number: int) -> datetime:
    return NOON + timedelta(minutes=number)


def make_weighed(number: int, text: str, *, is_private: bool = False) -> WeighedPost:
    return weigh(
        post(number),
        at(number),
        terms_of(text),
        TermWeights(),
        is_private=is_private,
        username=0,
        terms_hash=0,
    )


numbers = st.integers(1, 9)
links = st.lists(
    st.builds(
        lambda pair, score, kind: link(pair[0], pair[1], score, kind),
        st.tuples(numbers, numbers).filter(lambda pair: pair[0] != pair[1]),
        st.integers(1, 5).map(float),
        st.sampled_from([LinkKind.REWRITE, LinkKind.COPY, LinkKind.FORWARD]),
    ),
    max_size=15,
    unique_by=lambda build: (build.post, build.other),
)
POSTS = {post(number): at(number) for number in range(1, 10)}


@given(links, st.data())
def test_the_order_of_links_does_not_change_stories(drawn_links: list[Link], data: st.DataObject) -> None:
    assert partition(POSTS, data.draw(st.permutations(drawn_links))) == partition(POSTS, drawn_links)


@given(links)
def test_every_post_is_in_one_story_and_stories_are_connected(drawn_links: list[Link]) -> None:
    groups = partition(POSTS, drawn_links)
    assert sorted(post_id for group in groups for post_id in group) == sorted(POSTS)
    parts = find_connected_parts(list(POSTS), drawn_links)
    assert all(any(group <= part for part in parts) for group in groups)


@given(links)
def test_certain_links_hold(drawn_links: list[Link]) -> None:
    groups = partition(POSTS, drawn_links)
    assert all(
        any({edge.post, edge.other} <= group for group in groups)
        for edge in drawn_links
        if edge.kind.is_certain
    )


def test_one_link_between_many_posts_does_not_make_one_story() -> None:
    left = [link(number, other, 3.0) for number in range(1, 5) for other in range(1, number)]
    right = [link(number, other, 3.0) for number in range(5, 9) for other in range(5, number)]
    assert len(partition({post(n): at(n) for n in range(1, 9)}, [*left, *right, link(4, 5)])) == 2


def test_a_private_post_is_in_one_story_and_joins_no_others() -> None:
    groups = partition(
        {post(n): at(n) for n in (1, 2, 3)},
        [link(3, 1, 2.0, is_leaf=True), link(3, 2, 3.0, is_leaf=True)],
        {post(3)},
    )
    assert groups == [frozenset({post(1)}), frozenset({post(2), post(3)})]


def test_a_story_keeps_its_id_where_most_of_it_survives() -> None:
    first, other, fresh = (StoryId(UUID(int=number)) for number in (1, 2, 3))
    known = {post(1): first, post(2): first, post(3): first, post(4): other}
    split = assign(
        [frozenset({post(1)}), frozenset({post(2), post(3)}), frozenset({post(4)})], known, lambda: fresh
    )
    assert [split.stories[post(number)] for number in range(1, 5)] == [fresh, first, first, other]
    merged = assign([frozenset(map(post, range(1, 5)))], known, lambda: fresh)
    assert (set(merged.stories.values()), merged.merged) == ({first}, {other: first})


def test_the_same_words_with_another_number_are_no_copy() -> None:
    text = "На пожаре в Школьном переулке в Нортвике пострадали {} человек, горит склад с бытовой техникой"
    same = compare(
        make_weighed(1, text.format(5)), make_weighed(2, f"Срочно! {text.format(5)}"), TermWeights()
    )
    assert same is not None
    assert same.kind is LinkKind.COPY
    other = compare(make_weighed(1, text.format(5)), make_weighed(2, text.format(12)), TermWeights())
    assert other is None or other.kind is not LinkKind.COPY


def kind_of(text: str, other: str) -> LinkKind | None:
    joined = compare(make_weighed(1, text), make_weighed(2, other), TermWeights())
    return joined.kind if joined else None


def test_a_short_text_without_names_is_a_copy_if_all_its_words_are_the_same() -> None:
    text = "Открыта запись на бесплатную прививку"
    assert kind_of(text, f"⚡️ {text}!") is LinkKind.COPY
    assert kind_of(text, "Открыта запись на бесплатную экскурсию") is not LinkKind.COPY
    assert kind_of("Доброе утро", "Доброе утро") is not LinkKind.COPY


def test_most_words_of_both_texts_make_a_copy_where_no_name_or_number_contradicts() -> None:
    text = (
        "Учёные нашли способ хранить лекарства без холода, испытания прошли успешно и продолжатся {} весной"
    )
    assert kind_of(text.format("этой"), text.format("будущей")) is LinkKind.COPY
    assert kind_of(text.format("в Нортвике"), text.format("в Олдрене")) is not LinkKind.COPY


def test_a_place_and_a_number_in_common_are_no_event_in_common() -> None:
    closed = "Троллейбусный мост в Нортвике закрыт из-за просадки въезда, дорожникам нужно 11 дней"
    crash = "Под Нортвиком столкнулись 11 машин, виноват туман, грузовик с фруктами перевернулся на обочину"
    again = "Мост в Нортвике закрыт на 11 дней: просел въезд, троллейбусный маршрут изменят"
    assert kind_of(closed, crash) is None
    assert kind_of(closed, again) is LinkKind.REWRITE
    address = " https://news.example/bridge"
    assert kind_of(closed + address, crash + address) is not None


def test_a_copy_stays_one_where_all_its_words_are_common_and_what_was_added_is_rare() -> None:
    text = "На пожаре в Школьном переулке в Нортвике пострадали 5 человек, горит склад с бытовой техникой"
    weights = TermWeights(dict.fromkeys(terms_of(text).words, 0.1), 6.0)
    first, longer = (
        weigh(post(n), at(n), terms_of(words), weights, is_private=False, username=0, terms_hash=0)
        for n, words in ((1, text), (2, f"{text}. Подробности уточняем, следите за обновлениями"))
    )
    joined = compare(first, longer, weights)
    assert joined is not None
    assert joined.kind is LinkKind.COPY


def test_a_retelling_with_most_of_the_words_is_linked_however_common_they_are() -> None:
    text = "На Заводской улице в Нортвике горит склад «Стройгрань», тушат 16 расчётов, пострадали 4 человека"
    again = "Склад «Стройгрань» на Заводской улице в Нортвике тушат 16 расчётов, 4 пострадавших увезли медики"
    weights = TermWeights(dict.fromkeys(terms_of(text).words, 0.1), 6.0)
    first, other = (
        weigh(post(n), at(n), terms_of(words), weights, is_private=False, username=0, terms_hash=0)
        for n, words in ((1, text), (2, again))
    )
    assert compare(first, other, weights) is not None


def test_a_notice_of_another_day_is_another_story_and_a_new_toll_of_the_same_day_is_not() -> None:
    notice = "Небо сегодня: Луна освещена на {} %, станция пройдёт после 7 утра низко над югом Нортвика"
    first, other = (make_weighed(number, notice.format(share)) for number, share in ((1, 58), (2, 93)))
    assert compare(first, other, TermWeights()) is not None
    assert compare(first, replace(other, posted_at=NOON + timedelta(days=1)), TermWeights()) is None
    unchanged = replace(make_weighed(2, notice.format(58)), posted_at=NOON + timedelta(days=1))
    assert compare(first, unchanged, TermWeights()) is not None


def test_a_speaker_behind_a_dash_at_the_end_is_a_name() -> None:
    assert terms_of("Цены на проезд не вырастут — Песков").names == terms_of("Об этом заявил Песков").names


def test_a_text_of_unknown_language_is_compared_as_one_of_the_same_language() -> None:
    known = make_weighed(1, "Northwick council denies the blackout was caused by an experiment")
    unknown = make_weighed(2, "Northwick council denies blackout caused by experiment")
    unknown = replace(unknown, terms=replace(unknown.terms, language=""))
    assert known.terms.language == "en"
    assert side_of(known, unknown) == side_of(unknown, known) == "en"
    russian = make_weighed(3, "В Нортвике отключили свет")
    assert side_of(russian, unknown) == "ru"
    assert side_of(russian, known) == "across"


def test_it_does_not_matter_which_of_two_posts_is_compared_with_the_other() -> None:
    text = "На пожаре в Школьном переулке в Нортвике пострадали 5 человек, горит склад с бытовой техникой{}"
    shorter, longer = (
        make_weighed(1, text.format("")),
        make_weighed(2, text.format(" на 300 метрах").replace("На пожаре", "Пожар")),
    )
    pairs = (shorter.terms.pairs | longer.terms.pairs) - (shorter.terms.pairs ^ longer.terms.pairs)
    first, other = (replace(each, terms=replace(each.terms, pairs=pairs)) for each in (shorter, longer))
    assert compare(first, other, TermWeights()) == compare(other, first, TermWeights())


def test_two_private_channels_are_never_compared() -> None:
    text = "В Нортвике горит склад компании «Стройгрань», пострадали 4 человека"
    assert (
        compare(make_weighed(1, text, is_private=True), make_weighed(2, text, is_private=True), TermWeights())
        is None
    )


def make_weighed_picture(number: int, text: str, seen: str) -> WeighedPost:
    terms = replace(
        terms_of(text, seen=seen), looks=(Look(coarse=0x0F1E2D3C4B5A6978, fine=0x1234567890ABCDEF << 64),)
    )
    return weigh(post(number), at(number), terms, TermWeights(), is_private=False, username=0, terms_hash=0)


def test_the_same_picture_joins_posts_and_a_notice_of_the_same_kind_does_not() -> None:
    notice = "Внимание! Отключение воды до вечера. Ремонт магистрали. Лесная улица, 100 домов"
    first = make_weighed_picture(1, "Авария на водопроводе в Туманске.", notice)
    again = make_weighed_picture(2, "Вот и приехали, соседи.", notice)
    other = make_weighed_picture(
        3,
        "Авария на водопроводе в Нортвике.",
        "Внимание! Отключение воды до вечера. Ремонт магистрали. Садовая улица, 180 домов",
    )
    joined = compare(again, first, TermWeights())
    assert joined is not None
    assert joined.kind is LinkKind.PICTURE
    assert compare(other, first, TermWeights()) is None
