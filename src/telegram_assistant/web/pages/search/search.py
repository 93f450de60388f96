"""Find or ask: one box, filters in plain words, suggestions while typing, facets, saved searches, files."""

import asyncio
from collections.abc import Sequence
from functools import partial
from urllib.parse import urlencode

from starlette.responses import Response

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.search.query import SearchOrder
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.features.ask.recognizing import is_question
from telegram_assistant.features.channels.channels import list_names
from telegram_assistant.features.channels.coverage import count_complete
from telegram_assistant.features.receivers import rss_feeds
from telegram_assistant.features.search import saved
from telegram_assistant.features.search.exports import (
    MAX_EXPORTED,
    SearchFileFormat,
    export_search,
    write_file,
)
from telegram_assistant.features.search.search import search
from telegram_assistant.features.search.suggestions import suggest as suggest_endings
from telegram_assistant.features.search.tenant_search import SearchBasis
from telegram_assistant.features.watches.watches import target_of_search
from telegram_assistant.stores.postgres.channels.channels import ChannelName
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedKind
from telegram_assistant.web.views import PAGE_UNKNOWN, Content, TenantView, go, uuid_of

RESULTS_PER_PAGE = 20
EVERY_POST = "posts"
"""How the address says that stories are not grouped."""
CHOICES = {
    "period": {"today": "since:today", "7d": "since:7d", "30d": "since:30d"},
    "changed": {"edited": "edited:yes", "deleted": "deleted:yes"},
    "has": {"image": "has:image"},
    "ads": {"yes": "ads:yes"},
}
"""The choices beside the box, and their meanings in a query."""


async def show(view: TenantView) -> Content:
    return await _content(view, view.query("q").strip())


async def suggest(view: TenantView) -> Content:
    return {"suggestions": await suggest_endings(view.query("q"), stores=view.stores)}


async def save(view: TenantView) -> Response:
    query = view.text("query")
    await saved.save_search(
        view.text("name"),
        query,
        stores=view.stores,
        created_by=view.person.name,
        today=view.now.astimezone(view.zone).date(),
    )
    view.note(query=query)
    return go(view.url("/search"))


async def delete(view: TenantView) -> Response:
    await saved.delete_search(uuid_of(view.request.path_params["search"]), stores=view.stores)
    return go(view.url("/search"))


async def export(view: TenantView) -> Response:
    """A file of the first posts. Its name says when there are more."""
    kind = view.request.path_params["kind"]
    if kind not in set(SearchFileFormat):
        raise Missing(PAGE_UNKNOWN)
    exported_search = await export_search(
        _narrow(view, view.query("q").strip()),
        tenant_id=view.membership.tenant_id,
        stores=view.stores,
        index=view.app.meaning_search,
        now=view.now,
        zone=view.zone,
        order=_order(view),
    )
    name = "search" if exported_search.is_complete else f"search-first-{MAX_EXPORTED}"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}.{kind}"',
        "Cache-Control": "private, no-cache",
    }
    media_type = "text/csv; charset=utf-8" if kind == SearchFileFormat.CSV else "application/json"
    content = await asyncio.to_thread(write_file, exported_search, SearchFileFormat(kind), view.zone)
    return Response(content, media_type=media_type, headers=headers)


async def create_feed(view: TenantView) -> Content:
    """A secret address of a feed; the search is saved for it, because a feed lists a saved search."""
    query = view.text("query")
    search_id = await saved.keep_search(
        query,
        stores=view.stores,
        created_by=view.person.name,
        today=view.now.astimezone(view.zone).date(),
    )
    created_feed = await rss_feeds.create_feed(
        FeedKind.SEARCH,
        str(search_id),
        stores=view.stores,
        created_by=view.person.name,
        language=view.language.value,
    )
    view.note(kind=FeedKind.SEARCH.value, name=created_feed.address.name)
    base = view.app.settings.web.base_url or str(view.request.base_url).rstrip("/")
    return {**await _content(view, query), "feed_address": f"{base}/feeds/{created_feed.token}"}


async def _content(view: TenantView, typed_text: str) -> Content:
    searches, channels = await asyncio.gather(
        saved.list_searches(stores=view.stores), list_names(followed=view.stores.followed)
    )
    by_story, order = view.query("show") != EVERY_POST, _order(view)
    query = _narrow(view, typed_text)
    content = {
        "query": typed_text,
        "narrowed": query,
        "chosen": {name: view.query(name) for name in (*CHOICES, "channel")},
        "quote": _quote_value,
        "link": lambda **changed: _link(view, typed_text, changed),
        "searches": searches,
        "channels": channels,
        "chosen_channel_id": _chosen_channel_id(channels, view.query("channel")),
        "answer": None,
        "asks": is_question(typed_text),
        "by_story": by_story,
        "order": order,
        "max_exported": MAX_EXPORTED,
        "may_save": KeyScope.WRITE in view.membership.scopes,
        "may_share": KeyScope.ADMIN in view.membership.scopes,
    }
    if not query:
        return content
    try:
        answer = await search(
            query,
            tenant_id=view.membership.tenant_id,
            stores=view.stores,
            index=view.app.meaning_search,
            now=view.now,
            zone=view.zone,
            limit=RESULTS_PER_PAGE,
            cursor=view.query("after") or None,
            by_story=by_story,
            order=order,
            basis=SearchBasis(channels=channels),
        )
    except Rejected as error:
        return {**content, "problem": error.reason}
    today = view.now.astimezone(view.zone).date()
    return {
        **content,
        "answer": answer,
        "watch": target_of_search(query, today=today),
        # counted anew where channels came or went
        "completeness": await view.app.recent_completeness.get_or_count(
            view.membership.tenant_id,
            partial(count_complete, stores=view.stores),
            now=view.now,
            variant=len(channels),
        ),
    }


def _order(view: TenantView) -> SearchOrder:
    return SearchOrder.NEWEST if view.query("order") == SearchOrder.NEWEST else SearchOrder.BEST


def _chosen_channel_id(channels: Sequence[ChannelName], chosen: str) -> ChannelId | None:
    ids = (channel.channel_id for channel in channels if str(channel.channel_id) == chosen)
    return next(ids, None) if chosen else None


def _narrow(view: TenantView, typed_text: str) -> str:
    """The typed query, with the choices from beside the box."""
    filters = [meanings.get(view.query(name), "") for name, meanings in CHOICES.items()]
    channel = view.query("channel")
    if channel.isascii() and channel.isdecimal():
        filters.append(f"from:{channel}")
    return " ".join(filter(None, (typed_text, *filters)))


def _link(view: TenantView, typed_text: str, changed: dict[str, str]) -> str:
    """The query part of an address: as it is now, but for what is changed."""
    now = {name: view.query(name) for name in (*CHOICES, "channel", "show", "order")}
    parameters = {"q": typed_text, **now, **changed}
    return urlencode({name: value for name, value in parameters.items() if value})


def _quote_value(value: object) -> str:
    return f'"{value}"' if " " in str(value) else str(value)
