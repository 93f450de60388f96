"""The daily cleaning, as the clock calls it."""

from datetime import UTC, datetime, timedelta

from telegram_assistant.assembly import assemble
from telegram_assistant.jobs import forget_in_graph
from telegram_assistant.settings import read_settings
from testkit.factories import make_channel
from testkit.graphs import land, make_linked

NOW = datetime.now(UTC)


async def test_what_is_older_than_90_days_goes_where_there_is_a_graph(
    database: dict[str, str], environ: dict[str, str]
) -> None:
    async with assemble(read_settings(database)) as app:
        assert await forget_in_graph(app, NOW) == "the graph is off"
    async with assemble(read_settings({**database, "NEO4J_URI": environ["NEO4J_URI"]})) as app:
        assert app.graph_index is not None
        graph = app.graph_index.graph
        await graph.erase()
        await graph.switch(await graph.begin())
        channel = await make_channel(app.system)
        posts = [
            make_linked(channel, days, source=(5, 1), posted_at=NOW - timedelta(days=days))
            for days in (1, 80, 85)
        ]
        await app.graph_index.write(await land(app.system, *posts), now=NOW)
        assert await forget_in_graph(app, NOW) == "forgot 0 days and posts"
        assert await forget_in_graph(app, NOW + timedelta(days=7)) == "forgot 2 days and posts"
        await graph.erase()
