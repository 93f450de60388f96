"""Search: one box, suggestions while typing, facets, saved searches."""

from starlette.responses import Response

from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.errors import Rejected
from telegram_assistant.features.search import saved
from telegram_assistant.features.search.search import search
from telegram_assistant.features.search.suggestions import suggest as suggest_endings
from telegram_assistant.web.views import Content, TenantView, go, uuid_of

PAGE = 20
EVERY_POST = "posts"
"""How the address says that stories are not grouped."""


async def show(view: TenantView) -> Content:
    typed = view.query("q").strip()
    searches = await view.stores.saved_searches.all()
    by_story = view.query("show") != EVERY_POST
    content = {
        "query": typed,
        "searches": searches,
        "answer": None,
        "by_story": by_story,
        "may_save": KeyScope.WRITE in view.membership.scopes,
    }
    if not typed:
        return content
    try:
        answer = await search(
            typed,
            tenant_id=view.membership.tenant_id,
            stores=view.stores,
            index=view.app.meaning_search,
            now=view.now,
            zone=view.zone,
            limit=PAGE,
            cursor=view.query("after") or None,
            by_story=by_story,
        )
    except Rejected as error:
        return {**content, "problem": error.reason}
    return {**content, "answer": answer}


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
