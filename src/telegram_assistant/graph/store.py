"""The graph in Neo4j: its generations, writing posts into them, and forgetting the old.

    (channel)-[:ON]->(day)-[:FORWARDS|LINKS|MENTIONS|TAGGED {posts}]->(channel, page, name, tag)
    (post)-[:FORWARDED_FROM|REPLIES_TO]->(post)

An edge of a day keeps the numbers of the posts that it counts, so a post that comes again is not counted again, and one that is
edited or deleted leaves no trace. All labels bear the graph's name and a generation: one is shown, another may be in the making.
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
from telegram_assistant.graph.writing import COUNTED, FORGET, WRITE, Rows, rows_of, without

FORGET_AT_ONCE = 500
KEYS = {"Channel": "id", "Day": "key", "Page": "url", "Name": "key", "Tag": "name", "Post": "id"}
SOUGHT = (("Day", "day"), ("Post", "at"))
"""What is old is found by these."""


@dataclass(frozen=True, slots=True)
class Generations:
    """Which one answers, and which one is in the making."""

    shown: int | None = None
    building: int | None = None
    epoch: str | None = None
    """Of the streams, when the one that answers was begun: after a loss of Redis it is another."""
    last: int = 0
    """The highest number so far; none is given twice."""

    @property
    def written(self) -> tuple[int, ...]:
        return tuple(one for one in (self.shown, self.building) if one is not None)


class Graph:
    """One per process. Busy is whatever passes; every write may run twice.

    Whoever writes holds the one node that names the generations, so writers take turns: lists on edges cannot be lost to a
    race, shared pages and names cannot lock each other out, and nobody writes into a generation that is gone.
    """

    def __init__(self, server: GraphServer, *, name: str) -> None:
        self._server = server
        self._name = name
        self._state = f"(g:{name}_Graph {{name: 'graph'}})"

    async def generations(self) -> Generations:
        found = await self._server.read(f"MATCH {self._state} RETURN g.shown AS shown, g.building AS building, g.epoch AS epoch, g.last AS last")
        return next((Generations(**row) for row in found), Generations())

    # --- writing ---

    async def write(self, contributions: Sequence[Contribution], gone: Sequence[PostId] = (), *, into: int | None = None) -> None:
        """These posts are as said here, and those that are gone are nowhere; in one generation, or in all that there are."""
        rows = rows_of(contributions)
        rows["posts"] += [{"id": str(one.uuid)} for one in gone]
        lost = [{"channel": one.channel_id, "message": one.message_id} for one in gone]

        async def work(run: RunStatement) -> None:
            for number in await self._held(run):
                if into in {None, number}:
                    found = list(without(await run(self._cypher(COUNTED, number), rows=lost))) if lost else []
                    await self._put({**rows, "days": rows["days"] + found, "empty": rows["empty"] + found}, run, number)

        await self._server.write(work)

    async def forget(self, before: date) -> int:
        """Days before this one, in every generation, a few at a time; how many went, with posts that had a node."""
        return sum([await self._forget(number, before) for number in (await self.generations()).written])

    async def _put(self, rows: Rows, run: RunStatement, number: int) -> None:
        for statement in WRITE:
            if wanted := rows[statement.rows]:
                await run(self._cypher(statement.text, number), rows=wanted)

    async def _forget(self, number: int, before: date) -> int:
        values = {"day": before.isoformat(), "at": micros(datetime.combine(before, time.min, UTC)), "limit": FORGET_AT_ONCE}
        went = 0
        for text in FORGET:

            async def some(run: RunStatement, text: str = text) -> int:
                held = await self._held(run)
                return sum(row["went"] for row in await run(self._cypher(text, number), **values)) if number in held else 0

            while gone := await self._server.write(some):
                went += gone
        return went

    # --- asking ---

    async def ask(self, text: str, **values: Any) -> list[Row]:  # noqa: ANN401 -- as the driver takes them
        """Of the generation that is shown, before and after the answer: the former one is not there for long. Busy where none is."""
        shown = (await self.generations()).shown
        while shown is not None:
            found = await self._server.read(self._cypher(text, shown), **values)
            before, shown = shown, (await self.generations()).shown
            if shown == before:
                return found
        raise Busy("the graph is being filled", retry_after_seconds=60)

    # --- generations ---

    async def begin(self, epoch: str | None = None) -> int:
        """A new generation, empty; from now on posts are written into it too. One that somebody began and gave up goes."""
        known = await self.generations()
        if known.building is not None:
            await self._server.alone(f"MATCH {self._state} SET g.building = NULL")
        for left in await self._existing() - {known.shown}:
            await self._drop(left)
        number = known.last + 1
        await self._server.alone(f"CREATE CONSTRAINT {self._name}_one IF NOT EXISTS FOR (g:{self._name}_Graph) REQUIRE g.name IS UNIQUE")
        for kind, key in KEYS.items():
            label = self._label(kind, number)
            await self._server.alone(f"CREATE CONSTRAINT {label}_{key} IF NOT EXISTS FOR (n:{label}) REQUIRE n.{key} IS UNIQUE")
        for kind, key in SOUGHT:
            label = self._label(kind, number)
            await self._server.alone(f"CREATE INDEX {label}_{key} IF NOT EXISTS FOR (n:{label}) ON (n.{key})")
        await self._server.alone(f"MERGE {self._state} SET g.building = $number, g.last = $number, g.next_epoch = $epoch", number=number, epoch=epoch)
        return number

    async def switch(self, number: int) -> None:
        """From one moment to the next questions are answered by it; then the former goes."""
        former = (await self.generations()).shown
        shown = "g.shown = $number, g.building = NULL, g.epoch = g.next_epoch"
        await self._server.alone(f"MATCH {self._state} WHERE g.building = $number SET {shown}", number=number)
        if former is not None and former != number:
            await self._drop(former)

    async def hide(self) -> None:
        """What there is has missed something: nothing is answered by it any more."""
        former = (await self.generations()).shown
        if former is not None:
            await self._server.alone(f"MATCH {self._state} SET g.shown = NULL")
            await self._drop(former)

    async def erase(self) -> None:
        """Everything of this graph, and nothing of another that the server may hold."""
        await self._server.alone(f"MATCH {self._state} DELETE g")
        for number in await self._existing():
            await self._drop(number)
        await self._server.alone(f"DROP CONSTRAINT {self._name}_one IF EXISTS")

    async def _existing(self) -> set[int]:
        """By their constraints, which go last: those too that somebody began to make or to drop."""
        named = re.compile(rf"{self._name}_(?:{'|'.join(KEYS)})_(\d+)_\w+")
        return {int(found[1]) for row in await self._server.read("SHOW CONSTRAINTS YIELD name") if (found := named.fullmatch(row["name"]))}

    async def _drop(self, number: int) -> None:
        """Nobody writes into it any more."""
        for kind, key in KEYS.items():
            label = self._label(kind, number)
            await self._server.alone(f"MATCH (n:{label}) CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 2000 ROWS", takes_long=True)
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

    async def _held(self, run: RunStatement) -> tuple[int, ...]:
        held = await run(f"MATCH {self._state} SET g.turn = coalesce(g.turn, 0) + 1 RETURN g.shown AS shown, g.building AS building")
        return next((Generations(**row).written for row in held), ())
