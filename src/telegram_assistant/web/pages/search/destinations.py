"""Go anywhere: the sections, and what has a name in this tenant. ⌘K shows the same list over any page."""

from telegram_assistant.features.search.destinations import find_destinations
from telegram_assistant.web.views import Content, TenantView


async def find(view: TenantView) -> Content:
    typed_text = view.query("q").strip()
    return {"typed": typed_text, "found": await find_destinations(typed_text, stores=view.stores)}


async def show(view: TenantView) -> Content:
    return await find(view)
