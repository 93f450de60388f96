"""Groups posts into stories: reads them, compares each with the posts of the days around it, and groups what is linked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.pairs import MAX_SCORE, compare
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.terms import StoryTerms, TermWeights, WeighedPost, weigh
from telegram_assistant.language.terms import hash_of_username, terms_of
from telegram_assistant.stores.postgres.stories.grouping import Compared, Grouped, StoryGroups
from telegram_assistant.stores.postgres.stories.post_terms import PostTerms
from telegram_assistant.stores.postgres.stories.sources import StorySource, StorySources

MAX_SAME, MAX_ACROSS = 15, 8
"""With so many posts of its own language and of others a post is compared."""


@dataclass(frozen=True, slots=True)
class StoryBuilder:
    """The stores that building stories needs."""

    sources: StorySources
    terms: PostTerms
    groups: StoryGroups

    async def group(self, posts: Sequence[PostId], *, now: datetime, again: bool = False) -> list[Grouped]:
        """Groups the current state of these posts. Those that were compared with the same terms before are not compared again, unless `again`.

        Posts without text, picture or header have no story and are left out.
        """
        sources = {one.post: one for one in await self.sources.load(list(dict.fromkeys(posts)))}
        known = {} if again else await self.groups.grouped(list(sources))
        terms = {post: _terms_of(source) for post, source in sources.items()}
        hashes = {post: one.hash for post, one in terms.items()}
        done = [grouped for post, (terms_hash, grouped) in known.items() if terms_hash == hashes[post]]
        passed = {one.post for one in done}
        left = [post for post, one in sources.items() if post not in passed and (one.text.strip() or one.looks or _certain(one))]
        if not left:
            return done
        weights = await self.terms.weights(now)
        told = [_weighed(sources[post], terms[post], hashes[post], weights) for post in left]
        await self.terms.put(told, weights)
        candidates = await self.terms.candidates(told, weights)
        return done + await self.groups.regroup([_compared(one, sources[one.post], candidates, weights) for one in told])


def _terms_of(source: StorySource) -> StoryTerms:
    return replace(terms_of(source.text, addresses=source.addresses, seen=source.seen), looks=source.looks)


def _weighed(source: StorySource, terms: StoryTerms, terms_hash: int, weights: TermWeights) -> WeighedPost:
    username = hash_of_username(source.username) if source.username else 0
    return weigh(source.post, source.posted_at, terms, weights, is_private=source.is_private, username=username, terms_hash=terms_hash)


def _certain(source: StorySource) -> dict[PostId, LinkKind]:
    """The posts to which Telegram links it."""
    headers = ((source.album, LinkKind.ALBUM), (source.reply_to, LinkKind.REPLY), (source.forwarded_from, LinkKind.FORWARD))
    return {post: kind for post, kind in headers if post is not None and post != source.post}


def _compared(told: WeighedPost, source: StorySource, candidates: Mapping[PostId, list[WeighedPost]], weights: TermWeights) -> Compared:
    certain = _certain(source)
    others = [one for one in chosen(told, candidates[told.post]) if one.post not in certain]
    links = [link for other in others if (link := compare(told, other, weights)) is not None]
    moment = told.posted_at
    links += [Link(told.post, post, kind, MAX_SCORE, moment, moment, is_leaf=told.is_private) for post, kind in certain.items()]
    return Compared(told, tuple(links), {one.post: one.terms_hash for one in others})


def chosen(told: WeighedPost, candidates: Sequence[WeighedPost]) -> list[WeighedPost]:
    """The first of the candidates, so many of the post's own language and of others."""
    same = [one for one in candidates if one.terms.language == told.terms.language]
    across = [one for one in candidates if one.terms.language != told.terms.language]
    return same[:MAX_SAME] + across[:MAX_ACROSS]
