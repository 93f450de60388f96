"""Which posts make one story, from the links between them. The same posts and links give the same stories, in
whatever order they came.

Certain links hold always. Otherwise the two groups become one whose posts are linked best on average, again
and again, until no average suffices. A pair without a link counts as 0: one false link between posts about
similar events must not make one story of all of them.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.story import Link, LinkKind

SUPPORT = 0.2
"""The mean score over all pairs between two groups, linked or not, that makes them one."""
MAX_SPAN = timedelta(days=7)
"""A story grows no longer than this by estimated links: what goes on for weeks is a topic."""
UNITES = frozenset({LinkKind.FORWARD, LinkKind.ALBUM, LinkKind.REPLY})


def partition(
    posts: Mapping[PostId, datetime], links: Collection[Link], private: Collection[PostId] = ()
) -> list[frozenset[PostId]]:
    """The groups of these posts, the one with the earliest post first.

    Posts of private channels join last, each one group.
    """
    post_ids = sorted(posts)
    numbers = {post_id: post_index for post_index, post_id in enumerate(post_ids)}
    groups = _Groups([posts[post_id] for post_id in post_ids])
    inner_links = [link for link in links if link.post in numbers and link.other in numbers]
    ordered_links = sorted(
        inner_links,
        key=lambda edge: (edge.kind not in UNITES, -edge.score, numbers[edge.post], numbers[edge.other]),
    )
    for link in ordered_links:
        if not link.is_leaf:
            groups.link(numbers[link.post], numbers[link.other], link.score)
    for link in ordered_links:
        if not link.is_leaf and link.kind in UNITES:
            groups.hold(numbers[link.post], numbers[link.other])
    groups.unite_the_best()
    private_numbers = {numbers[post] for post in private if post in numbers}
    for link in ordered_links:
        if link.is_leaf:
            groups.attach(numbers[link.post], numbers[link.other], private_numbers)
    return [frozenset(post_ids[post_index] for post_index in group) for group in groups.all()]


class _Groups:
    """Posts are numbers in the order of their ids: they are compared a hundred times each,
    and numbers compare faster.
    """

    def __init__(self, moments: Sequence[datetime]) -> None:
        self._moments = moments
        self._group = list(range(len(moments)))
        self._members = {post: [post] for post in self._group}
        self._spans = {post: (at, at) for post, at in enumerate(moments)}
        self._scores: dict[int, dict[int, float]] = defaultdict(dict)

    def link(self, root: int, other: int, score: float) -> None:
        self._scores[root][other] = self._scores[root].get(other, 0.0) + score
        self._scores[other][root] = self._scores[other].get(root, 0.0) + score

    def hold(self, post: int, other: int) -> None:
        if self._group[post] != self._group[other]:
            self._unite(self._group[post], self._group[other])

    def unite_the_best(self) -> None:
        """Average linkage. Of equal averages the earlier groups are united first."""
        waiting_pairs = [
            self._waiting(group, other)
            for group, other_scores in self._scores.items()
            for other in other_scores
            if group < other
        ]
        heapify(waiting_pairs)
        while waiting_pairs and -waiting_pairs[0][0] >= SUPPORT:
            best_pair = heappop(waiting_pairs)
            first_root, other = best_pair[-2:]
            if (
                first_root not in self._members
                or other not in self._members
                or self._waiting(first_root, other) != best_pair
                or not self._is_short(first_root, other)
            ):
                continue
            self._unite(first_root, other)
            for third in self._scores[first_root]:
                heappush(
                    waiting_pairs,
                    self._waiting(first_root, third)
                    if first_root < third
                    else self._waiting(third, first_root),
                )

    def attach(self, end: int, other: int, private: Collection[int]) -> None:
        """A private post that is alone joins the group of the other end."""
        for leaf, post in ((end, other), (other, end)):
            if leaf in private and self._members.get(leaf) == [leaf]:
                self._unite(self._group[post], leaf)
                return

    def all(self) -> list[list[int]]:
        return sorted(
            self._members.values(), key=lambda member: min((self._moments[post], post) for post in member)
        )

    def _waiting(self, root: int, other_root: int) -> tuple[float, int, int]:
        pair_count = len(self._members[root]) * len(self._members[other_root])
        return -self._scores[root].get(other_root, 0.0) / pair_count, root, other_root

    def _is_short(self, root: int, other_root: int) -> bool:
        (begins, ends), (other_begins, other_ends) = self._spans[root], self._spans[other_root]
        return max(ends, other_ends) - min(begins, other_begins) <= MAX_SPAN

    def _unite(self, root: int, other: int) -> None:
        """The other group becomes part of the one."""
        for post in self._members[other]:
            self._group[post] = root
        self._members[root] += self._members.pop(other)
        (begins, ends), (other_begins, other_ends) = self._spans[root], self._spans.pop(other)
        self._spans[root] = min(begins, other_begins), max(ends, other_ends)
        for third, score in self._scores.pop(other, {}).items():
            self._scores[third].pop(other, None)
            if third != root:
                self.link(root, third, score)


def find_connected_parts(post_ids: Collection[PostId], links: Iterable[Link]) -> list[frozenset[PostId]]:
    """The connected parts of some posts of a story: what a reader of these posts alone is shown together."""
    parts = {post_id: {post_id} for post_id in post_ids}
    for link in links:
        joined_part, other = parts.get(link.post), parts.get(link.other)
        if joined_part is not None and other is not None and joined_part is not other:
            joined_part |= other
            parts |= dict.fromkeys(other, joined_part)
    return sorted({frozenset(part) for part in parts.values()}, key=min)
