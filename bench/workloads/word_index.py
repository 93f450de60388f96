"""The index of words, made as `tga rebuild text` makes it."""

import asyncio

from telegram_assistant.assembly import App
from telegram_assistant.features.operations.text_upkeep import rebuild_text
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection


async def make_words(app: App) -> bool:
    """As `tga rebuild text` does it."""
    system = app.system
    await system.rebuilds.want(Projection.TEXT)
    return await rebuild_text(
        word_index=system.word_index,
        posts=system.posts,
        states=system.post_states,
        rebuilds=system.rebuilds,
        owner="bench",
        stopping=asyncio.Event(),
    )
