"""Searches posts by words and by meaning at once, for one tenant.

    words   -> PostgreSQL: the newest matches, by rank  --+
                                                          +--> fused by reciprocal rank --> texts
    meaning -> the vector store: the nearest posts      --+    --> grouped by story, copies folded --> a page

If the vector store is unavailable or slow, only words are searched, and the result says so.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo

from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.search.facets import Counted, facets_of
from telegram_assistant.domain.search.parsing import parse_query
from telegram_assistant.domain.search.query import SearchOrder
from telegram_assistant.domain.search.snippets import snippet_of
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.features.search.matching import find_matches
from telegram_assistant.features.search.meaning import MEANING_SECONDS
from telegram_assistant.features.search.pages import CHARACTERS_AT_ONCE, Bookmark, ResultGroup, ResultGroups
from telegram_assistant.features.search.results import FoundStory, SearchPage, SearchResult
from telegram_assistant.features.search.tenant_search import SearchBasis, TenantSearch, resolve_search
from telegram_assistant.features.search.words import WordMatches
from telegram_assistant.stores.postgres.search.search import (
    BEGINS,
    ENDS,
    FAR_FUTURE,
    MAX_MATCHES,
    Loaded,
    Match,
    SearchScope,
)
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.stories.own_stories import StoryMaterial
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from telegram_assistant.vectors.index import MeaningSearch

CLOCKS_DIFFER = timedelta(minutes=5)
MAX_FOUND = 100
"""Per page; a file holds the posts that are ranked together."""
NOTHING_READ = SearchBasis()
EMPTY_WINDOWS = 5
"""How many further windows are searched if a window has no results."""


async def search(  # noqa: PLR0913 -- the query, its tenant, its limits and its stores
    typed_text: str,
    *,
    tenant_id: TenantId,
    stores: TenantStores,
    index: MeaningSearch | None,
    now: datetime,
    zone: tzinfo = UTC,
    limit: int = 20,
    cursor: str | None = None,
    by_story: bool = False,
    order: SearchOrder = SearchOrder.BEST,
    meaning_seconds: float = MEANING_SECONDS,
    basis: SearchBasis = NOTHING_READ,
    with_marks: bool = True,
) -> SearchPage:
    """Searches the channels that the tenant follows. Days are those of `zone`. With `by_story`, a story is
    one result.

    The best match comes first, or in the order `newest` the newest post that has the words.
    Waits at most `meaning_seconds` for semantic results. `cursor` is that of the previous page. Without
    marks, snippets do not show the words that matched.

    Raises Rejected, with what to write instead, if the query is not valid; Busy if PostgreSQL is unavailable.
    """
    query = parse_query(typed_text, today=now.astimezone(zone).date())
    request = await resolve_search(
        query,
        basis=basis,
        tenant_id=tenant_id,
        stores=stores,
        index=index,
        zone=zone,
        by_story=by_story,
        order=order,
    )
    request = replace(request, meaning_seconds=meaning_seconds, with_marks=with_marks)
    mark = Bookmark.read(cursor, about=request.about) if cursor else Bookmark(as_of=now)
    answer = await _page(request, mark, limit=max(1, min(limit, MAX_MATCHES)))
    for _ in range(EMPTY_WINDOWS):
        if answer.results or answer.cursor is None:
            break
        answer = await _page(request, Bookmark.read(answer.cursor, about=request.about), limit=limit)
    return answer


# --- one page --------------------------------------------------------------------------------


async def _page(request: TenantSearch, mark: Bookmark, *, limit: int) -> SearchPage:
    is_first = mark.place is None and not mark.offset
    newest = min(mark.as_of + (CLOCKS_DIFFER if is_first else timedelta()), request.until or FAR_FUTURE)
    outcome = await find_matches(request, after=mark.place, until=newest)
    matches, ranked_post_ids, near_post_ids = outcome.by_words, outcome.ranked, outcome.near_posts
    matches_by_post = dict(matches.matches)
    if request.scope.tag_names:
        matches_by_post = {
            post_id: replace(match, tags=request.scope.display_tags(match.tags))
            for post_id, match in matches_by_post.items()
        }
    by_meaning_only = [post_id for post_id in near_post_ids if post_id not in matches_by_post]
    reached_count = mark.offset + limit
    facets = facets_of(_count_matches(request, matches_by_post.values()))
    popular_channel_ids = [facet.value for facet in facets.channels]
    (loaded_results, groups, is_all), understood = await asyncio.gather(
        _load_groups(
            request,
            ranked_post_ids,
            by_meaning_only,
            popular_channel_ids,
            until=mark.as_of + CLOCKS_DIFFER,
            enough=reached_count + 1,
        ),
        _load_tags(request, by_meaning_only),
    )
    if by_meaning_only:
        matches_by_post |= {
            post_id: _as_match(loaded_results.posts[post_id].post, understood.get(post_id), request.scope)
            for post_id in by_meaning_only
            if post_id in loaded_results.posts
        }
        facets = facets_of(_count_matches(request, matches_by_post.values()))
    following: Bookmark | None = None
    if len(groups) > reached_count or not is_all:
        following = replace(mark, offset=reached_count)
    elif matches.continues_at is not None:
        following = Bookmark(mark.as_of, matches.continues_at)
    named_channels = tuple(
        replace(channel, name=loaded_results.channels[channel.value].title)
        for channel in facets.channels
        if channel.value in loaded_results.channels
    )
    return SearchPage(
        query=str(request.query),
        results=await _build_results(
            request,
            groups[mark.offset : reached_count],
            loaded_results,
            matches_by_post,
            matches,
            near_posts=set(near_post_ids),
        ),
        facets=replace(facets, channels=named_channels),
        searched_back_to=outcome.searched_back_to,
        words_only=outcome.words_only,
        relaxed=matches.relaxed,
        mended=matches.mended,
        gave_up=matches.gave_up,
        cursor=following.encode(about=request.about) if following else None,
    )


async def _load_groups(
    request: TenantSearch,
    ranked_post_ids: Sequence[PostId],
    near_post_ids: Sequence[PostId],
    popular_channel_ids: Sequence[ChannelId],
    *,
    until: datetime,
    enough: int,
) -> tuple[Loaded, list[ResultGroup], bool]:
    """Loads posts in order until they make enough groups. Also returns whether all were loaded. Always loads
    `beside`, for the facets.

    Posts of stories that are later than `until` are left out: one that joins two stories would shift the
    pages.
    """
    loaded_results, results = Loaded({}, {}), ResultGroups()
    stories: dict[PostId, VisibleStory] = {}
    reached_count, upto = 0, enough + enough // 2
    strict_words = request.query.strict_words if near_post_ids else ""
    while True:
        missing_post_ids = [
            post_id
            for post_id in dict.fromkeys((*ranked_post_ids[reached_count:upto], *near_post_ids))
            if post_id not in loaded_results.posts
        ]
        if missing_post_ids or popular_channel_ids:
            more = await request.stores.words.load(
                missing_post_ids,
                channel_ids=popular_channel_ids,
                strict_words=strict_words,
                stories_until=until if request.by_story else None,
                with_deleted=request.query.is_deleted,
            )
            loaded_results = Loaded(
                {**loaded_results.posts, **more.posts},
                {**loaded_results.channels, **more.channels},
                edited=loaded_results.edited | more.edited,
            )
            stories |= _stories_by_post(more.stories)
        await results.add(
            (
                loaded_results.posts[post_id]
                for post_id in ranked_post_ids[reached_count:upto]
                if post_id in loaded_results.posts
            ),
            stories,
        )
        if len(results.groups) >= enough or upto >= len(ranked_post_ids):
            return loaded_results, results.groups, upto >= len(ranked_post_ids)
        reached_count, upto = upto, upto * 3


def _stories_by_post(material: StoryMaterial | None) -> dict[PostId, VisibleStory]:
    if material is None:
        return {}
    return {
        post.post_id: story for story in material.stories() if len(story.posts) > 1 for post in story.posts
    }


async def _load_tags(request: TenantSearch, near_post_ids: Sequence[PostId]) -> Mapping[PostId, Enrichment]:
    return await request.stores.enrichments.load_best(near_post_ids, Kind.TAGS) if near_post_ids else {}


def _as_match(post: Post, understood_enrichment: Enrichment | None, scope: SearchScope) -> Match:
    data = understood_enrichment.data if understood_enrichment else {}
    tags, kind = data.get("tags"), data.get("kind")
    tag_names = scope.display_tags(map(str, tags)) if isinstance(tags, list) else ()
    return Match(post.id, post.posted_at, 0.0, post.lang, kind if isinstance(kind, str) else None, tag_names)


def _count_matches(request: TenantSearch, matches: Iterable[Match]) -> Iterator[Counted]:
    for match in matches:
        yield Counted(
            match.post_id.channel_id,
            match.posted_at.astimezone(request.zone).date(),
            match.lang,
            match.kind,
            match.tags,
        )


async def _build_results(
    request: TenantSearch,
    groups: Sequence[ResultGroup],
    loaded_results: Loaded,
    matches_by_post: Mapping[PostId, Match],
    matches: WordMatches,
    *,
    near_posts: AbstractSet[PostId],
) -> tuple[SearchResult, ...]:
    texts = [group.stored.post.text for group in groups]
    marked_texts = (
        await request.stores.words.mark_words(texts, matches.query.words)
        if request.with_marks and request.query.meaning and texts
        else texts
    )
    results, character_count = [], 0
    for group, text in zip(groups, marked_texts, strict=True):
        post, channel = group.stored.post, loaded_results.channels[group.stored.post.channel_id]
        results.append(
            SearchResult(
                post_id=post.id,
                posted_at=post.posted_at,
                channel=channel.title,
                link=link_to(post.id, channel.username),
                text=post.text,
                snippet=snippet_of(text, opening=BEGINS, closing=ENDS),
                lang=post.lang,
                kind=matches_by_post[post.id].kind,
                tags=matches_by_post[post.id].tags,
                copies=tuple(group.copies),
                by_words=post.id in matches.matches and post.id not in matches.related,
                by_meaning=post.id in near_posts,
                by_names=post.id in matches.related,
                story=_story(group),
                is_edited=post.id in loaded_results.edited,
                deleted_at=group.stored.deleted_at,
            )
        )
        character_count += len(text)
        if (
            character_count >= CHARACTERS_AT_ONCE
        ):  # the snippet of a text full of marks takes some milliseconds
            character_count = 0
            await asyncio.sleep(0)
    return tuple(results)


def _story(group: ResultGroup) -> FoundStory | None:
    if group.story is None:
        return None
    own_entry = next((post.entry for post in group.story.posts if post.post_id == group.stored.post.id), None)
    other_entries = tuple(
        post for post in group.story.entries if post.entry != own_entry and post.deleted_at is None
    )
    return FoundStory(group.story.story_id, other_entries) if other_entries else None
