"""The people of a tenant, and saved searches."""

from datetime import datetime
from uuid import UUID

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ResponseModel
from telegram_assistant.domain.tenants.access import KeyScope, MemberRole
from telegram_assistant.features.people import members
from telegram_assistant.features.search.saved import list_searches

area = Area("People", "The people of a tenant, and the searches that they keep.")

MEMBER_EXAMPLE = {
    "public_id": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f10",
    "name": "anna",
    "role": "owner",
    "joined_at": "2026-11-15T08:00:00Z",
    "seen_at": "2026-11-16T08:00:00Z",
}
SEARCH_EXAMPLE = {
    "search_id": "5c1d6f0e-2d5b-4b5e-8a53-6f1d2f8f9f11",
    "name": "Bridges",
    "query": "bridge since:7d",
    "created_by": "anna",
    "created_at": "2026-11-15T08:00:00Z",
}


class MemberResponse(ResponseModel):
    """A person of the tenant. `seen_at` is null if they never logged in."""

    public_id: UUID
    name: str
    role: MemberRole
    joined_at: datetime
    seen_at: datetime | None


class MembersResponse(ResponseModel):
    """All people of the tenant, in the order in which they joined."""

    items: list[MemberResponse]


class SavedSearchResponse(ResponseModel):
    """A query with a name."""

    search_id: UUID
    name: str
    query: str
    created_by: str
    created_at: datetime


class SavedSearchesResponse(ResponseModel):
    """The searches that the tenant keeps, by name."""

    items: list[SavedSearchResponse]


@area.get("/members", scope=KeyScope.ADMIN, example={"items": [MEMBER_EXAMPLE]})
async def list_members(context: Context) -> MembersResponse:
    """List the people of your tenant and their roles."""
    listed_members = await members.list_members(members=context.stores.members)
    return MembersResponse(
        items=[MemberResponse.model_validate(member, from_attributes=True) for member in listed_members]
    )


@area.get("/saved-searches", scope=KeyScope.READ, example={"items": [SEARCH_EXAMPLE]})
async def list_saved_searches(context: Context) -> SavedSearchesResponse:
    """List the searches that your tenant keeps."""
    searches = await list_searches(stores=context.stores)
    return SavedSearchesResponse(
        items=[SavedSearchResponse.model_validate(search, from_attributes=True) for search in searches]
    )
