"""Groups posts into stories: reads them, compares each with the posts of the days around it,
and groups what is linked.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.dated_weights import DatedWeights, compare_dated
from telegram_assistant.domain.stories.pairs import MAX_SCORE
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.terms import StoryTerms, WeighedPost, weigh
from telegram_assistant.language.terms import hash_of_username, terms_of
from telegram_assistant.stores.postgres.stories.grouped_posts import Grouped
from telegram_assistant.stores.postgres.stories.linking import Surroundings
from telegram_assistant.stores.postgres.stories.post_terms import PostTerms
from telegram_assistant.stores.postgres.stories.sources import StorySource, StorySources
from telegram_assistant.stores.postgres.stories.story_groups import StoryGroups


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
        weights = await self.terms.weights(now, [sources[post].posted_at for post in ungrouped_posts])
        read = [_weigh_post(sources[post], terms[post], hashes[post], weights) for post in ungrouped_posts]
        put = await self.groups.put(read, {post: sources[post].revision for post in ungrouped_posts})
        if put is None:
            return done
        around = await self.groups.look_around(put)
        links = await asyncio.to_thread(_compare_posts, put.weighed, sources, around, weights)
        linked = await self.groups.write_links(put, around, links, weights)
        return done + await self.groups.group(put.weighed, linked, announce_moved=not compares_again)

    async def sweep(self, *, now: datetime) -> int:
        """Compares and groups posts whose links have changed and whose batch died before it grouped them.

        Returns how many.
        """
        swept = 0
        while dirty := await self.groups.left_behind(now):
            moments = [post.posted_at for post in dirty if post.posted_at is not None]
            await self.groups.sweep(dirty, await self.terms.weights(now, moments), now)
            swept += len(dirty)
        return swept


def _compare_posts(
    posts: Sequence[WeighedPost],
    sources: Mapping[PostId, StorySource],
    around: Surroundings,
    weights: DatedWeights,
) -> list[Link]:
    return [link for post in posts for link in _compare_post(post, sources[post.post], around, weights)]


def _compare_post(
    post: WeighedPost, source: StorySource, around: Surroundings, weights: DatedWeights
) -> list[Link]:
    """A post beside earlier ones, except those that its header names, and beside those later ones that have
    not seen it.
    """
    certain = _certain(source)
    others = [
        *(other for other in around.earlier[post.post].earlier if other.weighed.post not in certain),
        *around.later[post.post],
    ]
    links = [link for other in others if (link := compare_dated(post, other.weighed, weights)) is not None]
    moment = post.posted_at
    return links + [
        Link(post.post, other, kind, MAX_SCORE, moment, moment, is_leaf=post.is_private)
        for other, kind in certain.items()
    ]


def _terms_of_all(sources: Mapping[PostId, StorySource]) -> dict[PostId, StoryTerms]:
    return {post: _terms_of(source) for post, source in sources.items()}


def _terms_of(source: StorySource) -> StoryTerms:
    return replace(terms_of(source.text, addresses=source.addresses, seen=source.seen), looks=source.looks)


def _weigh_post(
    source: StorySource, terms: StoryTerms, terms_hash: int, weights: DatedWeights
) -> WeighedPost:
    username = hash_of_username(source.username) if source.username else 0
    return weigh(
        source.post,
        source.posted_at,
        terms,
        weights.of(source.posted_at),
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
