"""The posts behind one number of a channel's record."""

from telegram_assistant.domain.channels.record import RecordFact
from telegram_assistant.errors import Missing
from telegram_assistant.features.channels.records import MAX_LISTED, posts_behind_number
from telegram_assistant.web.views import PAGE_UNKNOWN, Content, TenantView, channel_id_of


async def show(view: TenantView) -> Content:
    fact = str(view.request.path_params["fact"])
    if fact not in set(RecordFact):
        raise Missing(PAGE_UNKNOWN)
    channel_id = channel_id_of(str(view.request.path_params["channel"]))
    record_posts = await posts_behind_number(channel_id, RecordFact(fact), stores=view.stores)
    return {"record_posts": record_posts, "fact": fact, "max_listed": MAX_LISTED}
