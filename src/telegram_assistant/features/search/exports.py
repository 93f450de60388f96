"""The posts of a search as a file: CSV for spreadsheets, JSON for programs."""

import json
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum

from telegram_assistant.documents.tables import write_csv
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.search.query import SearchOrder
from telegram_assistant.features.search.results import SearchResult
from telegram_assistant.features.search.search import search
from telegram_assistant.stores.postgres.search.search import MAX_MATCHES
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.vectors.index import MeaningSearch

MAX_EXPORTED = MAX_MATCHES
COLUMNS = (
    "posted_at",
    "channel",
    "link",
    "text",
    "language",
    "kind",
    "tags",
    "is_edited",
    "deleted_at",
    "copies",
    "post_id",
)


class SearchFileFormat(StrEnum):
    """A file format for the results of a search."""

    CSV = "csv"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ExportedSearch:
    """The first posts of a search, copies folded."""

    query: str
    results: tuple[SearchResult, ...]
    is_complete: bool
    """False: there are more posts than a file holds."""


async def export_search(
    typed_text: str,
    *,
    tenant_id: TenantId,
    stores: TenantStores,
    index: MeaningSearch | None,
    now: datetime,
    zone: tzinfo,
    order: SearchOrder,
) -> ExportedSearch:
    """Returns at most MAX_EXPORTED posts. Raises Rejected if the query is not valid."""
    page = await search(
        typed_text,
        tenant_id=tenant_id,
        stores=stores,
        index=index,
        now=now,
        zone=zone,
        limit=MAX_EXPORTED,
        order=order,
        with_marks=False,
    )
    return ExportedSearch(page.query, page.results, page.cursor is None)


def write_file(exported_search: ExportedSearch, kind: SearchFileFormat, zone: tzinfo) -> str:
    rows = [_row(result, zone) for result in exported_search.results]
    if kind is SearchFileFormat.JSON:
        content = {"query": exported_search.query, "is_complete": exported_search.is_complete, "posts": rows}
        return json.dumps(content, ensure_ascii=False, indent=1)
    return write_csv(COLUMNS, [[_text_of(row[column]) for column in COLUMNS] for row in rows])


def _row(result: SearchResult, zone: tzinfo) -> dict[str, object]:
    deleted_at = result.deleted_at
    return {
        "posted_at": result.posted_at.astimezone(zone).isoformat(),
        "channel": result.channel,
        "link": result.link,
        "text": result.text,
        "language": result.lang,
        "kind": result.kind,
        "tags": list(result.tags),
        "is_edited": result.is_edited,
        "deleted_at": deleted_at.astimezone(zone).isoformat() if deleted_at else None,
        "copies": [str(copy_post_id) for copy_post_id in result.copies],
        "post_id": str(result.post_id),
    }


def _text_of(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str("" if value is None else value)
