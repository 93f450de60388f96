"""Searches that a tenant keeps under a name."""

from datetime import date
from uuid import UUID

from telegram_assistant.domain.search.parsing import parse_query
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.search.saved_searches import SavedSearch
from telegram_assistant.stores.postgres.stores import TenantStores

MAX_NAME_LETTERS = 80


async def list_searches(*, stores: TenantStores) -> tuple[SavedSearch, ...]:
    """All saved searches of the tenant, by name."""
    return await stores.saved_searches.all()


async def save_search(name: str, query: str, *, stores: TenantStores, created_by: str, today: date) -> UUID:
    """Raises Rejected if the query is not valid, Conflicting if the name is taken."""
    tidy_name = " ".join(name.split())
    if not 0 < len(tidy_name) <= MAX_NAME_LETTERS:
        raise Rejected(
            Reason(
                "search_name_length",
                "a saved search needs a name of 1 to {most} characters",
                most=MAX_NAME_LETTERS,
            )
        )
    parse_query(query, today=today)
    saved_id = await stores.saved_searches.save(tidy_name, query, created_by=created_by)
    if saved_id is None:
        raise Conflicting(
            Reason(
                "search_name_taken",
                "a saved search already has this name, or there are too many; choose another name or "
                "delete one",
            )
        )
    return saved_id


async def keep_search(query: str, *, stores: TenantStores, created_by: str, today: date) -> UUID:
    """The saved search with this query; it is saved under the query itself if there is none."""
    for search in await list_searches(stores=stores):
        if search.query == query:
            return search.search_id
    name = " ".join(query.split())[:MAX_NAME_LETTERS]
    return await save_search(name, query, stores=stores, created_by=created_by, today=today)


async def delete_search(search_id: UUID, *, stores: TenantStores) -> None:
    if not await stores.saved_searches.delete(search_id):
        raise Missing(Reason("saved_search_unknown", "there is no such saved search"))
