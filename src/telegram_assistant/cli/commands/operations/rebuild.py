"""`tga rebuild`: rebuilds indexes from PostgreSQL."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_operation
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.errors import InUse, Rejected
from telegram_assistant.features.operations.graph_upkeep import rebuild_graph
from telegram_assistant.features.operations.rebuilding import rebuild_status, request_rebuild
from telegram_assistant.features.operations.story_upkeep import rebuild_stories
from telegram_assistant.features.operations.text_upkeep import rebuild_text
from telegram_assistant.features.operations.vector_upkeep import rebuild_vectors
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection, Rebuild
from telegram_assistant.vectors.index import VectorIndex
from telegram_assistant.vectors.opening import VectorLocation, choose_location, open_vectors

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Rebuild indexes from PostgreSQL."
)

LOOK_EVERY_SECONDS = 0.5
PATIENCE_SECONDS = 20.0
LINE_EVERY_SECONDS = 10.0
"""Interval of progress lines if the output is no terminal."""


@app.callback()
def projections() -> None:
    """Rebuild indexes from PostgreSQL while searches continue."""


@app.command()
def vectors() -> None:
    """Rebuild all vectors in a new collection.

    The old one answers until the new one is complete. After an interruption, run it again to continue.
    """

    async def work(assembled: App) -> Rebuild:
        if choose_location(assembled.settings.vectors) is VectorLocation.OFF:
            raise Rejected(Reason("vectors_off", "vectors are off: set QDRANT_URL or VECTORS_DIR"))
        async with AsyncExitStack() as stack:
            return await _rebuild(assembled, Projection.VECTORS, _rebuild_vectors_here(assembled, stack))

    rebuild = with_app(work)
    console.print(f"{rebuild.done} posts are in the new collection, and searches use it.")


@app.command()
def graph() -> None:
    """Rebuild the whole graph.

    The old one answers until the new one is complete. After an interruption, run it again to continue.
    """

    async def work(assembled: App) -> Rebuild:
        if assembled.graph_index is None:
            raise Rejected(Reason("graph_off_set_it", "the graph is off: set NEO4J_URI"))
        system = assembled.system
        rebuild_run = rebuild_graph(
            index=assembled.graph_index,
            states=system.post_states,
            rebuilds=system.rebuilds,
            outbox=system.outbox,
            owner=assembled.instance,
            stopping=asyncio.Event(),
        )
        return await _rebuild(assembled, Projection.GRAPH, rebuild_run)

    rebuild = with_app(work, with_graph=True)
    console.print(f"{rebuild.done} posts are in the new graph, and queries use it.")


@app.command()
def text() -> None:
    """Rebuild the word index in a new table.

    The old one answers until the new one is complete. After an interruption, run it again to continue.
    """

    async def work(assembled: App) -> Rebuild:
        system = assembled.system
        rebuild_run = rebuild_text(
            word_index=system.word_index,
            posts=system.posts,
            states=system.post_states,
            rebuilds=system.rebuilds,
            owner=assembled.instance,
            stopping=asyncio.Event(),
        )
        return await _rebuild(assembled, Projection.TEXT, rebuild_run)

    rebuild = with_app(work)
    console.print(f"The words of {rebuild.done} posts are in the new table, and searches use it.")


@app.command()
def stories() -> None:
    """Compare and group all posts again.

    Stories keep their ids where most of them survives. After an interruption, run it again to continue.
    """

    async def work(assembled: App) -> Rebuild:
        system = assembled.system
        rebuild_run = rebuild_stories(
            builder=assembled.story_builder,
            states=system.post_states,
            rebuilds=system.rebuilds,
            owner=assembled.instance,
            stopping=asyncio.Event(),
        )
        return await _rebuild(assembled, Projection.STORIES, rebuild_run)

    rebuild = with_app(work)
    console.print(f"{rebuild.done} posts are grouped again.")


async def _rebuild(app: App, projection: Projection, rebuild_run: Coroutine[None, None, object]) -> Rebuild:
    await request_rebuild(projection, rebuilds=app.system.rebuilds)
    await record_operation(app, "rebuild", f"/projections/{projection}")
    task = asyncio.create_task(rebuild_run)
    try:
        return await _watch(app, projection, task)
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _rebuild_vectors_here(app: App, stack: AsyncExitStack) -> None:
    """Rebuilds in this process, unless another process has opened the vectors: then that process rebuilds."""
    try:
        vectors = await stack.enter_async_context(open_vectors(app.settings.vectors))
    except InUse:
        return
    assert vectors is not None  # they are not off
    system, model = app.system, app.settings.ai.embeddings_model_in_force
    index = VectorIndex(vectors, gate=app.gate, states=system.post_states)
    await rebuild_vectors(
        index=index,
        states=system.post_states,
        rebuilds=system.rebuilds,
        model=model,
        owner=app.instance,
        stopping=asyncio.Event(),
    )


async def _watch(app: App, projection: Projection, task: asyncio.Task[object]) -> Rebuild:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    alone_since = asyncio.get_running_loop().time()
    line_at = alone_since
    with Progress(*columns, console=complaints, transient=True) as progress:
        bar = progress.add_task(projection.value, total=None)
        while True:
            if task.done() and (error := task.exception()) is not None:
                raise error
            rebuild = await rebuild_status(projection, rebuilds=app.system.rebuilds)
            description = f"{projection.value} {rebuild.error}".strip()
            progress.update(
                bar,
                completed=rebuild.done,
                total=max(rebuild.total, rebuild.done) or None,
                description=description,
            )
            if rebuild.finished_at is not None:
                return rebuild
            now = asyncio.get_running_loop().time()
            if not complaints.is_terminal and now >= line_at:
                line_at = now + LINE_EVERY_SECONDS
                complaints.print(f"{description}: {rebuild.done} of about {rebuild.total} posts")
            alone_since = now if rebuild.owner else alone_since
            if now - alone_since > PATIENCE_SECONDS:
                raise Rejected(
                    Reason(
                        "nothing_rebuilds",
                        "no process is rebuilding it: the process that has it open runs no worker, or has "
                        "just ended; start a worker, or run this again",
                    )
                )
            await asyncio.sleep(LOOK_EVERY_SECONDS)
