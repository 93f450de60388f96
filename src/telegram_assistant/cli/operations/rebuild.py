"""`tga rebuild`: indexes made anew from PostgreSQL."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.errors import InUse, Rejected
from telegram_assistant.features.operations.graph_upkeep import rebuild_graph
from telegram_assistant.features.operations.text_upkeep import rebuild_text
from telegram_assistant.features.operations.vector_upkeep import rebuild_vectors
from telegram_assistant.stores.postgres.delivery.rebuilds import Projection, Rebuild
from telegram_assistant.vectors.index import VectorIndex
from telegram_assistant.vectors.opening import Used, open_vectors, used_by

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Indexes made anew from PostgreSQL.")

LOOK_EVERY_SECONDS = 0.5
PATIENCE_SECONDS = 20.0
LINE_EVERY_SECONDS = 10.0
"""How often progress is printed where no terminal can draw a bar."""


@app.callback()
def projections() -> None:
    """Indexes made anew from PostgreSQL, while searches go on."""


@app.command()
def vectors() -> None:
    """All vectors, into a new collection; searches use the old one until it is complete. Interrupted, it goes on when called again."""

    async def work(assembled: App) -> Rebuild:
        if used_by(assembled.settings.vectors) is Used.OFF:
            raise Rejected("vectors are off: set QDRANT_URL or VECTORS_DIR")
        async with AsyncExitStack() as stack:
            return await _done(assembled, Projection.VECTORS, _help(assembled, stack))

    done = with_app(work)
    console.print(f"{done.done} posts are in the new collection, and searches use it.")


@app.command()
def graph() -> None:
    """The whole graph, beside the one that answers until the new one is complete. Interrupted, it goes on when called again."""

    async def work(assembled: App) -> Rebuild:
        if assembled.graph_index is None:
            raise Rejected("the graph is off: set NEO4J_URI")
        system = assembled.system
        doing = rebuild_graph(
            index=assembled.graph_index,
            states=system.post_states,
            rebuilds=system.rebuilds,
            outbox=system.outbox,
            owner=assembled.instance,
            stopping=asyncio.Event(),
        )
        return await _done(assembled, Projection.GRAPH, doing)

    done = with_app(work)
    console.print(f"{done.done} posts are in the new graph, and questions are answered by it.")


@app.command()
def text() -> None:
    """The words of all posts, into a new table; searches use the old one until it is complete. Interrupted, it goes on when called again."""

    async def work(assembled: App) -> Rebuild:
        system = assembled.system
        doing = rebuild_text(
            word_index=system.word_index,
            posts=system.posts,
            states=system.post_states,
            rebuilds=system.rebuilds,
            owner=assembled.instance,
            stopping=asyncio.Event(),
        )
        return await _done(assembled, Projection.TEXT, doing)

    done = with_app(work)
    console.print(f"The words of {done.done} posts are in the new table, and searches use it.")


async def _done(assembled: App, projection: Projection, doing: Coroutine[None, None, object]) -> Rebuild:
    await assembled.system.rebuilds.want(projection)
    ours = asyncio.create_task(doing)
    try:
        return await _watched(assembled, projection, ours)
    finally:
        ours.cancel()
        await asyncio.wait([ours])


async def _help(assembled: App, stack: AsyncExitStack) -> None:
    """Do it here, unless a process that runs has the vectors: then it does it."""
    try:
        vectors = await stack.enter_async_context(open_vectors(assembled.settings.vectors))
    except InUse:
        return
    assert vectors is not None  # they are not off
    system, model = assembled.system, assembled.settings.ai.embeddings_model_in_force
    index = VectorIndex(vectors, gate=assembled.gate, states=system.post_states)
    await rebuild_vectors(
        index=index, states=system.post_states, rebuilds=system.rebuilds, model=model, owner=assembled.instance, stopping=asyncio.Event()
    )


async def _watched(assembled: App, projection: Projection, ours: asyncio.Task[object]) -> Rebuild:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    alone_since = asyncio.get_running_loop().time()
    line_at = alone_since
    with Progress(*columns, console=complaints, transient=True) as progress:
        bar = progress.add_task(projection.value, total=None)
        while True:
            if ours.done() and (error := ours.exception()) is not None:
                raise error
            found = await assembled.system.rebuilds.look(projection)
            assert found is not None  # it was wanted above
            told = f"{projection.value} {found.error}".strip()
            progress.update(bar, completed=found.done, total=max(found.total, found.done) or None, description=told)
            if found.finished_at is not None:
                return found
            now = asyncio.get_running_loop().time()
            if not complaints.is_terminal and now >= line_at:
                line_at = now + LINE_EVERY_SECONDS
                complaints.print(f"{told}: {found.done} of about {found.total} posts")
            alone_since = now if found.owner else alone_since
            if now - alone_since > PATIENCE_SECONDS:
                raise Rejected("nobody does it: the process that has it in hand runs no worker, or has just ended; start one, or call this again")
            await asyncio.sleep(LOOK_EVERY_SECONDS)
