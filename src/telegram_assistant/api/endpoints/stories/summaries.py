"""Summaries of stories that a provider writes."""

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ChannelNumber, MessageNumber, ResponseModel
from telegram_assistant.api.story_summaries import (
    WRITTEN_EXAMPLE,
    WrittenSummaryResponse,
    written_summary_response,
)
from telegram_assistant.api.writing_prices import OFFER_EXAMPLE, OfferResponse, offer_response
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.stories.summaries import offer_story_summary, sum_up_story
from telegram_assistant.features.stories.writing import SummaryWriter
from telegram_assistant.features.understanding.provider_texts import PATIENCE

area = Area(
    "Summaries",
    "Summaries of stories that a provider writes. Every sentence is compared with the posts that it cites.",
)


class SummaryWritingResponse(ResponseModel):
    """A provider's summary of a story, written now or before, or the reason why none is shown."""

    written: WrittenSummaryResponse | None
    fallback: str | None


@area.get("/stories/{channel_id}/{message_id}/summary/price", scope=KeyScope.READ, example=OFFER_EXAMPLE)
async def get_summary_price(
    context: Context, channel_id: ChannelNumber, message_id: MessageNumber
) -> OfferResponse:
    """Get the highest price of a summary of this story."""
    post_id = PostId(ChannelId(channel_id), MessageId(message_id))
    return offer_response(await offer_story_summary(post_id, writer=_writer(context), stores=context.stores))


@area.post(
    "/stories/{channel_id}/{message_id}/summary",
    scope=KeyScope.READ,
    example={"written": WRITTEN_EXAMPLE, "fallback": None},
    is_expensive=True,
)
async def write_story_summary(
    context: Context, channel_id: ChannelNumber, message_id: MessageNumber
) -> SummaryWritingResponse:
    """Let a provider sum up a story, at the tenant's cost.

    Only posts that may be sent to a provider are. Each of its sentences is compared with the posts that it
    cites. The same posts are paid for once: later calls return what was written. A provider that does not
    answer in time is left out; asked again, its text is known.
    """
    post_id, patience_seconds = (
        PostId(ChannelId(channel_id), MessageId(message_id)),
        PATIENCE * context.app.settings.api.timeout_seconds,
    )
    writing = await sum_up_story(
        post_id,
        writer=_writer(context),
        stores=context.stores,
        patience_seconds=patience_seconds,
        before_waiting=context.leave_queue,
    )
    return SummaryWritingResponse(
        written=None
        if writing.written is None
        else written_summary_response(writing.written, context.translate),
        fallback=None if writing.fallback is None else context.translate(writing.fallback),
    )


def _writer(context: Context) -> SummaryWriter:
    return SummaryWriter(context.app.questions, context.caller.tenant_id)
