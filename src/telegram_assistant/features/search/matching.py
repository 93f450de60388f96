"""The posts that match a request, in its order: by words and by meaning, edited or deleted ones."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.search.fusion import fuse_rankings
from telegram_assistant.domain.search.query import SearchOrder
from telegram_assistant.features.search.meaning import WordsOnly, nearest_posts
from telegram_assistant.features.search.tenant_search import TenantSearch
from telegram_assistant.features.search.words import WordMatches, find_by_words
from telegram_assistant.stores.postgres.search.search import SearchPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedMatches:
    """Posts in their order, with how they were found."""

    ranked: Sequence[PostId]
    by_words: WordMatches
    near_posts: Sequence[PostId] = ()
    """Those that were found by meaning."""
    words_only: WordsOnly | None = None
    searched_back_to: datetime | None = None


async def find_matches(
    request: TenantSearch, *, after: SearchPosition | None, until: datetime
) -> RankedMatches:
    """One window of matches: the newest ones until `until`, or those older than `place`."""
    before = after or SearchPosition(until)
    if request.query.is_deleted:
        return await _find_deleted(request, before)
    by_words, (near_post_ids, words_only) = await asyncio.gather(
        find_by_words(request.query, request.limits, before=before, words=request.stores.words),
        nearest_posts(
            request.query,
            request.limits,
            scope=request.scope,
            until=until,
            tenant_id=request.tenant_id,
            index=request.index,
            patience_seconds=request.meaning_seconds,
        ),
    )
    if request.query.is_edited:
        edited_post_ids = await _keep_edited(request, (*by_words.ranked, *near_post_ids))
        by_words = replace(
            by_words, ranked=tuple(post_id for post_id in by_words.ranked if post_id in edited_post_ids)
        ).without_unranked()
        near_post_ids = [post_id for post_id in near_post_ids if post_id in edited_post_ids]
    if request.order is SearchOrder.NEWEST:
        ranked_post_ids, near_post_ids = await _order_by_time(
            request, by_words, near_post_ids, is_first=after is None
        )
    elif after is None:
        ranked_post_ids = fuse_rankings(by_words.ranked, near_post_ids)
    else:  # the nearest were ranked with the newest matches, on the pages before
        earlier_post_ids = set(near_post_ids)
        ranked_post_ids, near_post_ids = (
            [post_id for post_id in by_words.ranked if post_id not in earlier_post_ids],
            (),
        )
    oldest_position = by_words.continues_at
    return RankedMatches(
        ranked=ranked_post_ids,
        by_words=by_words,
        near_posts=near_post_ids,
        words_only=words_only,
        searched_back_to=oldest_position.posted_at if oldest_position else None,
    )


async def _find_deleted(request: TenantSearch, before: SearchPosition) -> RankedMatches:
    deleted_matches = await request.stores.changed_posts.find_deleted(
        request.query.words, request.limits, before=before
    )
    matches = {match.post_id: match for match in deleted_matches.matches}
    by_words = WordMatches(
        query=request.query,
        ranked=tuple(matches),
        matches=matches,
        continues_at=deleted_matches.continues_at,
        complete=frozenset(matches),
    )
    ranked_post_ids = by_words.ranked
    if request.query.is_edited:
        edited_post_ids = await _keep_edited(request, ranked_post_ids)
        by_words = replace(
            by_words, ranked=tuple(post_id for post_id in ranked_post_ids if post_id in edited_post_ids)
        ).without_unranked()
        ranked_post_ids = by_words.ranked
    if request.order is SearchOrder.BEST:
        ranked_post_ids = tuple(sorted(ranked_post_ids, key=lambda post_id: -matches[post_id].rank))
    searched_back_to = (
        deleted_matches.continues_at.posted_at
        if deleted_matches.continues_at
        else deleted_matches.searched_back_to
    )
    return RankedMatches(ranked=ranked_post_ids, by_words=by_words, searched_back_to=searched_back_to)


async def _keep_edited(request: TenantSearch, post_ids: Sequence[PostId]) -> frozenset[PostId]:
    return await request.stores.changed_posts.keep_edited(list(dict.fromkeys(post_ids)))


async def _order_by_time(
    request: TenantSearch, by_words: WordMatches, near_post_ids: Sequence[PostId], *, is_first: bool
) -> tuple[Sequence[PostId], Sequence[PostId]]:
    """Posts with all words, then those with some of them, then those found by meaning alone, each newest
    first.

    If older posts with all words follow on later pages, nothing else is shown: it would stand above newer
    posts.
    """
    matches = by_words.matches
    ranked_post_ids = sorted(
        by_words.ranked,
        key=lambda post_id: (
            post_id not in by_words.complete,
            -matches[post_id].posted_at.timestamp(),
            post_id,
        ),
    )
    if not is_first or by_words.continues_at is not None or not near_post_ids:
        return ranked_post_ids, ()
    posts_by_meaning_only = [post_id for post_id in near_post_ids if post_id not in matches]
    posts = (await request.stores.words.load(posts_by_meaning_only)).posts if posts_by_meaning_only else {}
    newest = sorted(posts, key=lambda post_id: (-posts[post_id].post.posted_at.timestamp(), post_id))
    return [*ranked_post_ids, *newest], near_post_ids
