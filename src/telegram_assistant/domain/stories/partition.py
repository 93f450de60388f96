"""Which posts make one story, from the links between them. The same posts and links give the same stories, in whatever order they came.

Certain links hold always. Others hold in the order of their scores, and two groups become one only if enough of their posts are
linked: one false link in a chain of posts about similar events must not make one story of all of them.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.story import Link, LinkKind

SUPPORT = 0.15
"""The share of pairs between two groups that must be linked."""
MAX_SUPPORT = 3
"""So many links suffice, however large the groups are: a post is compared with a few others only."""
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
        groups.unite(link, must_hold=link.kind in UNITES)
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
        self._links: dict[PostId, dict[PostId, int]] = defaultdict(dict)

    def link(self, link: Link) -> None:
        if link.post in self._group and link.other in self._group:
            self._count(link.post, link.other, 1)

    def unite(self, link: Link, *, must_hold: bool) -> None:
        if link.post not in self._group or link.other not in self._group:
            return
        one, other = self._group[link.post], self._group[link.other]
        if one != other and (must_hold or self._may_unite(one, other)):
            self._unite(*((one, other) if len(self._members[one]) >= len(self._members[other]) else (other, one)))

    def attach(self, link: Link, private: Collection[PostId]) -> None:
        """A private post that is alone joins the group of the other end."""
        for leaf, post in ((link.post, link.other), (link.other, link.post)):
            if leaf in private and self._members.get(leaf) == [leaf] and post in self._group:
                self._unite(self._group[post], leaf)
                return

    def all(self) -> list[frozenset[PostId]]:
        return sorted((frozenset(one) for one in self._members.values()), key=lambda one: min((self._posts[post], post) for post in one))

    def _may_unite(self, one: PostId, other: PostId) -> bool:
        (begins, ends), (other_begins, other_ends) = self._spans[one], self._spans[other]
        if max(ends, other_ends) - min(begins, other_begins) > MAX_SPAN:
            return False
        pairs = len(self._members[one]) * len(self._members[other])
        return self._links[one].get(other, 0) >= min(SUPPORT * pairs, MAX_SUPPORT)

    def _unite(self, one: PostId, other: PostId) -> None:
        """The other group becomes part of the one."""
        for post in self._members[other]:
            self._group[post] = one
        self._members[one] += self._members.pop(other)
        (begins, ends), (other_begins, other_ends) = self._spans[one], self._spans.pop(other)
        self._spans[one] = min(begins, other_begins), max(ends, other_ends)
        for third, count in self._links.pop(other, {}).items():
            self._links[third].pop(other, None)
            if third != one:
                self._count(one, third, count)

    def _count(self, one: PostId, other: PostId, count: int) -> None:
        self._links[one][other] = self._links[one].get(other, 0) + count
        self._links[other][one] = self._links[other].get(one, 0) + count


def connected(posts: Collection[PostId], links: Iterable[Link]) -> list[frozenset[PostId]]:
    """The connected parts of some posts of a story: what a reader of these posts alone is shown together."""
    parts = {post: {post} for post in posts}
    for link in links:
        one, other = parts.get(link.post), parts.get(link.other)
        if one is not None and other is not None and one is not other:
            one |= other
            parts |= dict.fromkeys(other, one)
    return sorted({frozenset(part) for part in parts.values()}, key=min)
