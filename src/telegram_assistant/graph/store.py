"""The graph in Neo4j: its generations, writing posts into them, and deleting old ones.

    (channel)-[:ON]->(day)-[:FORWARDS|LINKS|MENTIONS|TAGGED {posts}]->(channel, page, name, tag)
    (post)-[:FORWARDED_FROM|REPLIES_TO]->(post)

An edge of a day stores the numbers of the posts that it counts, so a repeated post is not counted again, and
an edited or deleted post leaves no trace. All labels contain the graph's name and a generation: one
generation is shown, another may be being built.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from telegram_assistant.domain.graph.graph_facts import Contribution
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.timestamps import micros
from telegram_assistant.errors import Busy
from telegram_assistant.graph.protocol import GraphServer, Row, RunStatement
from telegram_assistant.graph.writing import COUNTED, FORGET, WRITE, Rows, rows_of, uncounted_days
from telegram_assistant.reasons import Reason

FORGET_AT_ONCE = 500
KEYS = {"Channel": "id", "Day": "key", "Page": "url", "Name": "key", "Tag": "name", "Post": "id"}
SOUGHT = (("Day", "day"), ("Post", "at"))
"""The indexed fields by which old nodes are found."""


@dataclass(frozen=True, slots=True)
class Generations:
    """The generation that answers queries, and the one being built."""

    answering: int | None = None
    building: int | None = None
    epoch: str | None = None
    """The epoch of the streams when the shown generation was begun; after a loss of Redis it differs."""
    last: int = 0
    """The highest number so far; no number is used twice."""

    @property
    def written(self) -> tuple[int, ...]:
        return tuple(generation for generation in (self.answering, self.building) if generation is not None)


class Graph:
    """One per process. Raises Busy for passing errors; every write may run twice.

    A writer locks the one node that names the generations, so writers take turns: a race cannot lose lists on
    edges, shared pages and names cannot deadlock, and nothing is written into a dropped generation.
    """

    def __init__(self, server: GraphServer, *, name: str) -> None:
        self._server = server
        self._name = name
        self._state = f"(g:{name}_Graph {{name: 'graph'}})"

    async def generations(self) -> Generations:
        rows = await self._server.read(
            f"MATCH {self._state} RETURN g.shown AS answering, g.building AS building, g.epoch AS epoch, "
            "g.last AS last"
        )
        return next((Generations(**row) for row in rows), Generations())

    # --- writing ---

    async def write(
        self,
        contributions: Sequence[Contribution],
        deleted_post_ids: Sequence[PostId] = (),
        *,
        into: int | None = None,
    ) -> None:
        """Writes these posts and removes those that are gone, in one generation or in all."""
        rows = rows_of(contributions)
        rows["posts"] += [{"id": str(post_id.uuid)} for post_id in deleted_post_ids]
        gone_rows = [
            {"channel": post_id.channel_id, "message": post_id.message_id} for post_id in deleted_post_ids
        ]

        async def work(run: RunStatement) -> None:
            for number in await self._lock_generations(run):
                if into in {None, number}:
                    uncounted_day_rows = (
                        list(uncounted_days(await run(self._cypher(COUNTED, number), rows=gone_rows)))
                        if gone_rows
                        else []
                    )
                    await self._put(
                        {
                            **rows,
                            "days": rows["days"] + uncounted_day_rows,
                            "empty": rows["empty"] + uncounted_day_rows,
                        },
                        run,
                        number,
                    )

        await self._server.write(work)

    async def forget(self, before: date) -> int:
        """Deletes days before this one, in every generation, a few at a time;
        returns how many days and post nodes.
        """
        return sum([await self._forget(number, before) for number in (await self.generations()).written])

    async def _put(self, rows: Rows, run: RunStatement, number: int) -> None:
        for statement in WRITE:
            if statement_rows := rows[statement.rows]:
                await run(self._cypher(statement.text, number), rows=statement_rows)

    async def _forget(self, number: int, before: date) -> int:
        values = {
            "day": before.isoformat(),
            "at": micros(datetime.combine(before, time.min, UTC)),
            "limit": FORGET_AT_ONCE,
        }
        forgotten_count = 0
        for text in FORGET:

            async def forget_some(run: RunStatement, text: str = text) -> int:
                generation_numbers = await self._lock_generations(run)
                return (
                    sum(row["went"] for row in await run(self._cypher(text, number), **values))
                    if number in generation_numbers
                    else 0
                )

            while deleted_count := await self._server.write(forget_some):
                forgotten_count += deleted_count
        return forgotten_count

    # --- asking ---

    async def ask(self, text: str, **values: Any) -> list[Row]:  # noqa: ANN401 -- as the driver takes them
        """Queries the shown generation, again if it changed meanwhile, because a former one is soon dropped.

        Raises Busy if none is shown.
        """
        generation = (await self.generations()).answering
        while generation is not None:
            rows = await self._server.read(self._cypher(text, generation), **values)
            before, generation = generation, (await self.generations()).answering
            if generation == before:
                return rows
        raise Busy(Reason("graph_filling", "the graph is being filled"), retry_after_seconds=60)

    # --- generations ---

    async def begin(self, epoch: str | None = None) -> int:
        """Creates an empty generation; from now on posts are written into it too. Drops abandoned ones."""
        generations = await self.generations()
        if generations.building is not None:
            await self._server.alone(f"MATCH {self._state} SET g.building = NULL")
        for abandoned_number in await self._existing() - {generations.answering}:
            await self._drop(abandoned_number)
        number = generations.last + 1
        await self._server.alone(
            f"CREATE CONSTRAINT {self._name}_one IF NOT EXISTS FOR (g:{self._name}_Graph) REQUIRE g.name IS "
            "UNIQUE"
        )
        for kind, key in KEYS.items():
            label = self._label(kind, number)
            await self._server.alone(
                f"CREATE CONSTRAINT {label}_{key} IF NOT EXISTS FOR (n:{label}) REQUIRE n.{key} IS UNIQUE"
            )
        for kind, key in SOUGHT:
            label = self._label(kind, number)
            await self._server.alone(f"CREATE INDEX {label}_{key} IF NOT EXISTS FOR (n:{label}) ON (n.{key})")
        await self._server.alone(
            f"MERGE {self._state} SET g.building = $number, g.last = $number, g.next_epoch = $epoch",
            number=number,
            epoch=epoch,
        )
        return number

    async def switch(self, number: int) -> None:
        """Atomically makes queries use this generation, then drops the former one."""
        former = (await self.generations()).answering
        assignments = "g.shown = $number, g.building = NULL, g.epoch = g.next_epoch"
        await self._server.alone(
            f"MATCH {self._state} WHERE g.building = $number SET {assignments}", number=number
        )
        if former is not None and former != number:
            await self._drop(former)

    async def hide(self) -> None:
        """Stops queries to an incomplete generation, and drops it."""
        former_generation = (await self.generations()).answering
        if former_generation is not None:
            await self._server.alone(f"MATCH {self._state} SET g.shown = NULL")
            await self._drop(former_generation)

    async def erase(self) -> None:
        """Deletes everything of this graph, and nothing of other graphs on the server."""
        await self._server.alone(f"MATCH {self._state} DELETE g")
        for number in await self._existing():
            await self._drop(number)
        await self._server.alone(f"DROP CONSTRAINT {self._name}_one IF EXISTS")

    async def _existing(self) -> set[int]:
        """The existing generations, by their constraints, which are dropped last;
        includes half-built and half-dropped ones.
        """
        constraint_pattern = re.compile(rf"{self._name}_(?:{'|'.join(KEYS)})_(\d+)_\w+")
        return {
            int(match[1])
            for row in await self._server.read("SHOW CONSTRAINTS YIELD name")
            if (match := constraint_pattern.fullmatch(row["name"]))
        }

    async def _drop(self, number: int) -> None:
        """Drops a generation that is no longer written."""
        for kind, key in KEYS.items():
            label = self._label(kind, number)
            await self._server.alone(
                f"MATCH (n:{label}) CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 2000 ROWS",
                takes_long=True,
            )
            await self._server.alone(f"DROP CONSTRAINT {label}_{key} IF EXISTS")
        for kind, key in SOUGHT:
            await self._server.alone(f"DROP INDEX {self._label(kind, number)}_{key} IF EXISTS")

    # --- words of the query language ---

    def _label(self, kind: str, number: int) -> str:
        return f"{self._name}_{kind}_{number}"

    def _cypher(self, text: str, number: int) -> str:
        for kind in KEYS:
            text = text.replace(f":{kind} ", f":{self._label(kind, number)} ")
        return text

    async def _lock_generations(self, run: RunStatement) -> tuple[int, ...]:
        generation_rows = await run(
            f"MATCH {self._state} SET g.turn = coalesce(g.turn, 0) + 1 RETURN g.shown AS answering, "
            "g.building AS building"
        )
        return next((Generations(**row).written for row in generation_rows), ())
