"""Edges count every post exactly once, whatever comes twice, late, edited or deleted."""

import asyncio
from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import fresh_number, make_channel, make_page
from testkit.graphs import land, load_graph, make_linked, understand
from tests.conftest import Admin

DAY = "2026-11-01"
NOW = datetime(2026, 11, 2, tzinfo=UTC)


async def test_a_post_is_counted_once_however_often_it_comes(
    graph_index: GraphIndex, system: SystemStores
) -> None:
    channel, source = await make_channel(system), fresh_number()
    first = make_linked(channel, 1, source=(source, 7), url="https://News.example/a?utm_source=x")
    second = make_linked(channel, 2, source=(source, None))
    posts = await land(
        system, first, second, make_linked(channel, 3, reply_to=MessageId(1)), make_linked(channel, 4)
    )
    await understand(system, posts[0], "Anna", tags=["snow"])
    await understand(system, posts[3], "Anna", "Boris")
    for _ in range(3):
        await graph_index.write(posts, now=NOW)
    day = f"{channel}/{DAY}"
    at = int(first.posted_at.timestamp() * 1_000_000)
    assert await load_graph(graph_index.graph, channel) == {
        (day, "FORWARDS", "", str(source)): [1, 2],
        (day, "LINKS", "", "https://news.example/a"): [1],
        (day, "MENTIONS", "all", "person|Anna"): [1, 4],
        (day, "MENTIONS", "all", "person|Boris"): [4],
        (day, "TAGGED", "all", "snow"): [1],
        (str(posts[0].uuid), "FORWARDED_FROM", "", str(PostId(ChannelId(source), MessageId(7)).uuid)): [at],
        (str(posts[2].uuid), "REPLIES_TO", "", str(posts[0].uuid)): [at],
    }


async def test_an_edit_moves_what_is_counted_and_a_deletion_leaves_no_trace(
    graph_index: GraphIndex, system: SystemStores, admin: Admin
) -> None:
    channel = await make_channel(system)
    posts = await land(
        system,
        make_linked(channel, 1, url="https://a.example/1"),
        make_linked(channel, 2, url="https://a.example/1"),
    )
    await understand(system, posts[0], "Anna")
    await graph_index.write(posts, now=NOW)
    edited = make_linked(channel, 1, url="https://a.example/2", text="Now this", edited_at=NOW)
    await system.landing.land(make_page(edited, read_at=NOW), Claim(channel, 0))
    await graph_index.write([posts[0]], now=NOW)
    day = f"{channel}/{DAY}"
    assert await load_graph(graph_index.graph, channel) == {
        (day, "LINKS", "", "https://a.example/1"): [2],
        (day, "LINKS", "", "https://a.example/2"): [1],
    }
    await admin.execute(
        "UPDATE posts SET deleted_at = now(), state_version = state_version + 1 WHERE channel_id = $1 "
        "AND message_id = 1",
        channel,
    )
    await graph_index.write([posts[0]], now=NOW)
    await admin.execute(
        "DELETE FROM posts WHERE channel_id = $1 AND message_id = 2", channel
    )  # erased: nobody knows its day any more
    await graph_index.write([posts[1]], now=NOW)
    assert await load_graph(graph_index.graph, channel) == {}
    left = "MATCH (n) WHERE n.url STARTS WITH 'https://a.example/' OR n.channel = $channel RETURN n"
    assert await graph_index.graph.ask(left, channel=channel) == []


async def test_a_provider_s_result_is_apart_from_the_local_one(
    graph_index: GraphIndex, system: SystemStores
) -> None:
    channel = await make_channel(system)
    [post, other] = await land(system, make_linked(channel, 1), make_linked(channel, 2))
    await understand(system, post, "Anna")
    await understand(system, other, "Anna")
    await graph_index.write([post, other], now=NOW)
    await understand(system, post, "Anna", "Boris", tier=Tier.PROVIDER)
    await graph_index.write([post], now=NOW)
    day = f"{channel}/{DAY}"
    assert await load_graph(graph_index.graph, channel) == {
        (day, "MENTIONS", "all", "person|Anna"): [2],
        (day, "MENTIONS", "local", "person|Anna"): [1],
        (day, "MENTIONS", "provider", "person|Anna"): [1],
        (day, "MENTIONS", "provider", "person|Boris"): [1],
    }


async def test_what_strangers_write_at_length_goes_in_too(
    graph_index: GraphIndex, system: SystemStores
) -> None:
    channel = await make_channel(system)
    url = "https://a.example/?utm_source=x&q=" + "ы" * 1900
    [post] = await land(system, make_linked(channel, 1, url=url))
    await understand(system, post, "А" * 5000, "'} RETURN 1 //", tags=["т" * 5000])
    await graph_index.write([post], now=NOW)
    assert {key[3] for key in await load_graph(graph_index.graph, channel)} == {
        url,
        f"person|{'А' * 200}",
        "person|'} RETURN 1 //",
        "т" * 200,
    }


async def test_who_writes_last_leaves_the_newest_state(graph_index: GraphIndex, system: SystemStores) -> None:
    """Several that write the same posts, while they are edited: nothing is counted twice or lost."""
    channel = await make_channel(system)
    posts = await land(system, *(make_linked(channel, number, source=(9, number)) for number in range(1, 7)))

    async def change() -> None:
        for number in range(6):
            edited = [
                make_linked(
                    channel,
                    post.message_id,
                    source=(9, post.message_id),
                    url=f"https://b.example/{number}",
                    text=f"{number}",
                    edited_at=NOW,
                )
                for post in posts
            ]
            await system.landing.land(
                make_page(*edited, read_at=NOW + timedelta(minutes=number)), Claim(channel, 0)
            )

    changing = asyncio.create_task(change())
    while not changing.done():
        await asyncio.gather(graph_index.write(posts, now=NOW), graph_index.write(posts[::-1], now=NOW))
    await changing
    await asyncio.gather(*(graph_index.write([post], now=NOW) for post in posts))
    edges = await load_graph(graph_index.graph, channel)
    numbers = [post.message_id for post in posts]
    assert {key[1:]: counted for key, counted in edges.items() if key[0].startswith(f"{channel}/")} == {
        ("FORWARDS", "", "9"): numbers,
        ("LINKS", "", "https://b.example/5"): numbers,
    }
    assert len(edges) == 2 + len(posts)


async def test_what_is_too_old_is_not_kept(graph_index: GraphIndex, system: SystemStores) -> None:
    channel = await make_channel(system)
    posts = await land(
        system,
        make_linked(channel, 1, source=(11, 1), posted_at=NOW - timedelta(days=91)),
        make_linked(channel, 2, source=(11, 1), posted_at=NOW - timedelta(days=89)),
        make_linked(channel, 3, source=(11, 1), posted_at=NOW),
    )
    await graph_index.write(posts, now=NOW)
    assert len(await load_graph(graph_index.graph, channel)) == 4
    await graph_index.graph.forget((NOW - timedelta(days=10)).date())
    assert set(await load_graph(graph_index.graph, channel)) == {
        (f"{channel}/2026-11-02", "FORWARDS", "", "11"),
        (str(posts[2].uuid), "FORWARDED_FROM", "", str(PostId(ChannelId(11), MessageId(1)).uuid)),
    }
    await graph_index.graph.forget((NOW + timedelta(days=1)).date())
    assert (
        await graph_index.graph.ask(
            "MATCH (n) WHERE n.channel = $channel OR n.id = $id RETURN n", channel=channel, id=channel
        )
        == []
    )
