"""`tga rebuild`: indexes made anew from PostgreSQL."""

import asyncio
from contextlib import AsyncExitStack

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from telegram_assistant.assembly import App, open_index
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.errors import InUse, Rejected
from telegram_assistant.features.graph_upkeep import rebuild_graph
from telegram_assistant.features.rebuilding import rebuild_vectors
from telegram_assistant.graph.index import GraphIndex
from telegram_assistant.stores.postgres.rebuilds import Projection, Rebuild
from telegram_assistant.vectors.opening import Used, used_by

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Indexes made anew from PostgreSQL.")

LOOK_EVERY_SECONDS = 0.5
PATIENCE_SECONDS = 20.0


@app.callback()
def projections() -> None:
    """Indexes made anew from PostgreSQL, while searches go on."""


@app.command()
def vectors() -> None:
    """All vectors, into a new collection; searches use the old one until it is complete. Interrupted, it goes on when called again."""

    async def work(assembled: App) -> Rebuild:
        if used_by(assembled.settings.vectors) is Used.OFF:
            raise Rejected("vectors are off: set QDRANT_URL or VECTORS_DIR")
        await assembled.system.rebuilds.want(Projection.VECTORS)
        async with AsyncExitStack() as stack:
            ours = asyncio.create_task(_help(assembled, stack))
            try:
                return await _watched(assembled, ours, Projection.VECTORS)
            finally:
                ours.cancel()
                await asyncio.wait([ours])

    done = with_app(work)
    console.print(f"{done.done} posts are in the new collection, and searches use it.")


@app.command()
def graph() -> None:
    """The whole graph, beside the one that answers until the new one is complete. Interrupted, it goes on when called again."""

    async def work(assembled: App) -> Rebuild:
        if assembled.graph_index is None:
            raise Rejected("the graph is off: set NEO4J_URI")
        await assembled.system.rebuilds.want(Projection.GRAPH)
        ours = asyncio.create_task(_help_graph(assembled, assembled.graph_index))
        try:
            return await _watched(assembled, ours, Projection.GRAPH)
        finally:
            ours.cancel()
            await asyncio.wait([ours])

    done = with_app(work)
    console.print(f"{done.done} posts are in the new graph, and questions are answered by it.")


async def _help_graph(assembled: App, index: GraphIndex) -> None:
    """Do it here, unless a worker does."""
    system = assembled.system
    await rebuild_graph(
        index=index, states=system.post_states, rebuilds=system.rebuilds, outbox=system.outbox, owner=assembled.instance, stopping=asyncio.Event()
    )


async def _help(assembled: App, stack: AsyncExitStack) -> None:
    """Do it here, unless a process that runs has the vectors: then it does it."""
    try:
        index = await stack.enter_async_context(open_index(assembled.settings, system=assembled.system, gate=assembled.gate))
    except InUse:
        return
    assert index is not None  # they are not off
    system, model = assembled.system, assembled.settings.ai.embeddings_model_in_force
    await rebuild_vectors(
        index=index, states=system.post_states, rebuilds=system.rebuilds, model=model, owner=assembled.instance, stopping=asyncio.Event()
    )


async def _watched(assembled: App, ours: asyncio.Task[None], projection: Projection) -> Rebuild:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    alone_since = asyncio.get_running_loop().time()
    with Progress(*columns, console=complaints, transient=True) as progress:
        bar = progress.add_task(projection.value, total=None)
        while True:
            if ours.done() and (error := ours.exception()) is not None:
                raise error
            found = await assembled.system.rebuilds.look(projection)
            assert found is not None  # it was wanted above
            progress.update(bar, completed=found.done, total=max(found.total, found.done) or None, description=f"{projection} {found.error}".strip())
            if found.finished_at is not None:
                return found
            now = asyncio.get_running_loop().time()
            alone_since = now if found.owner else alone_since
            if now - alone_since > PATIENCE_SECONDS:
                raise Rejected("nobody does it: the process that has it runs no worker; start one, it goes on by itself")
            await asyncio.sleep(LOOK_EVERY_SECONDS)
