"""Trends: what many channels told at once, and what they mention more than usual."""

from datetime import timedelta
from functools import partial

from telegram_assistant.features.feed.person_feed import list_mutes
from telegram_assistant.features.stories.keyword_trends import trends_now
from telegram_assistant.features.stories.trends import all_trends
from telegram_assistant.web.views import Content, TenantView

PERIODS = (1, 3, 7)
"""Days."""


async def show(view: TenantView) -> Content:
    days = int(view.query("days")) if view.query("days") in map(str, PERIODS) else PERIODS[0]
    language = view.language.value
    counting = partial(trends_now, view.now, stores=view.stores, language=language)
    live = await view.app.recent_trends.get_or_count(
        view.membership.tenant_id, counting, now=view.now, variant=language
    )
    muted_post_ids = (await list_mutes(own=view.own)).stories
    trends = await all_trends(
        view.now - timedelta(days=days),
        stores=view.stores,
        now=view.now,
        muted=muted_post_ids,
        language=language,
        live=live,
    )
    return {"trends": trends, "days": days, "periods": PERIODS}
