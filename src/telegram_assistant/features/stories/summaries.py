"""A summary of one story by a provider: its highest price, and the text."""

from collections.abc import Callable

from telegram_assistant.ai.tenant_questions import WritingOffer
from telegram_assistant.domain.ids import PostId
from telegram_assistant.features.stories.stories import story_around
from telegram_assistant.features.stories.writing import (
    SummaryWriter,
    SummaryWriting,
    offer_summary,
    write_summary,
)
from telegram_assistant.stores.postgres.stores import TenantStores


async def offer_story_summary(
    post_id: PostId, *, writer: SummaryWriter, stores: TenantStores
) -> WritingOffer | None:
    """Returns who would write it and for how much; None if no provider may.

    Raises Missing if the post is in no story that the tenant sees.
    """
    return await offer_summary((await story_around(post_id, stores=stores)).material, writer=writer)


async def sum_up_story(
    post_id: PostId,
    *,
    writer: SummaryWriter,
    stores: TenantStores,
    patience_seconds: float,
    before_waiting: Callable[[], None] = lambda: None,
) -> SummaryWriting:
    """Lets a provider write it, or returns what was written before. Raises Missing if the post is in no story
    that the tenant sees.

    Calls `before_waiting` when our own work is done and the provider's begins.
    """
    material = (await story_around(post_id, stores=stores)).material
    before_waiting()
    return await write_summary(material, writer=writer, stores=stores, patience_seconds=patience_seconds)
