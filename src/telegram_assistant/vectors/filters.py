"""Filters of a search, independent of the engine."""

from dataclasses import dataclass
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.embedding_text import BY_PROVIDER
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.vectors.protocol import VectorQuery


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field has one of these values."""

    field: str
    values: tuple[int, ...] | tuple[str, ...]

    @property
    def listed(self) -> list[int] | list[str]:
        """The values as a list of one type, which the engines require."""
        return [value for value in self.values if isinstance(value, int)] or [
            str(value) for value in self.values
        ]


@dataclass(frozen=True, slots=True)
class Between:
    """The field is a time in [since, until)."""

    field: str
    since: float | None
    until: float | None


@dataclass(frozen=True, slots=True)
class PointFilter:
    """All of `must` hold, none of `must_not`, and at least one of `either` if there are any."""

    must: tuple["AnyOf | Between", ...] = ()
    must_not: tuple["AnyOf | Between", ...] = ()
    either: tuple["PointFilter", ...] = ()


def filter_for(query: VectorQuery) -> PointFilter | None:
    """The filter of a query; None: no filter. The query must reach at least one channel."""
    must: list[AnyOf | Between] = []
    if query.since or query.until:
        since, until = (moment.timestamp() if moment else None for moment in (query.since, query.until))
        must.append(Between("at", since, until))
    if query.languages:
        must.append(AnyOf("lang", query.languages))
    must += [_match_flag(flag.value) for flag in query.has]
    is_about_understanding = bool(query.tags or query.topics or query.kinds or query.without_ads)
    if not is_about_understanding:
        if query.reach is None:
            return PointFilter(tuple(must)) if must else None
        visible = _within(query.reach.channels, query)
        return (
            PointFilter((*must, *visible[0]))
            if len(visible) == 1
            else PointFilter(tuple(must), either=tuple(map(PointFilter, visible)))
        )
    return PointFilter(tuple(must), either=_by_tier(query))


def _by_tier(query: VectorQuery) -> tuple[PointFilter, ...]:
    """Alternatives by tier: the provider's result if it exists and the tenant may see it,
    otherwise the local one.
    """
    alternatives = []
    reach = query.reach
    if reach is None or reach.provider:
        better = _filter_tier(query, Tier.PROVIDER)
        local_filter = _filter_tier(query, Tier.LOCAL)
        for seen in ((),) if reach is None else _within(reach.provider, query):
            alternatives += [
                PointFilter((*seen, _match_flag(BY_PROVIDER), *better.must), better.must_not),
                PointFilter((*seen, *local_filter.must), (_match_flag(BY_PROVIDER), *local_filter.must_not)),
            ]
    if reach is not None and (reach.local or not reach.provider):
        local_filter = _filter_tier(query, Tier.LOCAL)
        alternatives += [
            PointFilter((*seen, *local_filter.must), local_filter.must_not)
            for seen in _within(reach.local, query)
        ]
    return tuple(alternatives)


def _filter_tier(query: VectorQuery, tier: Tier) -> PointFilter:
    filters = (("tags", query.tags), ("topic", query.topics), ("kind", query.kinds))
    must = tuple(AnyOf(f"{name}_{tier.value}", values) for name, values in filters if values)
    return PointFilter(must, (_match_flag(f"ad_{tier.value}"),) if query.without_ads else ())


def _within(channel_ids: frozenset[ChannelId], query: VectorQuery) -> tuple[tuple[AnyOf | Between, ...], ...]:
    """One alternative per group of channels whose windows begin at the same time;
    windows that begin before `since` need no limit.
    """
    since_by_channel = query.reach.since if query.reach else {}
    channels_by_since: dict[datetime | None, list[ChannelId]] = {}
    for channel_id in sorted(channel_ids):
        since = since_by_channel.get(channel_id)
        is_limit = since is not None and (query.since is None or since > query.since)
        channels_by_since.setdefault(since if is_limit else None, []).append(channel_id)
    return tuple(
        (AnyOf("channel", tuple(chosen_channel_ids)),)
        if since is None
        else (AnyOf("channel", tuple(chosen_channel_ids)), Between("at", since.timestamp(), None))
        for since, chosen_channel_ids in (channels_by_since or {None: []}).items()
    )


def _match_flag(flag: str) -> AnyOf:
    return AnyOf("flags", (flag,))
