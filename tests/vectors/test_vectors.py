"""The behaviour of every vector store, embedded or a server."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.search.query import Has
from telegram_assistant.vectors.protocol import Hit, Reach, Space, VectorQuery, Vectors
from tests.vectors.conftest import directions, make_point

LOCAL = Reach(local=frozenset({ChannelId(1), ChannelId(2)}))


def ids(hits: tuple[Hit, ...]) -> list[str]:
    return [str(hit.post_id) for hit in hits]


async def test_the_nearest_comes_first_and_is_the_same_post(vectors: Vectors, space: Space) -> None:
    given = directions(1)
    points = [make_point(1, number, next(given)) for number in range(1, 30)]
    await vectors.upsert(space.collection(1), points)
    hits = await vectors.search(space, VectorQuery(vector=points[6].vector, reach=LOCAL, limit=3))
    assert hits[0].post_id == points[6].post_id
    assert hits[0].score == pytest.approx(1, abs=0.02)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert await vectors.count(space.collection(1)) == 29


async def test_a_post_is_one_point_however_often_it_is_written(vectors: Vectors, space: Space) -> None:
    first, second = (vector for vector, _ in zip(directions(2), range(2), strict=False))
    await vectors.upsert(space.collection(1), [make_point(1, 1, first, lang="ru")])
    await vectors.upsert(space.collection(1), [make_point(1, 1, second, lang="en")])
    hits = await vectors.search(space, VectorQuery(vector=second, reach=LOCAL, limit=5, languages=("en",)))
    assert ids(hits) == ["1/1"]
    assert hits[0].score == pytest.approx(1, abs=0.02)
    assert (
        await vectors.search(space, VectorQuery(vector=second, reach=LOCAL, limit=5, languages=("ru",))) == ()
    )


async def test_nothing_is_found_outside_of_the_channels_that_are_reached(
    vectors: Vectors, space: Space
) -> None:
    vector = next(directions(3))
    await vectors.upsert(
        space.collection(1), [make_point(channel, 1, vector) for channel in (1, 2, 3, 1 << 40)]
    )
    assert set(ids(await vectors.search(space, VectorQuery(vector=vector, reach=LOCAL, limit=10)))) == {
        "1/1",
        "2/1",
    }
    assert await vectors.search(space, VectorQuery(vector=vector, reach=Reach(), limit=10)) == ()
    assert (
        await vectors.search(space, VectorQuery(vector=vector, reach=Reach(), limit=10, without_ads=True))
        == ()
    )
    assert len(await vectors.search(space, VectorQuery(vector=vector, reach=None, limit=10))) == 4


@pytest.mark.parametrize("limits", [{}, {"without_ads": True}, {"since": datetime(2026, 11, 3, tzinfo=UTC)}])
async def test_each_channel_is_found_from_the_beginning_of_its_window_on(
    vectors: Vectors, space: Space, limits: dict[str, Any]
) -> None:
    vector, first = next(directions(13)), datetime(2026, 11, 1, tzinfo=UTC)
    points = [
        make_point(channel, number, vector, at=int((first + timedelta(days=number)).timestamp()))
        for channel in (1, 2, 3)
        for number in range(1, 6)
    ]
    await vectors.upsert(space.collection(1), points)
    begins = {ChannelId(1): first + timedelta(days=2), ChannelId(3): first + timedelta(days=4)}
    reach = Reach(
        local=frozenset({ChannelId(1), ChannelId(2)}), provider=frozenset({ChannelId(3)}), since=begins
    )
    hits = await vectors.search(space, VectorQuery(vector=vector, reach=reach, limit=50, **limits))
    least = 2 if "since" in limits else 1
    expected = {
        (channel, number)
        for channel, since in ((1, 2), (2, 1), (3, 4))
        for number in range(max(least, since), 6)
    }
    assert {(hit.post_id.channel_id, hit.post_id.message_id) for hit in hits} == expected


async def test_what_is_deleted_is_not_found_and_may_be_deleted_again(vectors: Vectors, space: Space) -> None:
    vector = next(directions(4))
    points = [make_point(1, number, vector) for number in (1, 2)]
    await vectors.upsert(space.collection(1), points)
    for _ in range(2):
        await vectors.delete(space.collection(1), [points[0].post_id])
    assert ids(await vectors.search(space, VectorQuery(vector=vector, reach=LOCAL, limit=5))) == ["1/2"]


async def test_facts_limit_what_is_found(vectors: Vectors, space: Space) -> None:
    vector = next(directions(5))
    at = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp())
    await vectors.upsert(
        space.collection(1),
        [
            make_point(
                1,
                1,
                vector,
                at=at,
                lang="ru",
                flags=["image"],
                tags_local=["снег", "город"],
                topic_local="погода",
                kind_local="news",
            ),
            make_point(
                1,
                2,
                vector,
                at=at + 3600,
                lang="en",
                flags=["link", "ad_local"],
                tags_local=["snow"],
                kind_local="opinion",
            ),
        ],
    )

    async def search_ids(**limits: Any) -> list[str]:
        return sorted(
            ids(await vectors.search(space, VectorQuery(vector=vector, reach=LOCAL, limit=5, **limits)))
        )

    moment = datetime(2026, 11, 1, 1, tzinfo=UTC)
    assert await search_ids(since=moment) == ["1/2"]
    assert await search_ids(until=moment) == ["1/1"]
    assert await search_ids(since=moment - timedelta(hours=1), until=moment + timedelta(hours=1)) == [
        "1/1",
        "1/2",
    ]
    assert await search_ids(languages=("en", "de")) == ["1/2"]
    assert await search_ids(has=(Has.IMAGE,)) == ["1/1"]
    assert await search_ids(has=(Has.LINK,)) == ["1/2"]
    assert await search_ids(tags=("город", "чай")) == ["1/1"]
    assert await search_ids(topics=("погода",)) == ["1/1"]
    assert await search_ids(kinds=("opinion",)) == ["1/2"]
    assert await search_ids(without_ads=True) == ["1/1"]
    assert await search_ids(tags=("снег",), has=(Has.LINK,)) == []


async def test_a_providers_understanding_counts_only_for_who_may_see_it(
    vectors: Vectors, space: Space
) -> None:
    vector = next(directions(6))
    both = make_point(
        1, 1, vector, flags=["by_provider", "ad_provider"], tags_local=["снег"], tags_provider=["авария"]
    )
    await vectors.upsert(space.collection(1), [both, make_point(1, 2, vector, tags_local=["снег"])])
    payer, other = Reach(provider=frozenset({ChannelId(1)})), Reach(local=frozenset({ChannelId(1)}))

    async def search_ids(reach: Reach, **limits: Any) -> list[str]:
        return sorted(
            ids(await vectors.search(space, VectorQuery(vector=vector, reach=reach, limit=5, **limits)))
        )

    assert await search_ids(other, tags=("снег",)) == ["1/1", "1/2"]
    assert await search_ids(other, tags=("авария",)) == []
    assert await search_ids(other, without_ads=True) == ["1/1", "1/2"]
    assert await search_ids(payer, tags=("снег",)) == ["1/2"]
    assert await search_ids(payer, tags=("авария",)) == ["1/1"]
    assert await search_ids(payer, without_ads=True) == ["1/2"]


async def test_searches_see_a_new_collection_from_one_moment_to_the_next(
    vectors: Vectors, space: Space
) -> None:
    vector = next(directions(7))
    await vectors.upsert(space.collection(1), [make_point(1, 1, vector)])
    await vectors.create(space, space.collection(2))
    await vectors.create(space, space.collection(2))  # it is there already
    await vectors.upsert(space.collection(2), [make_point(1, 2, vector)])
    sought = VectorQuery(vector=vector, reach=LOCAL, limit=5)
    assert ids(await vectors.search(space, sought)) == ["1/1"]
    ours = {
        name: collection for name, collection in (await vectors.collections()).items() if space.holds(name)
    }
    assert ours == {space.collection(1): space.name, space.collection(2): None}
    await vectors.switch(space, space.collection(2))
    assert ids(await vectors.search(space, sought)) == ["1/2"]
    await vectors.drop(space.collection(1))
    await vectors.drop(space.collection(1))  # it is gone already
    assert ids(await vectors.search(space, sought)) == ["1/2"]


async def test_what_is_asked_of_a_collection_that_is_gone_is_no_error(vectors: Vectors, space: Space) -> None:
    nowhere, vector = Space("tests/nowhere", space.dimension), next(directions(8))
    await vectors.upsert(nowhere.collection(1), [make_point(1, 1, vector)])
    await vectors.delete(nowhere.collection(1), [make_point(1, 1, vector).post_id])
    assert await vectors.search(nowhere, VectorQuery(vector=vector, reach=None, limit=5)) == ()
    assert await vectors.count(nowhere.collection(1)) == 0


def test_a_collection_bears_its_model_and_dimension() -> None:
    space = Space("intfloat/multilingual-e5-small", 384)
    assert space.collection(3) == "posts-intfloat-multilingual-e5-small-384-g3"
    assert space.holds(space.collection(12))
    assert not Space("intfloat/multilingual-e5-small", 38).holds(space.collection(1))
    assert not Space("e5-small", 384).holds(space.collection(1))


def test_the_id_of_a_point_is_made_of_channel_and_message() -> None:
    assert str(PostId.parse("5/7").uuid) == "00000000-0000-0005-0000-000000000007"
