"""A search as it was asked for: its query, with channels, days and tags resolved for the tenant."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo

from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.search.query import Query, SearchOrder
from telegram_assistant.errors import Rejected
from telegram_assistant.features.channels.channels import NamedChannel, pick
from telegram_assistant.features.search.meaning import MEANING_SECONDS
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.search.search import SearchFilters, SearchScope
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.vectors.index import MeaningSearch

HIDDEN = ""
"""No tag has this name, so it matches nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSearch:
    """A parsed query with everything needed to answer it."""

    query: Query
    limits: SearchFilters
    until: datetime | None
    scope: SearchScope
    tenant_id: TenantId
    stores: TenantStores
    index: MeaningSearch | None
    zone: tzinfo
    by_story: bool
    order: SearchOrder
    meaning_seconds: float = MEANING_SECONDS
    with_marks: bool = True

    @property
    def about(self) -> str:
        """The search that a cursor belongs to."""
        choices = ("by story" if self.by_story else "", "" if self.order is SearchOrder.BEST else self.order)
        return " ".join((str(self.query), *filter(None, choices)))


@dataclass(frozen=True, slots=True)
class SearchBasis:
    """The data that were read already, which several searches may share."""

    scope: SearchScope | None = None
    channels: Sequence[NamedChannel] = ()
    """Channels that the tenant follows; the others are read if a query names one of them."""


async def resolve_search(
    query: Query,
    *,
    basis: SearchBasis,
    tenant_id: TenantId,
    stores: TenantStores,
    index: MeaningSearch | None,
    zone: tzinfo,
    by_story: bool,
    order: SearchOrder,
) -> TenantSearch:
    """Raises Rejected, with what to write instead, if the query asks for what cannot be searched."""
    if query == Query(with_ads=query.with_ads):
        raise Rejected(
            Reason(
                "query_empty",
                "the query is empty; write a word, or a filter such as from:@channel or since:yesterday",
            )
        )
    if query.is_deleted and (query.tags or query.kinds or query.has):
        raise Rejected(
            Reason(
                "deleted_filters",
                "deleted posts are searched by words, channel, language and day; remove tag:, kind: and has:",
            )
        )
    scope = basis.scope or await stores.words.scope(with_policies=index is not None and bool(query.meaning))
    channel_ids: tuple[ChannelId, ...] | None = None
    if query.channels:
        channel_ids = await _pick_channels(query.channels, basis, stores)
    limits = SearchFilters(
        channels=channel_ids,
        since=_midnight(query.since, zone) if query.since else None,
        languages=query.languages,
        has=query.has,
        tags=scope.resolve_tags(query.tags) or ((HIDDEN,) if query.tags else ()),
        kinds=query.kinds,
        with_ads=query.with_ads,
    )
    until = _midnight(query.until + timedelta(days=1), zone) if query.until else None
    return TenantSearch(
        query=query,
        limits=limits,
        until=until,
        scope=scope,
        tenant_id=tenant_id,
        stores=stores,
        index=index,
        zone=zone,
        by_story=by_story,
        order=order,
    )


async def _pick_channels(
    names: Sequence[str], basis: SearchBasis, stores: TenantStores
) -> tuple[ChannelId, ...]:
    if basis.channels:
        with suppress(Rejected):
            return tuple(pick(basis.channels, name).channel_id for name in names)
    followed_channels = await stores.followed.channels()
    return tuple(pick(followed_channels, name).channel_id for name in names)


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), tzinfo=zone)
