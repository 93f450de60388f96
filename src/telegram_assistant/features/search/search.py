"""Searches posts by words and by meaning at once, for one tenant.

    words   -> PostgreSQL: the newest matches, by rank  --+
                                                          +--> fused by reciprocal rank --> texts
    meaning -> the vector store: the nearest posts      --+    --> grouped by story, copies folded --> a page

If the vector store is unavailable or slow, only words are searched, and the result says so.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.search.facets import Counted, facets_of
from telegram_assistant.domain.search.fusion import fuse_rankings
from telegram_assistant.domain.search.query import Query, parse_query
from telegram_assistant.domain.search.snippets import snippet_of
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.errors import Rejected
from telegram_assistant.features.channels.channels import pick
from telegram_assistant.features.search.meaning import MEANING_SECONDS, nearest_posts
from telegram_assistant.features.search.pages import CHARACTERS_AT_ONCE, Bookmark, ResultGroup, ResultGroups
from telegram_assistant.features.search.results import FoundStory, SearchPage, SearchResult
from telegram_assistant.features.search.words import WordMatches, find_by_words
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.search.search import (
    BEGINS,
    ENDS,
    FAR_FUTURE,
    Loaded,
    Match,
    Named,
    SearchFilters,
    SearchPosition,
    SearchScope,
)
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.stories.own_stories import StoryMaterial
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from telegram_assistant.vectors.index import MeaningSearch

CLOCKS_DIFFER = timedelta(minutes=5)
HIDDEN = ""
"""No tag has this name, so it matches nothing."""
MAX_FOUND = 100
EMPTY_WINDOWS = 5
"""How many further windows are searched if a window has no results."""


async def search(  # noqa: PLR0913 -- the query, its tenant, its limits and its stores
    typed: str,
    *,
    tenant_id: TenantId,
    stores: TenantStores,
    index: MeaningSearch | None,
    now: datetime,
    zone: tzinfo = UTC,
    limit: int = 20,
    cursor: str | None = None,
    by_story: bool = False,
    meaning_seconds: float = MEANING_SECONDS,
) -> SearchPage:
    """Searches the channels that the tenant follows. Days are those of `zone`. With `by_story`, a story is
    one result.

    Waits at most `meaning_seconds` for semantic results. `cursor` is that of the previous page.

    Raises Rejected, with what to write instead, if the query is not valid; Busy if PostgreSQL is unavailable.
    """
    query = parse_query(typed, today=now.astimezone(zone).date())
    if query == Query(with_ads=query.with_ads):
        raise Rejected(
            Reason(
                "query_empty",
                "the query is empty; write a word, or a filter such as from:@channel or since:yesterday",
            )
        )
    request = await _build_request(
        query,
        tenant_id=tenant_id,
        stores=stores,
        index=index,
        zone=zone,
        by_story=by_story,
        meaning_seconds=meaning_seconds,
    )
    mark = Bookmark.read(cursor, about=request.about) if cursor else Bookmark(as_of=now)
    answer = await _page(request, mark, limit=max(1, min(limit, MAX_FOUND)))
    for _ in range(EMPTY_WINDOWS):
        if answer.found or answer.cursor is None:
            break
        answer = await _page(request, Bookmark.read(answer.cursor, about=request.about), limit=limit)
    return answer


@dataclass(frozen=True, slots=True)
class _SearchRequest:
    """A parsed query with everything needed to answer it."""

    query: Query
    limits: SearchFilters
    until: datetime | None
    scope: SearchScope
    tenant_id: TenantId
    stores: TenantStores
    index: MeaningSearch | None
    meaning_seconds: float
    zone: tzinfo
    by_story: bool

    @property
    def about(self) -> str:
        """What a cursor belongs to."""
        return f"{self.query} by story" if self.by_story else str(self.query)


async def _build_request(
    query: Query,
    *,
    tenant_id: TenantId,
    stores: TenantStores,
    index: MeaningSearch | None,
    meaning_seconds: float,
    zone: tzinfo,
    by_story: bool,
) -> _SearchRequest:
    scope = await stores.words.scope(with_policies=index is not None and bool(query.meaning))
    channels: tuple[ChannelId, ...] | None = None
    if query.channels:
        followed = await stores.followed.channels()
        channels = tuple(pick(followed, channel).channel_id for channel in query.channels)
    limits = SearchFilters(
        channels=channels,
        since=_midnight(query.since, zone) if query.since else None,
        languages=query.languages,
        has=query.has,
        tags=scope.meant(query.tags) or ((HIDDEN,) if query.tags else ()),
        kinds=query.kinds,
        with_ads=query.with_ads,
    )
    until = _midnight(query.until + timedelta(days=1), zone) if query.until else None
    return _SearchRequest(
        query, limits, until, scope, tenant_id, stores, index, meaning_seconds, zone, by_story
    )


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), tzinfo=zone)


# --- one page --------------------------------------------------------------------------------


async def _page(request: _SearchRequest, mark: Bookmark, *, limit: int) -> SearchPage:
    is_first = mark.place is None and not mark.offset
    newest = min(mark.as_of + (CLOCKS_DIFFER if is_first else timedelta()), request.until or FAR_FUTURE)
    matches, (near, words_only) = await asyncio.gather(
        find_by_words(
            request.query,
            request.limits,
            before=mark.place or SearchPosition(newest),
            words=request.stores.words,
        ),
        nearest_posts(
            request.query,
            request.limits,
            scope=request.scope,
            until=newest,
            tenant_id=request.tenant_id,
            index=request.index,
            patience_seconds=request.meaning_seconds,
        ),
    )
    by_words = list(matches.ranked)
    if mark.place is not None:  # the nearest were ranked with the newest matches, on the pages before
        earlier = set(near)
        by_words, near = [by_word for by_word in by_words if by_word not in earlier], ()
    ranked = fuse_rankings(by_words, near)
    known = dict(matches.matches)
    if request.scope.tag_names:
        known = {
            post_id: replace(match, tags=request.scope.shown(match.tags)) for post_id, match in known.items()
        }
    beside = [post_id for post_id in near if post_id not in known]
    reached = mark.offset + limit
    facets = facets_of(_counted(request, known.values()))
    popular = [facet.value for facet in facets.channels]
    (loaded, groups, is_all), understood = await asyncio.gather(
        _load_groups(request, ranked, beside, popular, until=mark.as_of + CLOCKS_DIFFER, enough=reached + 1),
        _understood(request, beside),
    )
    if beside:
        known |= {
            post_id: _as_match(loaded.posts[post_id].post, understood.get(post_id), request.scope)
            for post_id in beside
            if post_id in loaded.posts
        }
        facets = facets_of(_counted(request, known.values()))
    following: Bookmark | None = None
    if len(groups) > reached or not is_all:
        following = replace(mark, offset=reached)
    elif matches.continues_at is not None:
        following = Bookmark(mark.as_of, matches.continues_at)
    named = tuple(
        replace(channel, name=loaded.channels[channel.value].title)
        for channel in facets.channels
        if channel.value in loaded.channels
    )
    return SearchPage(
        query=str(request.query),
        found=await _found(
            request, groups[mark.offset : reached], loaded.channels, known, matches, near=set(near)
        ),
        facets=replace(facets, channels=named),
        searched_back_to=matches.continues_at.posted_at if matches.continues_at else None,
        words_only=words_only,
        relaxed=matches.relaxed,
        mended=matches.mended,
        cursor=following.encode(about=request.about) if following else None,
    )


async def _load_groups(
    request: _SearchRequest,
    ranked: Sequence[PostId],
    beside: Sequence[PostId],
    popular: Sequence[ChannelId],
    *,
    until: datetime,
    enough: int,
) -> tuple[Loaded, list[ResultGroup], bool]:
    """Loads posts in order until they make enough groups. Also returns whether all were loaded. Always loads
    `beside`, for the facets.

    Posts of stories that are later than `until` are left out: one that joins two stories would shift the
    pages.
    """
    loaded, results = Loaded({}, {}), ResultGroups()
    stories: dict[PostId, VisibleStory] = {}
    reached, upto = 0, enough + enough // 2
    strict_words = request.query.strict_words if beside else ""
    while True:
        missing = [
            post_id
            for post_id in dict.fromkeys((*ranked[reached:upto], *beside))
            if post_id not in loaded.posts
        ]
        more = await request.stores.words.load(
            missing,
            channel_ids=popular,
            strict_words=strict_words,
            stories_until=until if request.by_story else None,
        )
        loaded = Loaded({**loaded.posts, **more.posts}, {**loaded.channels, **more.channels})
        stories |= _stories_by_post(more.stories)
        await results.add(
            (loaded.posts[post_id] for post_id in ranked[reached:upto] if post_id in loaded.posts), stories
        )
        if len(results.groups) >= enough or upto >= len(ranked):
            return loaded, results.groups, upto >= len(ranked)
        reached, upto = upto, upto * 3


def _stories_by_post(material: StoryMaterial | None) -> dict[PostId, VisibleStory]:
    if material is None:
        return {}
    return {
        post.post_id: story for story in material.stories() if len(story.posts) > 1 for post in story.posts
    }


async def _understood(request: _SearchRequest, beside: Sequence[PostId]) -> Mapping[PostId, Enrichment]:
    return await request.stores.enrichments.of(beside, Kind.TAGS) if beside else {}


def _as_match(post: Post, understood: Enrichment | None, scope: SearchScope) -> Match:
    data = understood.data if understood else {}
    tags, kind = data.get("tags"), data.get("kind")
    named = scope.shown(map(str, tags)) if isinstance(tags, list) else ()
    return Match(post.id, post.posted_at, 0.0, post.lang, kind if isinstance(kind, str) else None, named)


def _counted(request: _SearchRequest, known: Iterable[Match]) -> Iterator[Counted]:
    for match in known:
        yield Counted(
            match.post_id.channel_id,
            match.posted_at.astimezone(request.zone).date(),
            match.lang,
            match.kind,
            match.tags,
        )


async def _found(
    request: _SearchRequest,
    groups: Sequence[ResultGroup],
    channels: Mapping[ChannelId, Named],
    known: Mapping[PostId, Match],
    matches: WordMatches,
    *,
    near: AbstractSet[PostId],
) -> tuple[SearchResult, ...]:
    texts = [group.stored.post.text for group in groups]
    marked = (
        await request.stores.words.marked(texts, matches.query.words)
        if request.query.meaning and texts
        else texts
    )
    results, characters = [], 0
    for group, text in zip(groups, marked, strict=True):
        post, channel = group.stored.post, channels[group.stored.post.channel_id]
        results.append(
            SearchResult(
                post_id=post.id,
                posted_at=post.posted_at,
                channel=channel.title,
                link=link_to(post.id, channel.username),
                text=post.text,
                snippet=snippet_of(text, begins=BEGINS, ends=ENDS),
                lang=post.lang,
                kind=known[post.id].kind,
                tags=known[post.id].tags,
                copies=tuple(group.copies),
                by_words=post.id in matches.matches and post.id not in matches.related,
                by_meaning=post.id in near,
                by_names=post.id in matches.related,
                story=_story(group),
            )
        )
        characters += len(text)
        if characters >= CHARACTERS_AT_ONCE:  # the snippet of a text full of marks takes some milliseconds
            characters = 0
            await asyncio.sleep(0)
    return tuple(results)


def _story(group: ResultGroup) -> FoundStory | None:
    if group.story is None:
        return None
    own = next((post.entry for post in group.story.posts if post.post_id == group.stored.post.id), None)
    more = tuple(post for post in group.story.entries if post.entry != own and post.deleted_at is None)
    return FoundStory(group.story.story_id, more) if more else None
