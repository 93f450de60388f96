"""Which posts make one story, from the links between them. The same posts and links give the same stories, in whatever order they came.

Certain links hold always. Otherwise the two groups become one whose posts are linked best on average, again and again, until no average
suffices. What is not linked counts as 0: one false link between posts about similar events must not make one story of all of them.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.story import Link, LinkKind

SUPPORT = 0.2
"""The mean score over all pairs between two groups, linked or not, that makes them one."""
MAX_SPAN = timedelta(days=7)
"""A story grows no longer than this by estimated links: what goes on for weeks is a topic."""
UNITES = frozenset({LinkKind.FORWARD, LinkKind.ALBUM, LinkKind.REPLY})


def partition(posts: Mapping[PostId, datetime], links: Collection[Link], private: Collection[PostId] = ()) -> list[frozenset[PostId]]:
    """The groups of these posts, the one with the earliest post first. Posts of private channels join last, each one group."""
    groups = _Groups(posts)
    ordered = sorted((one for one in links if not one.is_leaf), key=_order)
    for link in ordered:
        groups.link(link)
    for link in ordered:
        if link.kind in UNITES:
            groups.hold(link)
    groups.unite_the_best()
    for link in sorted((one for one in links if one.is_leaf), key=_order):
        groups.attach(link, private)
    return groups.all()


def _order(link: Link) -> tuple[bool, float, PostId, PostId]:
    return link.kind not in UNITES, -link.score, link.post, link.other


class _Groups:
    def __init__(self, posts: Mapping[PostId, datetime]) -> None:
        self._posts = posts
        self._group = {post: post for post in posts}
        self._members = {post: [post] for post in posts}
        self._spans = {post: (at, at) for post, at in posts.items()}
        self._scores: dict[PostId, dict[PostId, float]] = defaultdict(dict)

    def link(self, link: Link) -> None:
        if link.post in self._group and link.other in self._group:
            self._add(link.post, link.other, link.score)

    def hold(self, link: Link) -> None:
        if link.post in self._group and link.other in self._group and self._group[link.post] != self._group[link.other]:
            self._unite(self._group[link.post], self._group[link.other])

    def unite_the_best(self) -> None:
        """Average linkage. Of equal averages the earlier groups are united first."""
        waiting = [self._waiting(one, other) for one, others in self._scores.items() for other in others if one < other]
        heapify(waiting)
        while waiting and -waiting[0][0] >= SUPPORT:
            best = heappop(waiting)
            one, other = best[-2:]
            if one not in self._members or other not in self._members or self._waiting(one, other) != best or not self._is_short(one, other):
                continue
            self._unite(one, other)
            for third in self._scores[one]:
                heappush(waiting, self._waiting(*sorted((one, third))))

    def attach(self, link: Link, private: Collection[PostId]) -> None:
        """A private post that is alone joins the group of the other end."""
        for leaf, post in ((link.post, link.other), (link.other, link.post)):
            if leaf in private and self._members.get(leaf) == [leaf] and post in self._group:
                self._unite(self._group[post], leaf)
                return

    def all(self) -> list[frozenset[PostId]]:
        return sorted((frozenset(one) for one in self._members.values()), key=lambda one: min((self._posts[post], post) for post in one))

    def _waiting(self, one: PostId, other: PostId) -> tuple[float, PostId, PostId]:
        pairs = len(self._members[one]) * len(self._members[other])
        return -self._scores[one].get(other, 0.0) / pairs, one, other

    def _is_short(self, one: PostId, other: PostId) -> bool:
        (begins, ends), (other_begins, other_ends) = self._spans[one], self._spans[other]
        return max(ends, other_ends) - min(begins, other_begins) <= MAX_SPAN

    def _unite(self, one: PostId, other: PostId) -> None:
        """The other group becomes part of the one."""
        for post in self._members[other]:
            self._group[post] = one
        self._members[one] += self._members.pop(other)
        (begins, ends), (other_begins, other_ends) = self._spans[one], self._spans.pop(other)
        self._spans[one] = min(begins, other_begins), max(ends, other_ends)
        for third, score in self._scores.pop(other, {}).items():
            self._scores[third].pop(other, None)
            if third != one:
                self._add(one, third, score)

    def _add(self, one: PostId, other: PostId, score: float) -> None:
        self._scores[one][other] = self._scores[one].get(other, 0.0) + score
        self._scores[other][one] = self._scores[other].get(one, 0.0) + score


def connected(posts: Collection[PostId], links: Iterable[Link]) -> list[frozenset[PostId]]:
    """The connected parts of some posts of a story: what a reader of these posts alone is shown together."""
    parts = {post: {post} for post in posts}
    for link in links:
        one, other = parts.get(link.post), parts.get(link.other)
        if one is not None and other is not None and one is not other:
            one |= other
            parts |= dict.fromkeys(other, one)
    return sorted({frozenset(part) for part in parts.values()}, key=min)
