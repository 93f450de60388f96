"""Which posts of a story are in the same words, and how many speak for themselves.

Forwards, copies, near copies and translations of a post are one wording with it. Channels of one owner speak
with one voice (`domain/channels/networks.py`). Nothing here says that two wordings are independent of each
other: most retell one source.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.posts.near_copies import word_pairs
from telegram_assistant.domain.stories.story import Link, LinkKind

SAME_WORDING = frozenset({LinkKind.FORWARD, LinkKind.ALBUM, LinkKind.COPY, LinkKind.TRANSLATION})
NEAR_COPY = 0.7
"""The share of the shorter text's word pairs that a near copy has."""
MAX_COMPARED = 120
"""Different texts of a story that are compared with each other; later ones are wordings of their own."""
MAX_CACHED_TEXTS = 2_000
"""Some 6 KB each."""


@dataclass(frozen=True, slots=True)
class WordedPost:
    """The facts about a post that its wording depends on.

    `origin` is the post that it was forwarded from, seen or not.
    """

    post_id: PostId
    text: str
    origin: PostId | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Voices:
    """The wordings and owners of a story's posts."""

    wordings: Mapping[PostId, PostId]
    """By post: the first post of the story in the same words."""
    owners: Mapping[ChannelId, ChannelId]
    """Of channels in a network: the channel that names it."""

    def count(self, post_ids: Iterable[PostId]) -> int:
        """How many of the posts are in words of their own, by different owners."""
        wordings, owner_ids = set[PostId](), set[ChannelId]()
        for post_id in post_ids:
            wording_post_id = self.wordings.get(post_id, post_id)
            owner_id = self.owner_of(post_id.channel_id)
            if wording_post_id not in wordings and owner_id not in owner_ids:
                wordings.add(wording_post_id)
                owner_ids.add(owner_id)
        return len(wordings)

    def count_owners(self, post_ids: Iterable[PostId]) -> int:
        return len({self.owner_of(post_id.channel_id) for post_id in post_ids})

    def owner_of(self, channel_id: ChannelId) -> ChannelId:
        """The channel that names its network, or the channel itself."""
        return self.owners.get(channel_id, channel_id)


def find_wordings(posts: Sequence[WordedPost], follows: Mapping[PostId, Link]) -> dict[PostId, PostId]:
    """For each post, oldest first, the first one in the same words.

    `follows` has the surest link of a post to an earlier one.
    """
    root = {post.post_id: post.post_id for post in posts}

    def find(post_id: PostId) -> PostId:
        while root[post_id] != post_id:
            root[post_id] = root[root[post_id]]
            post_id = root[post_id]
        return post_id

    order = {post.post_id: post_index for post_index, post in enumerate(posts)}
    languages = {post.post_id: post.language for post in posts}

    def join(post_id: PostId, other_post_id: PostId) -> None:
        earlier_post_id, later_post_id = sorted((find(post_id), find(other_post_id)), key=order.__getitem__)
        root[later_post_id] = earlier_post_id

    origins: dict[PostId, PostId] = {}
    for post in posts:
        link = follows.get(post.post_id)
        if (
            link is not None
            and link.other in root
            and _has_same_words(post, link, languages[find(link.other)])
        ):
            join(post.post_id, link.other)
        if post.origin is not None:
            join(post.post_id, origins.setdefault(post.origin, post.post_id))
            if post.origin in root:
                join(post.post_id, post.origin)
    for post_id, other_id in _near_copies(posts):
        join(post_id, other_id)
    return {post_id: find(post_id) for post_id in root}


def _has_same_words(post: WordedPost, link: Link, first_text: str | None) -> bool:
    """`first` is the language in which the other words appeared. Nobody translates a translation back: a post
    in that language tells the same in words of its own.
    """
    is_back = link.kind is LinkKind.TRANSLATION and first_text is not None and first_text == post.language
    return link.kind in SAME_WORDING and not is_back


def _near_copies(posts: Sequence[WordedPost]) -> Iterable[tuple[PostId, PostId]]:
    post_by_pairs: dict[frozenset[int], PostId] = {}
    for post in posts:
        pairs = _pairs(post.text)
        if not pairs:
            continue
        same_post_id = post_by_pairs.get(pairs)
        if same_post_id is not None:
            yield post.post_id, same_post_id
            continue
        for other_pairs, other_post_id in post_by_pairs.items():
            if len(pairs & other_pairs) >= NEAR_COPY * min(len(pairs), len(other_pairs)):
                yield post.post_id, other_post_id
        if len(post_by_pairs) < MAX_COMPARED:
            post_by_pairs[pairs] = post.post_id


@lru_cache(MAX_CACHED_TEXTS)
def _pairs(text: str) -> frozenset[int]:
    """Hashes, which take a tenth of the memory; Python salts them, so no author chooses equal ones."""
    return frozenset(map(hash, word_pairs(text)))
