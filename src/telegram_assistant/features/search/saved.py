"""Searches that a tenant keeps under a name."""

from datetime import date
from uuid import UUID

from telegram_assistant.domain.search.query import parse_query
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores

MAX_NAME_LETTERS = 80


async def save_search(name: str, query: str, *, stores: TenantStores, created_by: str, today: date) -> UUID:
    """Raises Rejected if the query is not valid, Conflicting if the name is taken."""
    tidy_name = " ".join(name.split())
    if not 0 < len(tidy_name) <= MAX_NAME_LETTERS:
        raise Rejected(
            Reason(
                "search_name_length",
                "a saved search needs a name of 1 to {most} letters",
                most=MAX_NAME_LETTERS,
            )
        )
    parse_query(query, today=today)
    saved = await stores.saved_searches.save(tidy_name, query, created_by=created_by)
    if saved is None:
        raise Conflicting(
            Reason(
                "search_name_taken",
                "a saved search has this name already, or there are too many; delete one first",
            )
        )
    return saved


async def delete_search(search_id: UUID, *, stores: TenantStores) -> None:
    if not await stores.saved_searches.delete(search_id):
        raise Missing(Reason("saved_search_unknown", "there is no such saved search"))
