"""Chooses the vector store: a server if QDRANT_URL is set, otherwise the embedded one if VECTORS_DIR is set,
otherwise none.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from telegram_assistant.domain.operations.diagnosis import Finding, bad, off, ok, warning
from telegram_assistant.errors import Busy, CannotStart, InUse
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import VectorSettings
from telegram_assistant.vectors.protocol import Searchable, Vectors
from telegram_assistant.vectors.sharing import SharedVectors, share_search

SUBJECT = "vectors"
START_QDRANT = Reason(
    "start_qdrant",
    "start Qdrant, or correct QDRANT_URL and QDRANT_API_KEY; until then posts wait for indexing, and "
    "search finds them by words",
)
ONE_MODEL = Reason(
    "rebuild_by_one_model",
    "run `tga rebuild vectors`: it creates all of them with the current model and removes the others",
)


class VectorLocation(StrEnum):
    """The place where vectors are stored."""

    SERVER = "server"
    EMBEDDED = "embedded"
    OFF = "off"


NEEDS = {
    VectorLocation.EMBEDDED: (
        "qdrant_edge",
        Reason(
            "install_embedded_vectors",
            "Install it: pip install 'telegram-assistant[vectors]', or empty VECTORS_DIR",
        ),
    ),
    VectorLocation.SERVER: (
        "qdrant_client",
        Reason(
            "install_vector_client",
            "Install it: pip install 'telegram-assistant[qdrant]', or empty QDRANT_URL",
        ),
    ),
}


def choose_location(settings: VectorSettings) -> VectorLocation:
    return (
        VectorLocation.SERVER
        if settings.url
        else VectorLocation.EMBEDDED
        if settings.folder
        else VectorLocation.OFF
    )


@asynccontextmanager
async def open_vectors(settings: VectorSettings) -> AsyncIterator[Vectors | None]:
    """Opens the store; None if vectors are off.

    Raises CannotStart if the store cannot be used, InUse if another process holds it.
    """
    location = choose_location(settings)
    if location is VectorLocation.OFF:
        yield None
        return
    library, remedy = NEEDS[location]
    if find_spec(library) is None:
        raise CannotStart(
            Reason(
                "vector_library_missing", "vectors need {library}, which is not installed", library=library
            ),
            remedy=remedy,
        )
    module = import_module(f"telegram_assistant.vectors.{location.value}")
    async with AsyncExitStack() as stack:
        if location is VectorLocation.SERVER:
            store = module.ServerVectors(settings)
            stack.push_async_callback(store.close)
        else:
            folder = settings.folder or Path()
            store = await module.EmbeddedVectors.open(folder)
            stack.push_async_callback(store.close)
            await stack.enter_async_context(share_search(store, folder))
        yield store


@asynccontextmanager
async def open_searchable(settings: VectorSettings) -> AsyncIterator[Searchable | None]:
    """Like `open_vectors`, for a command that only searches: if another process holds embedded vectors,
    it searches through that process.
    """
    async with AsyncExitStack() as stack:
        try:
            searchable: Searchable | None = await stack.enter_async_context(open_vectors(settings))
        except InUse:
            searchable = SharedVectors(settings.folder or Path())
        yield searchable


@asynccontextmanager
async def open_search(settings: VectorSettings) -> AsyncIterator[Searchable | None]:
    """For a role that runs beside the one with the embedded vectors: it leaves them to that process, also
    while it is not running yet, so the two start in any order. None if vectors are off.
    """
    if choose_location(settings) is VectorLocation.EMBEDDED:
        yield SharedVectors(settings.folder or Path())
        return
    async with open_vectors(settings) as store:
        yield store


async def examine(settings: VectorSettings, model: str) -> list[Finding]:
    """Checks the store: its kind, its model and its number of posts."""
    if choose_location(settings) is VectorLocation.OFF:
        return [
            off(
                SUBJECT,
                Reason(
                    "only_words_find", "no QDRANT_URL and no VECTORS_DIR: search finds posts by words only"
                ),
            )
        ]
    try:
        async with open_vectors(settings) as store:
            assert store is not None  # they are not off
            return [await _check_collections(store, _describe_location(settings), model)]
    except InUse:
        used_reason = Reason(
            "vectors_held",
            "{place}, used by a running process; for more processes set QDRANT_URL",
            place=_describe_location(settings),
        )
        return [ok(SUBJECT, used_reason)]
    except CannotStart as error:
        return [bad(SUBJECT, error.why, remedy=error.remedy)]
    except Busy as error:
        return [bad(SUBJECT, error.reason, remedy=START_QDRANT)]


def _describe_location(settings: VectorSettings) -> Reason:
    if settings.url:
        return Reason(
            "vectors_in_server",
            "Qdrant at {address}",
            address=urlsplit(settings.url).netloc.rpartition("@")[2],
        )
    return Reason("vectors_in_folder", "embedded, in the folder {folder}", folder=str(settings.folder))


async def _check_collections(store: Vectors, location: Reason, model: str) -> Finding:
    collections = await store.collections()
    posts = {
        collection: await store.count(collection)
        for collection, name in sorted(collections.items())
        if name is not None
    }
    if not posts:
        return ok(
            SUBJECT,
            Reason("vectors_empty", "{place}: empty; the model is {model}", place=location, model=model),
        )
    listing = ", ".join(f"{collection}: {count}" for collection, count in posts.items())
    reason = Reason(
        "vectors_found",
        "{place}, posts in {shown}; the model is {model}",
        place=location,
        shown=listing,
        model=model,
    )
    return ok(SUBJECT, reason) if len(posts) == 1 else warning(SUBJECT, reason, remedy=ONE_MODEL)
