"""Stories from links: laws of the partition and of ids, and what counts as a copy."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.similarity import Look
from telegram_assistant.domain.stories.assignment import assign
from telegram_assistant.domain.stories.pairs import compare
from telegram_assistant.domain.stories.partition import connected, partition
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


def told(number: int, text: str, *, is_private: bool = False) -> WeighedPost:
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
    parts = connected(list(POSTS), drawn_links)
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
    same = compare(told(1, text.format(5)), told(2, f"Срочно! {text.format(5)}"), TermWeights())
    assert same is not None
    assert same.kind is LinkKind.COPY
    other = compare(told(1, text.format(5)), told(2, text.format(12)), TermWeights())
    assert other is None or other.kind is not LinkKind.COPY


def test_it_does_not_matter_which_of_two_posts_is_compared_with_the_other() -> None:
    text = "На пожаре в Школьном переулке в Нортвике пострадали 5 человек, горит склад с бытовой техникой{}"
    shorter, longer = (
        told(1, text.format("")),
        told(2, text.format(" на 300 метрах").replace("На пожаре", "Пожар")),
    )
    pairs = (shorter.terms.pairs | longer.terms.pairs) - (shorter.terms.pairs ^ longer.terms.pairs)
    first, other = (replace(each, terms=replace(each.terms, pairs=pairs)) for each in (shorter, longer))
    assert compare(first, other, TermWeights()) == compare(other, first, TermWeights())


def test_two_private_channels_are_never_compared() -> None:
    text = "В Нортвике горит склад компании «Стройгрань», пострадали 4 человека"
    assert compare(told(1, text, is_private=True), told(2, text, is_private=True), TermWeights()) is None


def shown(number: int, text: str, seen: str) -> WeighedPost:
    terms = replace(
        terms_of(text, seen=seen), looks=(Look(coarse=0x0F1E2D3C4B5A6978, fine=0x1234567890ABCDEF << 64),)
    )
    return weigh(post(number), at(number), terms, TermWeights(), is_private=False, username=0, terms_hash=0)


def test_the_same_picture_joins_posts_and_a_notice_of_the_same_kind_does_not() -> None:
    notice = "Внимание! Отключение воды до вечера. Ремонт магистрали. Лесная улица, 100 домов"
    first = shown(1, "Авария на водопроводе в Туманске.", notice)
    again = shown(2, "Вот и приехали, соседи.", notice)
    other = shown(
        3,
        "Авария на водопроводе в Нортвике.",
        "Внимание! Отключение воды до вечера. Ремонт магистрали. Садовая улица, 180 домов",
    )
    joined = compare(again, first, TermWeights())
    assert joined is not None
    assert joined.kind is LinkKind.PICTURE
    assert compare(other, first, TermWeights()) is None
