"""Groups posts into stories: reads them, compares each with the posts of the days around it,
and groups what is linked.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.pairs import MAX_SCORE, compare
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.terms import StoryTerms, TermWeights, WeighedPost, weigh
from telegram_assistant.language.terms import hash_of_username, terms_of
from telegram_assistant.stores.postgres.stories.grouped_posts import Grouped
from telegram_assistant.stores.postgres.stories.grouping import Compared, StoryGroups, Surroundings
from telegram_assistant.stores.postgres.stories.neighbours import Neighbours
from telegram_assistant.stores.postgres.stories.post_terms import PostTerms
from telegram_assistant.stores.postgres.stories.sources import StorySource, StorySources


@dataclass(frozen=True, slots=True)
class StoryBuilder:
    """The stores that building stories needs."""

    sources: StorySources
    terms: PostTerms
    groups: StoryGroups

    async def group(
        self, post_ids: Sequence[PostId], *, now: datetime, compares_again: bool = False
    ) -> list[Grouped]:
        """Groups the current state of these posts. Those that were compared with the same terms before are
        not compared again, unless `compares_again`.

        Posts without text, picture or header have no story and are left out.
        """
        sources = {source.post: source for source in await self.sources.load(list(dict.fromkeys(post_ids)))}
        known_groups = {} if compares_again else await self.groups.load_grouped(list(sources))
        terms = await asyncio.to_thread(_terms_of_all, sources)
        hashes = {post: post_terms.hash for post, post_terms in terms.items()}
        done = [grouped for post, (terms_hash, grouped) in known_groups.items() if terms_hash == hashes[post]]
        passed_posts = {grouped.post for grouped in done}
        ungrouped_posts = [
            post
            for post, source in sources.items()
            if post not in passed_posts and (source.text.strip() or source.looks or _certain(source))
        ]
        if not ungrouped_posts:
            return done
        weights = await self.terms.weights(now, posts=len(ungrouped_posts))
        read = [_weigh_post(sources[post], terms[post], hashes[post], weights) for post in ungrouped_posts]
        async with self.groups.alone() as grouping:
            unchanged = await grouping.select_unchanged(
                {weighed_post.post: sources[weighed_post.post].revision for weighed_post in read}
            )
            weighed_posts = [weighed_post for weighed_post in read if weighed_post.post in unchanged]
            if not weighed_posts:
                return done
            around = await grouping.surround(weighed_posts, weights)
            comparisons = await asyncio.to_thread(_compare_posts, weighed_posts, sources, around, weights)
            return done + await grouping.regroup(comparisons, announce_moved=not compares_again)


def _compare_posts(
    weighed_posts: Sequence[WeighedPost],
    sources: Mapping[PostId, StorySource],
    around: Surroundings,
    weights: TermWeights,
) -> list[Compared]:
    passed_posts = {weighed_post.post for weighed_post in (*weighed_posts, *around.again)}
    comparisons = [
        _compare_post(
            weighed_post,
            sources[weighed_post.post],
            around.neighbours[weighed_post.post],
            passed_posts,
            weights,
        )
        for weighed_post in weighed_posts
    ]
    return comparisons + [
        _recompare_post(weighed_post, around.neighbours[weighed_post.post], weights)
        for weighed_post in around.again
    ]


def _terms_of_all(sources: Mapping[PostId, StorySource]) -> dict[PostId, StoryTerms]:
    return {post: _terms_of(source) for post, source in sources.items()}


def _terms_of(source: StorySource) -> StoryTerms:
    return replace(terms_of(source.text, addresses=source.addresses, seen=source.seen), looks=source.looks)


def _weigh_post(source: StorySource, terms: StoryTerms, terms_hash: int, weights: TermWeights) -> WeighedPost:
    username = hash_of_username(source.username) if source.username else 0
    return weigh(
        source.post,
        source.posted_at,
        terms,
        weights,
        is_private=source.is_private,
        username=username,
        terms_hash=terms_hash,
    )


def _certain(source: StorySource) -> dict[PostId, LinkKind]:
    """The posts to which Telegram links it."""
    headers = (
        (source.album, LinkKind.ALBUM),
        (source.reply_to, LinkKind.REPLY),
        (source.forwarded_from, LinkKind.FORWARD),
    )
    return {post: kind for post, kind in headers if post is not None and post != source.post}


def _compare_post(
    weighed_post: WeighedPost,
    source: StorySource,
    neighbours: Neighbours,
    passed: Collection[PostId],
    weights: TermWeights,
) -> Compared:
    """A new post beside earlier ones, and beside those later ones that do not look back at it themselves."""
    certain = _certain(source)
    others = [
        *neighbours.earlier,
        *(neighbour for neighbour in neighbours.later if neighbour.post not in passed),
    ]
    links = [
        link
        for other in others
        if other.post not in certain and (link := compare(weighed_post, other, weights)) is not None
    ]
    moment = weighed_post.posted_at
    links += [
        Link(weighed_post.post, post, kind, MAX_SCORE, moment, moment, is_leaf=weighed_post.is_private)
        for post, kind in certain.items()
    ]
    return Compared(weighed_post, tuple(links), neighbours.similar_count)


def _recompare_post(weighed_post: WeighedPost, neighbours: Neighbours, weights: TermWeights) -> Compared:
    links = tuple(
        link for other in neighbours.earlier if (link := compare(weighed_post, other, weights)) is not None
    )
    return Compared(weighed_post, links, neighbours.similar_count, is_changed=False)
